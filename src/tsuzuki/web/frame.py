"""What stands around a page of somebody who is signed in: places, groups with what is unread, and how it looks."""

import asyncio
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import HTMLResponse

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.people import found
from tsuzuki.accounts.policy import may_write
from tsuzuki.accounts.preferences import Preferences
from tsuzuki.accounts.services import Accounts
from tsuzuki.accounts.types import MemberShelf
from tsuzuki.billing.services import Billing
from tsuzuki.billing.types import Dues
from tsuzuki.inbox.entries import UnreadCounts
from tsuzuki.inbox.events import Events
from tsuzuki.inbox.service import Inbox
from tsuzuki.model.ids import show_id
from tsuzuki.model.times import Millis
from tsuzuki.shelves.groups import Groups
from tsuzuki.web.forms import BLANK, Sheet
from tsuzuki.web.locale import Locale, locale_of
from tsuzuki.web.navigation import RUNNING
from tsuzuki.web.rendering import Pages
from tsuzuki.web.site import Site

OF_ONESELF = {"account", "billing", "settings", *(place.name for place in RUNNING)}
"""Places that have nothing to do with the open shelf."""


class GroupLink(msgspec.Struct, frozen=True):
    """A group in the navigation."""

    id: str
    name: str
    unread: int


class Opening(msgspec.Struct, frozen=True):
    """Which shelf is open, for whom, and from where on its events are told: the part of a frame that is read first."""

    shelf: MemberShelf
    shelves: list[MemberShelf]
    preferences: Preferences
    place: str


class Frame(msgspec.Struct, frozen=True, kw_only=True):
    """Who looks, at what, when and how. Templates know it as `frame`."""

    caller: Caller
    shelf: MemberShelf
    shelves: list[MemberShelf]
    """All that the reader has, the open one first."""
    preferences: Preferences
    locale: Locale
    place: str
    """Where the page's stream of events begins. It is read before what the page shows: nothing falls between them."""
    counts: UnreadCounts
    groups: list[GroupLink]
    here: str
    """The place that is open, by its name in `tsuzuki.web.navigation`, or `group:` and an id."""
    now: Millis
    dues: Dues | None = None
    """R84: what the reader's tenant has to pay; None while billing is off."""

    @property
    def is_read_only(self) -> bool:
        """Whether this page is of a shelf that the reader may not change: its buttons are not shown (R91)."""
        return not may_write(self.shelf.role) and self.here not in OF_ONESELF

    @property
    def unread_shown(self) -> tuple[str, ...]:
        """What is unread in all, of chapters and of articles, as the reader writes it; nothing for none."""
        counts = (self.counts.unread, self.counts.chapters, self.counts.items)
        return tuple(self.locale.number(count) if count else "" for count in counts)

    @property
    def looks(self) -> str:
        """Classes of the root element: the first paint is right without a cookie or a script."""
        chosen = self.preferences
        reading = f"reading-{chosen.reading_font} width-{chosen.reading_width}"
        shelf = " reads-only" if self.is_read_only else ""
        return f"theme-{chosen.theme} density-{chosen.density} text-{chosen.text_size} {reading}{shelf}"


class Framing:
    """Makes frames. A page builder makes one of its site's parts and asks it for each request."""

    def __init__(
        self, pages: Pages, accounts: Accounts, groups: Groups, *, inbox: Inbox, events: Events, billing: Billing
    ) -> None:
        self._pages = pages
        self._accounts = accounts
        self._groups = groups
        self._events = events
        self._inbox = inbox
        self._billing = billing

    async def open(self, caller: Caller) -> Opening:
        """What a page must know before it reads anything else."""
        shelves, preferences = await asyncio.gather(
            self._accounts.current_user.shelves_of(caller), self._accounts.preferences.look(caller)
        )
        shelf = found(next(iter(shelves), None), "shelf")
        return Opening(shelf, shelves, preferences, await self._events.place(shelf.id))

    async def frame(self, request: Request, caller: Caller, here: str, opening: Opening | None = None) -> Frame:
        """The frame of the caller's default shelf."""
        shelf, shelves, preferences, place = msgspec.structs.astuple(opening or await self.open(caller))
        counts, listed = await asyncio.gather(self._inbox.count(shelf.id), self._groups.list(shelf.id))
        groups = [
            GroupLink(show_id(group.public_id), group.name, counts.groups.get(show_id(group.public_id), 0))
            for group in listed
        ]
        language = request.headers.get("accept-language", "")
        return Frame(
            caller=caller,
            shelf=shelf,
            shelves=shelves,
            preferences=preferences,
            locale=locale_of(language, clock=preferences.clock, zone=preferences.time_zone),
            place=place,
            counts=counts,
            groups=groups,
            here=here,
            now=self._accounts.deps.clock(),
            dues=await self._billing.books.dues(caller.tenant_id) if self._billing.is_on else None,
        )

    def show(self, frame: Frame, template: str, sheet: Sheet = BLANK, **values: Any) -> HTMLResponse:
        """A page within this frame; no cache keeps it."""
        return self._pages.private(template, sheet, frame=frame, visitor=frame.caller.username, **values)


def framing_of(site: Site) -> Framing:
    """From the parts of the site."""
    return Framing(
        site.pages, site.accounts, site.reading.groups, inbox=site.inbox, events=site.events, billing=site.billing
    )
