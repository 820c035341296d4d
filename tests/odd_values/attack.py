"""Whoever calls every route with anything, and what came of it."""

import random
import re
import secrets
from pathlib import Path
from typing import Any
from urllib.parse import quote

import tsuzuki.web
from tests.api.people import API, RunningApp, Visitor
from tests.authorisation.objects import OBJECTS, Filling, filled
from tests.authorisation.policy import POLICY, STREAMS
from tsuzuki.accounts.types import SYSTEM, User

FAILED = 500
SORRY = 503
"""A source or a part that does not answer is no failure of ours."""

_WEB = Path(tsuzuki.web.__file__).parent
_PARAMETER = re.compile(r"\{(\w+)(?::path)?\}")
_READ = re.compile(r'(?:\.one|\.several|\.get|_of)\((?:request, )?"([a-z_]+)"')
_NAMED = re.compile(r'name="([a-z_]+)"')


class Attack:
    """Calls routes as an administrator, on objects that are there, and notes every failure."""

    def __init__(self, app: RunningApp, seed: int) -> None:
        self.app = app
        self.rng = random.Random(seed)
        self.failed: dict[str, str] = {}
        self._user: User | None = None

    async def enter(self) -> None:
        """Come as an administrator."""
        self._user = await self.app.add(role="admin")

    async def objects(self, name: str) -> tuple[str, Filling | None]:
        """The route's path with objects of somebody's own in it, and what they are. That is who calls from now on."""
        template = name.split()[1]
        parameters = _PARAMETER.findall(template)
        await self.enter()
        if not parameters or parameters[-1] not in OBJECTS:
            return template, None
        tenant = await self.app.accounts.tenants.add(SYSTEM, secrets.token_hex(8), "self-hosted")
        self._user = await self.app.add(role="admin", tenant_id=tenant.public_id)
        made = await OBJECTS[parameters[-1]](self.app, self._user)
        return (API if template.startswith(API) else "") + filled(template, made), made

    async def call(self, name: str, path: str, **options: Any) -> int:
        """The answer's status. With a session of its own: some calls end the caller's."""
        who = Visitor(self.app.client) if self._user is None else await self.app.signed_in(self._user)
        headers = who.headers | options.pop("headers", {})
        client = self.app.client
        ask = client.begin if name in STREAMS else client.ask
        status = (await ask(name.split(maxsplit=1)[0], path, headers=headers, **options)).status
        if status >= FAILED and status != SORRY:
            self.failed.setdefault(name, f"{path[:300]} {options!s:.600}")
        return status


def with_text(name: str, text: str) -> str:
    """The route's path with this text for everything in it."""
    return _PARAMETER.sub(lambda _: quote(text, safe=""), name.split()[1])


def pages(method: str) -> list[str]:
    """The routes that are pages."""
    return [name for name in POLICY if name.startswith(method) and API not in name]


def field_names() -> list[str]:
    """What pages read of a query or a form, by their code and their templates."""
    found = {name for path in _WEB.rglob("*.py") for name in _READ.findall(path.read_text())}
    found |= {name for path in _WEB.rglob("*.html") for name in _NAMED.findall(path.read_text())}
    return sorted(found)
