"""What a feed says of itself, by a table from element names to fields; and where its entries are."""

from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING

from tsuzuki.connectors.feed.document import NeedsLenientReader
from tsuzuki.connectors.feed.elements import (
    XML_LANG,
    DocumentScope,
    ElementNames,
    Handler,
    add_author,
    add_creator,
    attribute,
    is_of_atom,
    last_words,
    words,
)
from tsuzuki.connectors.feed.items import read_item
from tsuzuki.connectors.feed.raw import MAX_ITEMS, Kind, RawFeed
from tsuzuki.connectors.html.addresses import http_url
from tsuzuki.model.errors import NotAFeed
from tsuzuki.model.times import HOUR, MINUTE, Millis

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

_PERIODS = {"hourly": 1, "daily": 24, "weekly": 168, "monthly": 720, "yearly": 8760}
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


def interval_of(feed: RawFeed) -> Millis | None:
    """The longer of what `ttl` and `sy:updatePeriod` say; None where neither says anything."""
    minutes = _number(feed.ttl_minutes)
    hours = _PERIODS.get((feed.update_period or "").strip().lower(), 0)
    longest = max(minutes * MINUTE, hours * HOUR // (_number(feed.update_frequency) or 1))
    return Millis(longest) if longest else None


def skipped_hours(said: Iterable[str]) -> tuple[int, ...]:
    """Hours from 0 to 23; RSS 0.91 counted to 24."""
    # The length is checked before int(): a hostile feed may have a number of a million digits.
    hours = {int(text) % 24 for text in said if text.isascii() and text.isdigit() and len(text) < 3 and int(text) <= 24}
    return tuple(sorted(hours))


def skipped_days(said: Iterable[str]) -> tuple[int, ...]:
    """Days of the week, Monday is 0."""
    names = {text[:3].lower() for text in said}
    return tuple(number for number, day in enumerate(_DAYS) if day in names)


def _number(text: str | None) -> int:
    """A whole number; 0 for anything else."""
    text = (text or "").strip()
    return int(text[:8]) if text.isascii() and text.isdigit() else 0  # more digits are no plausible interval


MAX_SKIPPED = 50
"""Hours or days that are looked at; there are 24 and 7."""

_ROOTS: dict[str, Kind] = {"rss": "rss", "channel": "rss", "rdf": "rdf", "feed": "atom"}


def read_document(root: "Element", url: str, *, has_bases: bool) -> RawFeed:
    """The feed that a tree holds; NeedsLenientReader for a root we do not know, NotAFeed for other RDF."""
    kind = _ROOTS.get(_local(root))
    if kind is None:
        raise NeedsLenientReader
    own = root if kind != "rdf" else next((child for child in root if _local(child) in {"channel", "item"}), None)
    if own is None:
        raise NotAFeed("The answer is an RDF document without a feed in it.")
    names = ElementNames(own.tag.rpartition("}")[0].removeprefix("{"))
    scope = DocumentScope(url, is_rss=kind != "atom", has_bases=has_bases, names=names).within(root)
    feed = RawFeed(kind=kind, url=url, language=root.get(XML_LANG))
    _read_children(scope, feed, root)
    return feed


def _local(element: "Element") -> str:
    """An element's name without namespace or prefix."""
    return element.tag.rpartition("}")[2].rpartition(":")[2].lower()


def _read_children(scope: DocumentScope, feed: RawFeed, element: "Element") -> None:
    for child in element:
        handler = _HANDLERS.get(scope.names[child.tag])
        if handler is not None:
            handler(scope, feed, child)


def _channel(scope: DocumentScope, feed: RawFeed, element: "Element") -> None:
    _read_children(scope.within(element), feed, element)


def _item(scope: DocumentScope, feed: RawFeed, element: "Element") -> None:
    if len(feed.items) < MAX_ITEMS:
        feed.items.append(read_item(scope, element))


def _title(scope: DocumentScope, feed: RawFeed, element: "Element") -> None:
    feed.title = feed.title or scope.text(element, "text")


def _description(scope: DocumentScope, feed: RawFeed, element: "Element") -> None:
    feed.description = feed.description or scope.text(element, "html" if scope.is_rss else "text")


def _spare_description(name: str) -> Handler:
    def handler(scope: DocumentScope, feed: RawFeed, element: "Element") -> None:
        text = None if name in feed.spare_descriptions else scope.text(element, "text")
        if text is not None:
            feed.spare_descriptions[name] = text

    return handler


def _link(scope: DocumentScope, feed: RawFeed, element: "Element") -> None:
    href, rel = attribute(element, "href"), attribute(element, "rel")
    if href is None and rel is None:
        feed.site_url = scope.address(words(element), element) or feed.site_url
        return
    address = http_url(href or words(element), scope.base_of(element))
    rel = (rel or "alternate").strip().lower()
    media_type = (attribute(element, "type") or "text/html").strip().lower()
    if rel == "hub":
        feed.hub = feed.hub or address
    elif rel == "self":
        feed.self_url = feed.self_url or address
    elif rel == "alternate" and "html" in media_type:
        # In RSS, its own `link` wins over one of Atom, which is there for `self` mostly.
        is_spare = scope.is_rss and is_of_atom(element.tag)
        feed.site_url = (feed.site_url or address) if is_spare else (address or feed.site_url)


def _address(name: str) -> Handler:
    def handler(scope: DocumentScope, feed: RawFeed, element: "Element") -> None:
        setattr(feed, name, http_url(words(element), scope.base_of(element)))

    return handler


def _image(scope: DocumentScope, feed: RawFeed, element: "Element") -> None:
    for child in element:
        if scope.names[child.tag] in {"url", "href"}:
            feed.image = http_url(words(child), scope.base_of(child)) or feed.image


def _itunes_image(scope: DocumentScope, feed: RawFeed, element: "Element") -> None:
    address = http_url(attribute(element, "href") or attribute(element, "url"), scope.base_of(element))
    feed.image = address or feed.image


def _owner(scope: DocumentScope, feed: RawFeed, element: "Element") -> None:
    feed.owner = feed.owner or scope.person(element)


def _skipped(name: str) -> Handler:
    def handler(_scope: DocumentScope, feed: RawFeed, element: "Element") -> None:
        setattr(feed, name, [words(child) for child in islice(element, MAX_SKIPPED)])

    return handler


_HANDLERS: dict[str, Handler] = {
    "channel": _channel,
    "item": _item,
    "entry": _item,
    "title": _title,
    "dc:title": _title,
    "description": _description,
    "subtitle": _description,
    "tagline": _description,
    "dc:description": _spare_description("dc:description"),
    "itunes:summary": _spare_description("itunes:summary"),
    "itunes:subtitle": _spare_description("itunes:subtitle"),
    "link": _link,
    "language": last_words("language"),
    "dc:language": last_words("language"),
    "icon": _address("icon"),
    "logo": _address("logo"),
    "image": _image,
    "itunes:image": _itunes_image,
    "author": add_author,
    "managingeditor": add_author,
    "dc:creator": add_creator,
    "dc:author": add_creator,
    "itunes:author": add_creator,
    "itunes:owner": _owner,
    "ttl": last_words("ttl_minutes"),
    "sy:updateperiod": last_words("update_period"),
    "sy:updatefrequency": last_words("update_frequency"),
    "skiphours": _skipped("skip_hours"),
    "skipdays": _skipped("skip_days"),
}
