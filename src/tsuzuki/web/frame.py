"""The frame around a page of somebody who is signed in: navigation, groups with unread counts, theme."""

import msgspec

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.policy import may_write
from tsuzuki.accounts.preferences import Preferences
from tsuzuki.accounts.types import MemberShelf
from tsuzuki.billing.types import OpenBalance
from tsuzuki.inbox.entries import UnreadSums
from tsuzuki.model.times import Millis
from tsuzuki.web.locale import Locale
from tsuzuki.web.navigation import RUNNING

OF_ONESELF = {"account", "billing", "settings", *(place.name for place in RUNNING)}
"""Places that have nothing to do with the open shelf."""


class GroupLink(msgspec.Struct, frozen=True):
    """A group in the navigation."""

    id: str
    name: str
    unread: int


class OpenShelf(msgspec.Struct, frozen=True):
    """The open shelf, its reader, and where its events begin: the part of a frame that is read first."""

    shelf: MemberShelf
    shelves: list[MemberShelf]
    preferences: Preferences
    place: str


class Frame(msgspec.Struct, frozen=True, kw_only=True):
    """What a page knows of its reader: who, which shelf, the time and the look. Templates know it as `frame`."""

    caller: Caller
    shelf: MemberShelf
    shelves: list[MemberShelf]
    """All shelves of the reader, the open one first."""
    preferences: Preferences
    locale: Locale
    place: str
    """Where the page's stream of events begins. It is read before what the page shows: nothing falls between them."""
    counts: UnreadSums
    groups: list[GroupLink]
    here: str
    """The place that is open, by its name in `tsuzuki.web.navigation`, or `group:` and an id."""
    done: str | None
    """What was just done, where the address says it: `?done=signed_out`."""
    now: Millis
    dues: OpenBalance | None = None
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
    def side(self) -> tuple[object, ...]:
        """All that the navigation shows, as `app_parts.html` takes it: while it is the same, so is the navigation."""
        number = self.locale.number
        groups = tuple((group.id, group.name, number(group.unread) if group.unread else "") for group in self.groups)
        caller = self.caller
        return self.here, *self.unread_shown, groups, tuple(self.shelves), caller.username, caller.role == "admin"

    @property
    def looks(self) -> str:
        """Classes of the root element: the first paint is right without a cookie or a script."""
        chosen = self.preferences
        reading = f"reading-{chosen.reading_font} width-{chosen.reading_width}"
        shelf = " reads-only" if self.is_read_only else ""
        return f"theme-{chosen.theme} density-{chosen.density} text-{chosen.text_size} {reading}{shelf}"
