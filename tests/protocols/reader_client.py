"""Somebody with an app that speaks the Google Reader API."""

from collections.abc import Iterable
from typing import Any
from urllib.parse import quote, urlencode

from tests.app import Answer
from tests.protocols.people import AppReader, errors_of

PHP = "/api/greader.php"
STATE = "user/-/state/com.google/"
READING_LIST, READ, STARRED, UNREAD = (STATE + name for name in ("reading-list", "read", "starred", "unread"))
KEPT_UNREAD = f"{STATE}kept-unread"
LONG = "tag:google.com,2005:reader/item/"

Pairs = Iterable[tuple[str, object]]


class ReaderClient:
    """An app with a token, or about to get one."""

    def __init__(self, owner: AppReader, base: str = PHP) -> None:
        self.owner = owner
        self.client = owner.app.client
        self.base = base
        self.headers: dict[str, str] = {}

    async def sign_in(self) -> "ReaderClient":
        pair = {"Email": self.owner.user.username, "Passwd": self.owner.key}
        answer = await self.client.ask("POST", f"{self.base}/accounts/ClientLogin", data=pair)
        assert answer.status == 200, errors_of(answer)
        self.use(token_in(answer))
        return self

    def use(self, token: str) -> None:
        self.headers = {"authorization": f"GoogleLogin auth={token}"}

    async def ask(self, method: str, call: str, query: Pairs = (), **options: Any) -> Answer:
        """`query` is escaped as apps do it; `call` is sent as it is."""
        path = f"{self.base}/reader/api/0/{call}"
        said = urlencode(list(query))
        headers = self.headers | options.pop("headers", {})
        return await self.client.ask(method, f"{path}?{said}" if said else path, headers=headers, **options)

    async def get(self, call: str, *query: tuple[str, object]) -> Any:
        answer = await self.ask("GET", call, query)
        assert answer.status == 200, errors_of(answer)
        return answer.json()

    async def post(self, call: str, *form: tuple[str, object]) -> Answer:
        return await self.ask("POST", call, data=urlencode(form), headers=FORM)

    async def do(self, call: str, *form: tuple[str, object]) -> None:
        """A write that succeeds."""
        answer = await self.post(call, *form)
        assert (answer.status, answer.text) == (200, "OK"), errors_of(answer)

    async def ids(self, stream: str = READING_LIST, *query: tuple[str, object]) -> list[int]:
        """The numbers of one page."""
        found = await self.get("stream/items/ids", ("s", stream), *query)
        return [int(ref["id"]) for ref in found["itemRefs"]]

    async def unread(self) -> list[int]:
        return await self.ids(READING_LIST, ("xt", READ), ("n", 1000))

    async def feeds(self) -> dict[str, Any]:
        """What is followed, by name."""
        return {one["title"]: one for one in (await self.get("subscription/list"))["subscriptions"]}

    async def labels(self) -> list[str]:
        return [tag["label"] for tag in (await self.get("tag/list"))["tags"] if "label" in tag]


FORM = {"content-type": "application/x-www-form-urlencoded"}


def token_in(answer: Answer) -> str:
    """As the strictest app reads it: lines with exactly one `=`."""
    lines = dict(line.split("=") for line in answer.text.splitlines())
    assert set(lines) == {"SID", "LSID", "Auth"}
    return lines["Auth"]


def escaped(stream: str) -> str:
    return quote(stream, safe="")
