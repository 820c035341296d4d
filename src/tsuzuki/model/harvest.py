"""What a source was found to have: the values that travel from a connector to ingest."""

import hashlib
from decimal import Decimal
from typing import Literal

import msgspec

from tsuzuki.model.times import Millis

Kind = Literal["item", "chapter"]
"""An item is of a feed, a chapter of a series."""

FeedChange = Literal["added", "changed", "left"]
"""What became of a shelf's subscription."""


class Enclosure(msgspec.Struct, frozen=True, gc=False):
    """A file that belongs to an item: audio, video, an image."""

    url: str
    media_type: str | None = None
    length: int | None = None
    title: str | None = None
    duration_seconds: int | None = None


class FoundItem(msgspec.Struct, frozen=True, gc=False):
    """One entry of a feed, as its identity rules (R31) and date rules (R30) read it.

    Nothing in it leads back to it, and there may be many: the garbage collector need not look.
    """

    key: str
    """The identity within its feed: guid, else link, else a hash."""
    title: str
    """Plain text, to be escaped like any other."""
    link: str | None = None
    content: str = ""
    """Sanitised HTML with absolute addresses."""
    summary: str | None = None
    """Plain text, where the entry has a short text beside its content."""
    author: str | None = None
    published_at: Millis | None = None
    published_raw: str | None = None
    updated_at: Millis | None = None
    categories: tuple[str, ...] = ()
    enclosures: tuple[Enclosure, ...] = ()
    image_url: str | None = None
    """A picture that stands for the item: thumbnail, media image."""
    comments_url: str | None = None
    page_urls: tuple[str, ...] = ()
    """The images of an item that is mostly images, so that a webcomic's feed reads like a comic."""
    link_key: str | None = None
    """The link without what changes while the page stays: a known link under a new key is no new item (REL-27)."""
    number: Decimal | None = None
    """The installment's number, where the feed says one (podcast episode, comic host)."""
    other_keys: tuple[str, ...] = ()
    """Keys that it may be stored under, in a feed that gives several items the same (R93)."""
    content_hash: bytes = b""
    """As `item_hash` makes it, where that is done already."""


class FeedHarvest(msgspec.Struct, frozen=True):
    """Everything that one fetch of a feed found."""

    kind: Literal["rss", "atom", "json", "rdf"]
    title: str
    items: tuple[FoundItem, ...]
    site_url: str | None = None
    description: str | None = None
    language: str | None = None
    icon_url: str | None = None
    author: str | None = None
    ttl: Millis | None = None
    """The publisher's own wish for the time between two calls: the longer of `ttl` and `sy:updatePeriod` (R94)."""
    skip_hours: tuple[int, ...] = ()
    """Hours of the day, 0 to 23 in UTC, in which the publisher wishes no call."""
    skip_days: tuple[int, ...] = ()
    """Days of the week in UTC, Monday is 0, on which the publisher wishes no call."""
    hub_url: str | None = None
    self_url: str | None = None
    unstable_keys: bool = False
    """True when the guids could not be trusted (R31), or several items had the same key (R93)."""
    digests: bytes = b""
    """Digests of all its entries, also of known ones, which are not among `items`."""
    left_out: tuple[str, ...] = ()
    """Keys of known entries, where others are among `items`."""


class FoundSeries(msgspec.Struct, frozen=True):
    """A series as a list of a source shows it: often sparse."""

    key: str
    """The source's own id or slug for it."""
    url: str
    title: str
    cover_url: str | None = None


class SeriesPage(msgspec.Struct, frozen=True):
    """One page of a source's list."""

    series: tuple[FoundSeries, ...]
    has_next: bool = False


UpdateStrategy = Literal["ALWAYS_UPDATE", "ONLY_FETCH_ONCE"]
"""Whether a series is polled again after its first complete list, in the words of Tachiyomi's sources."""


class SeriesDetails(msgspec.Struct, frozen=True):
    """Everything that a source says of one series. None means: the source did not say."""

    title: str
    alt_titles: tuple[str, ...] = ()
    author: str | None = None
    artist: str | None = None
    description: str | None = None
    genres: tuple[str, ...] = ()
    status: int = 0
    """R10: 0 unknown 1 ongoing 2 completed 3 licensed 4 publishing finished 5 cancelled 6 hiatus."""
    cover_url: str | None = None
    language: str | None = None
    is_nsfw: bool = False
    real_url: str | None = None
    """Where a person would read it, when that differs from the address that is called."""
    update_strategy: UpdateStrategy | None = None
    """R24: `ONLY_FETCH_ONCE` for a series that is complete, such as a one-shot."""


class FoundChapter(msgspec.Struct, frozen=True):
    """One release of a chapter on a source."""

    url: str
    title: str
    source_key: str | None = None
    """The source's own id of this release; None where it has none (R3)."""
    number: Decimal | None = None
    volume: Decimal | None = None
    language: str | None = None
    group: str | None = None
    published_at: Millis | None = None
    page_count: int | None = None
    real_url: str | None = None
    is_readable: bool = True
    """False for a release that only links to another site."""
    documents: tuple[str, ...] = ()
    """By what devices know it, where the source has it as one file."""


class FoundPage(msgspec.Struct, frozen=True):
    """One page of a release. `image_url` is None where it takes another call to learn it."""

    index: int
    url: str
    image_url: str | None = None


def item_hash(found: FoundItem) -> bytes:
    """What makes an item a changed one (R32): dates alone do not, publishers touch them at every build."""
    return found.content_hash or content_hash(
        (
            found.title,
            found.link,
            found.author,
            found.content,
            found.summary,
            found.categories,
            found.enclosures,
            found.page_urls,
            found.image_url,
            found.comments_url,
        )
    )


def with_hash(found: FoundItem) -> FoundItem:
    """The item with its hash."""
    return msgspec.structs.replace(found, content_hash=item_hash(found))


def content_hash(value: object) -> bytes:
    """What stands for a value from one look at it to the next."""
    return hashlib.blake2b(msgspec.json.encode(value), digest_size=16).digest()
