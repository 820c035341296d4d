"""A running server with people in it, and visitors who carry a cookie, a token or nothing."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.app import Answer, Client, serving, settings_for
from tests.builders import CHEAPEST
from tests.databases import put_migrated_file
from tsuzuki.accounts.sessions import Device
from tsuzuki.accounts.tokens import TokenRequest
from tsuzuki.accounts.types import SYSTEM, User
from tsuzuki.accounts.users import NewPerson
from tsuzuki.app.bootstrap import Tsuzuki, open_tsuzuki
from tsuzuki.app.opening import wall_clock
from tsuzuki.model.ids import PublicId
from tsuzuki.model.times import Millis

API = "/api/v1"
PASSWORD = "correct horse battery"


class Visitor:
    """Somebody who calls the API."""

    def __init__(self, client: Client, *, cookie: str | None = None, token: str | None = None) -> None:
        self.client = client
        self.headers: dict[str, str] = {}
        if cookie is not None:
            self.headers["cookie"] = f"tsuzuki={cookie}"
        if token is not None:
            self.headers["authorization"] = f"Bearer {token}"

    async def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        said = {name.replace("_", "-"): value for name, value in headers.items()}
        options: dict[str, Any] = {} if body is None else {"json": body}
        return await self.client.ask(method, API + path, headers=self.headers | said, **options)

    async def begin(self, method: str, path: str, _: Any = None) -> Answer:
        """The head of an answer that may never end."""
        return await self.client.begin(method, API + path, headers=self.headers)

    async def get(self, path: str, **headers: str) -> Answer:
        return await self.ask("GET", path, **headers)

    async def post(self, path: str, body: Any = None, **headers: str) -> Answer:
        return await self.ask("POST", path, {} if body is None else body, **headers)


class Time:
    """The real time, and what a test lets pass beyond it."""

    def __init__(self) -> None:
        self._passed = 0

    def __call__(self) -> Millis:
        return Millis(wall_clock() + self._passed)

    def pass_(self, length: int) -> None:
        self._passed += length


class RunningApp:
    """The server, its services for making people quickly, and two tenants."""

    def __init__(self, client: Client, opened: Tsuzuki, time: Time, other_tenant: PublicId) -> None:
        self.client = client
        self.accounts = opened.accounts
        self.reading = opened.reading
        self.inbox = opened.inbox
        self.sync = opened.sync
        self.billing = opened.billing
        self.crawling = opened.crawling
        self.catalogue = opened.catalogue
        self.channels = opened.channels
        self.feeds_out = opened.feeds_out
        self.hub = opened.hub
        self.imports = opened.imports
        self.synced = opened.synced
        self.worker_loops = opened.worker_loops
        self.figures = opened.figures
        self.pruner = opened.pruner
        self.pipeline = opened.pipeline
        self.pictures = opened.pictures
        self.wakeup = opened.pipeline.wakeup
        self.db = opened.db
        self.folder = opened.settings.data_dir
        self.app = opened.app
        self.time = time
        self.other_tenant = other_tenant

    @property
    def anyone(self) -> Visitor:
        return Visitor(self.client)

    async def admin(self) -> User:
        return await self.accounts.users.find("admin")

    async def add(self, **over: Any) -> User:
        """Somebody without a password, which would take time to hash."""
        values: dict[str, Any] = {"username": f"user{os.urandom(6).hex()}"} | over
        return await self.accounts.users.add(SYSTEM, NewPerson(**values))

    async def session(self, user: User) -> str:
        """The key of a new session."""
        device = Device("127.0.0.1", "test")
        db, sign_in = self.accounts.deps.db, self.accounts.sign_in
        return (await db.with_tx(lambda tx: sign_in.open_session_tx(tx, user, device, reason="test"))).key

    async def signed_in(self, user: User) -> Visitor:
        return Visitor(self.client, cookie=await self.session(user))

    async def with_token(self, user: User, *scopes: Any, ends: Millis | None = None) -> Visitor:
        request = TokenRequest(name="test", scopes=scopes, expires_at=ends)
        return Visitor(self.client, token=(await self.accounts.tokens.make_for(SYSTEM, user, request)).key)


@asynccontextmanager
async def a_running_app(folder: Path, **settings: object) -> AsyncIterator[RunningApp]:
    """A server with its first administrator `admin` and a second tenant."""
    wanted = settings_for(folder, **{"password": PASSWORD} | settings)
    proxies = [str(network) for network in wanted.trusted_proxies]
    time = Time()
    put_migrated_file(wanted)
    async with (
        open_tsuzuki(wanted, clock=time, hash_cost=CHEAPEST) as opened,
        serving(opened.app, trusted_proxies=proxies, on_stopping=opened.end_streams) as client,
    ):
        other = await opened.accounts.tenants.add(SYSTEM, "Other", "self-hosted")
        yield RunningApp(client, opened, time, other.public_id)
