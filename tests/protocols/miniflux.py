"""An app that speaks Miniflux's API, and what it must be told."""

from typing import Any

from tests.api.people import RunningApp
from tests.app import Answer
from tests.protocols.people import AppReader, an_app_reader

BASE = "/miniflux"


class MinifluxReader(AppReader):
    """Calls below `/miniflux/v1` with a token."""

    async def call(self, method: str, path: str, body: Any = None, **options: Any) -> Answer:
        headers = {"x-auth-token": self.key} | options.pop("headers", {})
        said = options if body is None else options | {"json": body}
        return await self.app.client.ask(method, f"{BASE}/v1{path}", headers=headers, **said)

    async def get(self, path: str) -> Any:
        """What is there."""
        answer = await self.call("GET", path)
        assert answer.status == 200, answer.text
        return answer.json()

    async def ids(self, query: str = "") -> list[int]:
        """The numbers of all that a list holds, which says how many they are."""
        found = await self.get(f"/entries?limit=1000&{query}")
        assert found["total"] == len(found["entries"])
        return [entry["id"] for entry in found["entries"]]

    async def refused(self, status: int, method: str, path: str, body: Any = None, **options: Any) -> str:
        """The sentence that comes with this status."""
        answer = await self.call(method, path, body, **options)
        assert answer.status == status, (method, path, answer.status, answer.text[:300])
        said = answer.json()
        assert list(said) == ["error_message"]
        assert said["error_message"]
        sentence: str = said["error_message"]
        return sentence

    async def done(self, method: str, path: str, body: Any = None) -> None:
        """It is so, and nothing is said of it."""
        answer = await self.call(method, path, body)
        assert (answer.status, answer.body) == (204, b""), answer.text


async def a_miniflux_reader(app: RunningApp, **over: Any) -> MinifluxReader:
    ann = await an_app_reader(app, "miniflux", **over)
    return MinifluxReader(app, ann.user, ann.shelf, ann.issued)
