"""People, keys and clocks that say only what a test is about."""

import itertools
import os
from typing import Any

from tests.builders import CHEAPEST, NOON, a_public_id
from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.credentials import HashCost, Passwords
from tsuzuki.accounts.deps import AccountDeps
from tsuzuki.accounts.devices import AppRequest
from tsuzuki.accounts.policy import FailureLimits
from tsuzuki.accounts.services import build_accounts
from tsuzuki.accounts.sessions import Device
from tsuzuki.accounts.tokens import TokenRequest
from tsuzuki.accounts.types import SYSTEM, Protocol, User
from tsuzuki.accounts.users import NewPerson
from tsuzuki.db import Database
from tsuzuki.model.ids import TenantId, UserId
from tsuzuki.model.times import Millis

PASSWORD = "correct horse battery"
HERE = Device("192.0.2.1", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0")

PLAIN = Protocol(name="plain", title="Plain", path="/plain")
HASHED = Protocol(name="hashed", title="Hashed", path="/hashed", digest=lambda name, password: f"{name} {password}")
APP = AppRequest("plain", "192.0.2.7", "Reader 1.0")

_count = itertools.count(1)


class Time:
    """A clock that stands still until a test moves it."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> Millis:
        return self.now

    def pass_(self, length: int) -> None:
        self.now = Millis(self.now + length)


class CountedPasswords(Passwords):
    """Counts how often a password was really checked."""

    def __init__(self, cost: HashCost) -> None:
        super().__init__(cost)
        self.checks = 0

    async def check(self, password: str, stored: str | None) -> Any:
        self.checks += 1
        return await super().check(password, stored)


class AccountServices:
    """Every service of accounts over one database, and the clock they share."""

    def __init__(
        self,
        db: Database,
        *,
        is_open: bool = False,
        limits: FailureLimits | None = None,
        hash_cost: HashCost = CHEAPEST,
    ) -> None:
        self.db = db
        self.time = Time()
        self.passwords = CountedPasswords(hash_cost)
        deps = AccountDeps(db, self.time, os.urandom, protocols=lambda: (PLAIN, HASHED))
        self.all = build_accounts(deps, limits or FailureLimits(), is_open=is_open, passwords=self.passwords)
        self.limiter = self.all.limiter
        self.sessions = self.all.sessions
        self.tokens = self.all.tokens
        self.devices = self.all.devices
        self.sign_in = self.all.sign_in
        self.users = self.all.users
        self.current_user = self.all.current_user
        self.tenants = self.all.tenants
        self.setup = self.all.setup
        self.invites = self.all.invites

    async def add(self, username: str | None = None, **over: Any) -> User:
        """Someone who can sign in with PASSWORD."""
        await self.setup.prepare_tenant()
        values: dict[str, Any] = {
            "username": f"user{next(_count)}" if username is None else username,
            "password": PASSWORD,
        } | over
        return await self.users.add(SYSTEM, NewPerson(**values))

    async def enter(self, user: User, device: Device = HERE) -> str:
        """The key of a new session."""
        return (await self.sign_in.sign_in(user.username, PASSWORD, device)).key

    async def caller(self, user: User) -> Caller:
        """This person, signed in."""
        resumed = await self.sessions.resume(await self.enter(user), HERE.address)
        assert resumed is not None
        return resumed.caller

    async def token(self, user: User, **over: Any) -> str:
        """The key of a new token."""
        values: dict[str, Any] = {"name": "test", "scopes": ("read",)} | over
        return (await self.tokens.make_for(SYSTEM, user, TokenRequest(**values))).key


def a_caller(**over: Any) -> Caller:
    values: dict[str, Any] = {
        "user_id": UserId(1),
        "user_public_id": a_public_id(),
        "tenant_id": TenantId(1),
        "default_shelf_id": None,
        "username": "someone",
        "role": "reader",
        "scopes": frozenset({"read", "write", "admin"}),
        "by": "session",
        "key_id": 1,
        "key_public_id": a_public_id(),
        "address": "192.0.2.1",
    }
    return Caller(**values | over)
