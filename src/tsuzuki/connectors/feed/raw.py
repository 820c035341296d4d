"""A feed as its document says it, whichever reader read it; `assemble` makes a harvest of it."""

from dataclasses import dataclass, field
from typing import Literal, TypeVar

import msgspec

Kind = Literal["rss", "atom", "json", "rdf"]
T = TypeVar("T")

MAX_LIST = 100
"""How many are read of anything that an entry may have many of."""
MAX_ITEMS = 10_000
MAX_LISTED = 100_000
"""The same for a whole feed: the event loop takes in what was read in one step."""


def add(values: list[T], value: T | None) -> None:
    """Note a value; without looking whether it is there, which would take quadratic time."""
    if value is not None and len(values) < MAX_LIST:
        values.append(value)


class RawText(msgspec.Struct, frozen=True):
    """Words or markup. `base` is the document's own xml:base; None where it set none."""

    value: str
    is_html: bool = False
    base: str | None = None


class RawMedia(msgspec.Struct, frozen=True):
    """A file an entry points to, by enclosure or media:content; `url` is absolute."""

    url: str
    media_type: str | None = None
    length: int | None = None
    title: str | None = None
    duration_seconds: int | None = None
    medium: str | None = None


@dataclass(slots=True)
class RawItem:
    """One entry. Addresses are resolved but not yet judged; dates are as written."""

    title: RawText | None = None
    guid: str | None = None
    guid_is_link: bool = False
    link: str | None = None
    other_link: str | None = None
    """An alternate that is no web page, or not the format's own; better than none."""
    original_link: str | None = None
    """The page itself, where the link is one that counts clicks. Identities go by the link."""
    content: RawText | None = None
    summary: RawText | None = None
    spare_texts: dict[str, RawText] = field(default_factory=dict)
    """Descriptions of extensions by their elements, wanted only where the entry has no text of its own."""
    spare_title: RawText | None = None
    authors: list[str] = field(default_factory=list)
    source_authors: list[str] = field(default_factory=list)
    """The authors of the feed that the entry was taken from."""
    published: str | None = None
    updated: str | None = None
    created: str | None = None
    categories: list[str] = field(default_factory=list)
    media: list[RawMedia] = field(default_factory=list)
    thumbnails: list[str] = field(default_factory=list)
    image: str | None = None
    comments: str | None = None
    number: str | None = None
    duration: str | None = None


@dataclass(slots=True)
class RawFeed:
    """The feed itself and its entries, in document order."""

    kind: Kind
    url: str
    items: list[RawItem] = field(default_factory=list)
    title: RawText | None = None
    site_url: str | None = None
    description: RawText | None = None
    spare_descriptions: dict[str, RawText] = field(default_factory=dict)
    language: str | None = None
    icon: str | None = None
    logo: str | None = None
    image: str | None = None
    authors: list[str] = field(default_factory=list)
    owner: str | None = None
    """The owner of a podcast, used where no author is named."""
    ttl_minutes: str | None = None
    update_period: str | None = None
    update_frequency: str | None = None
    skip_hours: list[str] = field(default_factory=list)
    skip_days: list[str] = field(default_factory=list)
    hub: str | None = None
    self_url: str | None = None
