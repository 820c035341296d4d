"""A FlareSolverr that does as it is told, on an address of its own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from aiohttp import web

from tests.net.builders import a_web_app
from tsuzuki.model.requests import SourceIdentity

BROWSER = "Mozilla/5.0 (a real browser)"
PASSED = b"<html><h1>A comic</h1></html>"
WILLING = SourceIdentity(source="walled", solve_challenges=True)


class FakeSolver:
    """Speaks FlareSolverr's v1, and remembers every order."""

    def __init__(self) -> None:
        self.orders: list[dict[str, Any]] = []
        self.solution: dict[str, Any] = {}
        self.error: str | None = None
        self.url = ""

    @property
    def commands(self) -> list[str]:
        return [order["cmd"] for order in self.orders]

    async def handle(self, request: web.Request) -> web.Response:
        order = msgspec.json.decode(await request.read())
        self.orders.append(order)
        if self.error is not None:
            return web.json_response({"status": "error", "message": self.error})
        if order["cmd"] == "sessions.create":
            return web.json_response({"status": "ok", "message": "", "session": f"session-{len(self.orders)}"})
        if order["cmd"] == "sessions.destroy":
            return web.json_response({"status": "ok", "message": ""})
        found = {
            "url": order["url"],
            "status": 200,
            "headers": {},
            "response": PASSED.decode(),
            "cookies": [{"name": "cf_clearance", "value": "yes", "domain": "127.0.0.1", "path": "/", "secure": False}],
            "userAgent": BROWSER,
        }
        return web.json_response({"status": "ok", "message": "", "solution": found | self.solution})


@asynccontextmanager
async def a_solver() -> AsyncIterator[FakeSolver]:
    fake = FakeSolver()
    async with a_web_app(web.post("/v1", fake.handle), host="127.0.0.8") as url:
        fake.url = f"{url}/v1"
        yield fake
