"""R109: somebody with an app: a running server, a device password, articles and chapters to read."""

import hashlib
from typing import Any

from tests.api.people import RunningApp
from tests.app import Answer
from tests.delivery.builders import subscribe
from tests.web.sample_shelf import a_feed, a_series, an_item, release_items
from tsuzuki.accounts.devices import AppRequest
from tsuzuki.accounts.tokens import IssuedToken, TokenRequest
from tsuzuki.accounts.types import SYSTEM, User
from tsuzuki.model.ids import FeedId, GroupId, SeriesId, ShelfId
from tsuzuki.model.times import MINUTE, Millis


class AppReader:
    """A person, their shelf, and the device password that their app has."""

    def __init__(self, app: RunningApp, user: User, shelf: ShelfId, issued: IssuedToken) -> None:
        self.app = app
        self.user = user
        self.shelf = shelf
        self.issued = issued

    @property
    def key(self) -> str:
        return self.issued.key

    @property
    def fever_key(self) -> str:
        return hashlib.md5(f"{self.user.username}:{self.key}".encode()).hexdigest()

    @property
    def request(self) -> AppRequest:
        """As the app calls, by the first of its protocols."""
        return AppRequest(self.issued.token.scopes.split()[0], "127.0.0.1", "App 1.0")

    async def fever(self, query: str, **form: str) -> dict[str, Any]:
        """What Fever answers to this query, the key in the form."""
        sent = {"api_key": self.fever_key} | form
        answer = await self.app.client.ask("POST", f"/fever/?{query}", data=sent)
        assert answer.status == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    async def add_feed(self, title: str, *, items: int = 0, group: str | None = None) -> FeedId:
        """A feed of the shelf with so many articles, the oldest first."""
        feed = await a_feed(self.app, title)
        await subscribe(self.app.db, self.shelf, feed, group_id=await self._group(group))
        await self.release(feed, items)
        return feed

    async def release(self, feed: FeedId, count: int, *, prefix: str = "n", **over: Any) -> None:
        """More articles of a feed."""
        now = self.app.time()
        items = [an_item(f"{prefix}{n}", at=Millis(now - (count - n) * MINUTE), **over) for n in range(count)]
        if items:
            await release_items(self.app, feed, items)

    async def add_series(self, title: str, *, group: str | None = None) -> SeriesId:
        """A series of the shelf with chapters."""
        return await a_series(self.app, self.shelf, title, group=await self._group(group))

    async def _group(self, name: str | None) -> GroupId:
        """The group of this name, made if there is none; the default one for None."""
        groups = await self.app.reading.groups.list(self.shelf)
        known = [one for one in groups if one.name == name or (name is None and one.is_default)]
        if name is None:
            return known[0].id
        return (known[0] if known else await self.app.reading.groups.add(self.shelf, name)).id


async def an_app_reader(app: RunningApp, *protocols: str, **over: Any) -> AppReader:
    """Somebody whose app speaks these protocols; all that there are, if none is named."""
    user = await app.add()
    spoken = protocols or tuple(one.name for one in app.accounts.tokens.protocols)
    request = TokenRequest(**{"name": "App", "protocols": spoken} | over)
    issued = await app.accounts.tokens.make_for(SYSTEM, user, request)
    shelf = await app.accounts.current_user.shelf_of(user)
    return AppReader(app, user, shelf.id, issued)


def errors_of(answer: Answer) -> str:
    """What an answer says, for assertions that fail."""
    return f"{answer.status} {answer.text[:300]}"
