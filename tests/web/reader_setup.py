"""A furnished shelf, who reads from it without scripts, and what a list shows them."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.api.people import RunningApp, a_running_app
from tests.app import Answer
from tests.web.guests import Guest, a_guest
from tests.web.sample_shelf import SampleShelf, fill_shelf
from tsuzuki.accounts.types import User
from tsuzuki.model.ids import show_id

LINK = re.compile(r'<h3><b>Unread</b><a href="([^"]+)"')
_ENTRY = re.compile(r'<article id=e(\d+) class="entry([\w ]*)"')


class ReaderSetup:
    """A running app, a shelf with something on it, and who reads from it."""

    def __init__(self, app: RunningApp, user: User, sample_shelf: SampleShelf, guest: Guest) -> None:
        self.app = app
        self.user = user
        self.sample_shelf = sample_shelf
        self.guest = guest

    async def feed_id(self, place: int = 0) -> str:
        """Of the one that was followed at this place."""
        feeds = await self.app.reading.subscriptions.list(self.sample_shelf.shelf)
        return show_id(sorted(feeds, key=lambda feed: feed.feed_id)[place].public_id)

    async def group_id(self, name: str) -> str:
        found = await self.app.reading.groups.list(self.sample_shelf.shelf)
        return next(show_id(group.public_id) for group in found if group.name == name)


@asynccontextmanager
async def a_reader_setup(folder: Path) -> AsyncIterator[ReaderSetup]:
    async with a_running_app(folder) as app:
        user = await app.add()
        sample_shelf = await fill_shelf(app, user, articles=20)
        yield ReaderSetup(app, user, sample_shelf, await a_guest(app, user))


def entries(answer: Answer) -> list[str]:
    """The entries of a list, in its order."""
    return [found[0] for found in _ENTRY.findall(answer.text)]


def unread(answer: Answer) -> list[str]:
    """Those of them that are unread."""
    return [entry for entry, kinds in _ENTRY.findall(answer.text) if "unread" in kinds.split()]


async def follow_to(guest: Guest, answer: Answer) -> Answer:
    """The page that a form led to."""
    assert answer.status == 303
    return await guest.see(answer.headers["location"])
