"""Feeds out: what each shows of a shelf, and where."""

from collections.abc import Callable, Sequence
from typing import Annotated, Literal, NewType

import msgspec

from tsuzuki.inbox.entries import EntryFilter
from tsuzuki.inbox.sync import SyncEntry
from tsuzuki.model.harvest import Kind
from tsuzuki.model.ids import PublicId, ShelfId
from tsuzuki.model.secrets import FEED_OUT, Sealed, Unreadable
from tsuzuki.model.times import Millis

FeedOutId = NewType("FeedOutId", int)
HubSubscriptionId = NewType("HubSubscriptionId", int)

FeedFormat = Literal["rss", "atom", "json"]
FORMATS: tuple[FeedFormat, ...] = ("rss", "atom", "json")
State = Literal["all", "unread", "saved"]

FOLDER = "/out/"
"""The folder of feeds out below the server's address."""
HUB = "/websub"


class NewFeedOut(msgspec.Struct, frozen=True, kw_only=True):
    """A feed that somebody wants: what it shows, under which name; full texts or summaries."""

    name: str
    kind: Kind | None = None
    state: State = "all"
    of_feed: PublicId | None = None
    of_group: PublicId | None = None
    of_series: PublicId | None = None
    of_tag: PublicId | None = None
    search: str | None = None
    is_full: bool = True


class FeedOut(msgspec.Struct, frozen=True):
    """A feed out with its secret."""

    id: FeedOutId
    public_id: PublicId
    shelf_id: ShelfId
    shelf_public_id: PublicId
    name: str
    kind: Kind | None
    state: State
    of_feed: PublicId | None
    of_group: PublicId | None
    of_series: PublicId | None
    of_tag: PublicId | None
    search: str | None
    is_full: bool
    secret: Annotated[str, Sealed(FEED_OUT)]
    created_at: Millis
    updated_at: Millis
    """When its address was made."""
    fetched_at: Millis | None

    @property
    def wanted(self) -> EntryFilter:
        """The filter of the feed, as the inbox takes it."""
        return EntryFilter(
            kind=self.kind,
            unread=True if self.state == "unread" else None,
            saved=True if self.state == "saved" else None,
            feed=self.of_feed,
            group=self.of_group,
            series=self.of_series,
            tag=self.of_tag,
            search=self.search,
            detail="item",
        )

    @property
    def is_by_marks(self) -> bool:
        """Whether what its readers do puts older entries into it."""
        return self.state != "all" or self.of_tag is not None

    def path(self, form: FeedFormat) -> str | None:
        """Where it is; None where its secret cannot be read any more."""
        return None if isinstance(self.secret, Unreadable) else path_of(self.secret, form)


class Topic(msgspec.Struct, frozen=True):
    """The address of a feed out in one format, in its parts; the server's own comes first."""

    base: str
    secret: str
    form: FeedFormat

    @property
    def url(self) -> str:
        """The whole address."""
        return f"{self.base}{path_of(self.secret, self.form)}"

    @property
    def hub(self) -> str:
        """Where to subscribe to it."""
        return f"{self.base}{HUB}"

    @property
    def link(self) -> str:
        """What a Link header says of it."""
        return f'<{self.hub}>; rel="hub", <{self.url}>; rel="self"'


WriteFeed = Callable[[FeedOut, Topic, Sequence[SyncEntry]], bytes]
"""Makes the document of a feed with these entries."""


CONTENT_TYPES: dict[FeedFormat, str] = {
    "rss": "application/rss+xml; charset=utf-8",
    "atom": "application/atom+xml; charset=utf-8",
    "json": "application/feed+json; charset=utf-8",
}


def path_of(secret: str, form: FeedFormat) -> str:
    """Where the feed with this secret is."""
    return f"{FOLDER}{secret}.{form}"


def read_name(name: str) -> tuple[str, FeedFormat] | None:
    """The secret and the format of `secret.rss`; None for what is no such name."""
    secret, _, ending = name.rpartition(".")
    form = next((one for one in FORMATS if one == ending), None)
    return (secret, form) if form is not None and secret.isascii() and secret.isalnum() else None


def read_topic(url: str, base: str) -> Topic | None:
    """The topic at this address; None for one that is none of this server's."""
    found = read_name(url.removeprefix(f"{base}{FOLDER}")) if url.startswith(f"{base}{FOLDER}") else None
    return None if found is None else Topic(base, *found)
