"""A furnished shelf, who reads from it without scripts, and what a list shows them."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.api.people import Town, a_town
from tests.app import Answer
from tests.web.guests import Guest, a_guest
from tests.web.sample_shelf import Stage, furnish
from tsuzuki.accounts.types import User
from tsuzuki.model.ids import show_id

LINK = re.compile(r'class="entry-link" href="([^"]+)"')
_ENTRY = re.compile(r'<article class="entry ([\w ]+)" id="e(\d+)"')


class Home:
    """A town, a furnished shelf, and who reads from it."""

    def __init__(self, town: Town, user: User, stage: Stage, guest: Guest) -> None:
        self.town = town
        self.user = user
        self.stage = stage
        self.guest = guest

    async def feed_id(self, place: int = 0) -> str:
        """Of the one that was followed at this place."""
        feeds = await self.town.reading.subscriptions.list(self.stage.shelf)
        return show_id(sorted(feeds, key=lambda feed: feed.feed_id)[place].public_id)

    async def group_id(self, name: str) -> str:
        found = await self.town.reading.groups.list(self.stage.shelf)
        return next(show_id(group.public_id) for group in found if group.name == name)


@asynccontextmanager
async def a_home(folder: Path) -> AsyncIterator[Home]:
    async with a_town(folder) as town:
        user = await town.add()
        stage = await furnish(town, user, articles=20)
        yield Home(town, user, stage, await a_guest(town, user))


def entries(answer: Answer) -> list[str]:
    """The entries of a list, in its order."""
    return [found[1] for found in _ENTRY.findall(answer.text)]


def unread(answer: Answer) -> list[str]:
    """Those of them that are unread."""
    return [entry for kinds, entry in _ENTRY.findall(answer.text) if "unread" in kinds.split()]


async def follow_to(guest: Guest, answer: Answer) -> Answer:
    """The page that a form led to."""
    assert answer.status == 303
    return await guest.see(answer.headers["location"])
