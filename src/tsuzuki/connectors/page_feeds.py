"""What a page says of its feeds. Pure; runs in a parser process, for the page is foreign text."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

import msgspec

from tsuzuki.connectors.feed.document import decode
from tsuzuki.connectors.html.addresses import http_url, path_of
from tsuzuki.connectors.html.lexbor import LIBRARIES, parse_html
from tsuzuki.connectors.html.sanitiser import one_line
from tsuzuki.connectors.html.tags import is_bomb
from tsuzuki.connectors.wellknown import advertised_feeds, generator_paths, known_feeds
from tsuzuki.model.errors import RefusedAddress, TooLarge

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

FOR_PARSERS = LIBRARIES

_FEED_SCHEME = re.compile(r"(?:feed|pcast|itpc|rss):/{0,2}(?=[^/])", re.IGNORECASE)
"""An address that says it is a feed: `feed:https://...`, `feed://...`."""
_FEED_PATH = re.compile(r"(?:feed|pcast|itpc|rss):(?=/(?!/|https?:))", re.IGNORECASE)
"""`feed:/path`: on a page, a path of its host."""
_WEB_SCHEME = re.compile(r"https?:", re.IGNORECASE)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:(?!\d+(?:[/?#]|\Z))", re.IGNORECASE)
"""`javascript:`, `mailto:`; not the name before a port."""
_WITH_PORT = re.compile(r"[^/?#]*:(?!443(?:[/?#]|\Z))\d+(?:[/?#]|\Z)")


def web_address(text: str) -> str:
    """The http(s) address that a `feed:` address means; any other as it is."""
    text = text.strip()
    found = _FEED_SCHEME.match(text)
    if found is None:
        return text
    rest = text[found.end() :]
    return rest if _WEB_SCHEME.match(rest) else _with_scheme(rest)


def _with_scheme(text: str) -> str:
    return f"http://{text}" if _WITH_PORT.match(text) else f"https://{text}"


def typed_address(text: str) -> str:
    """The address that a person typed. Without a scheme it is https, with a port http, as in browsers.

    RefusedAddress for any other scheme.
    """
    text = web_address(text)
    if text.lower().startswith(("http://", "https://")):
        return text
    if _SCHEME.match(text):
        raise RefusedAddress(
            f"Enter the full address, beginning with http:// or https://. This is not one: {text[:80]!r}."
        )
    return _with_scheme(text)


MAX_FEEDS = 20
MAX_NAMED = 10
MAX_LINKS = 5000
LONGEST_TITLE = 200
LONGEST_LABEL = 60
"""What is longer is a sentence that mentions a feed, and not the name of a link."""
COMMON_PATHS = ("feed", "rss.xml", "atom.xml", "index.xml", "feed.xml", "rss")
FOLDER_PATHS = COMMON_PATHS[:3]
"""Paths tried in the page's own folder; fewer, because they are tried before those of the site."""

_TYPES = frozenset(
    {"application/rss+xml", "application/atom+xml", "application/feed+json", "application/rdf+xml", "application/rss"}
    | {"application/atom", "text/rss+xml", "text/atom+xml", "text/rss"}
)
_MAYBE_TYPES = frozenset({"application/json", "application/xml", "text/xml"})
_FEED_LIKE = re.compile(r"(?:^|[/._?=-])(?:feeds?|rss2?|atom)(?:[/._?&=-]|\Z)", re.IGNORECASE)
_SAYS_FEED = re.compile(r"\b(?:(?:rss|atom)\d{0,2}|feeds?)\b|フィード", re.IGNORECASE)
_COMMENTS = re.compile(r"comment|kommentar|コメント", re.IGNORECASE)
_LINK_HEADER = re.compile(r"<([^<>]{1,2000})>([^<]*)")


class DiscoveredFeed(msgspec.Struct, frozen=True):
    """A feed that a page has."""

    url: str
    title: str

    @property
    def is_of_comments(self) -> bool:
        """Whether it is a feed of what readers say, which few people look for."""
        return _COMMENTS.search(self.title + self.url) is not None


class PageFeeds(msgspec.Struct, frozen=True):
    """What a page says of its feeds."""

    title: str = ""
    listed: tuple[DiscoveredFeed, ...] = ()
    """Said to be feeds by their tags, and taken at their word."""
    known: tuple[str, ...] = ()
    """Follow from the host and its page; to be tried whatever is listed."""
    named: tuple[str, ...] = ()
    """Links that look like feeds; to be tried when none is listed."""
    guesses: tuple[str, ...] = ()
    """Common addresses, best first; one that is a feed is enough."""


def read_page(body: bytes, url: str, charset: str | None, link_header: str) -> PageFeeds:
    """What a page says of its feeds; TooLarge for a page that is made to be slow (SEC-20)."""
    text = decode(body, charset).replace("\x00", "")
    if is_bomb(text):
        raise TooLarge("The page is nested too deeply.")
    page = _Page(text, url, link_header)
    listed = {feed.url: feed for feed in reversed([*page.from_tags(), *page.from_header(), *page.from_anchors()])}
    return PageFeeds(
        title=page.title,
        listed=tuple(reversed(listed.values()))[:MAX_FEEDS],
        known=tuple(dict.fromkeys((*advertised_feeds(url, text), *known_feeds(url)))),
        named=tuple(page.feed_like_anchors()),
        guesses=guesses_for(url, generator_paths(text)),
    )


def guesses_for(url: str, first: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Addresses where the feed of a page often is: what its software uses, its own folder, Squarespace, the site."""
    page = url.partition("#")[0].partition("?")[0]
    path = urlsplit(page).path
    if path.count("/") == 1 and "." not in path:  # `/blog` is written for `/blog/`
        page = page.rstrip("/") + "/"
    places = (*first, *FOLDER_PATHS, "?format=rss", *(f"/{path}" for path in COMMON_PATHS))
    return tuple(dict.fromkeys(urljoin(page, place) for place in places))


class _Page:
    """A parsed page."""

    def __init__(self, text: str, url: str, link_header: str) -> None:
        self._url = url
        self._link_header = link_header
        self._tree = parse_html(text)
        base = self._tree.css_first("base[href]")
        self._base = (http_url(_attribute(base, "href"), url) if base else None) or url
        node = self._tree.css_first("title")
        self.title = one_line(node.text()[: 10 * LONGEST_TITLE])[:LONGEST_TITLE] if node else ""

    def from_tags(self) -> Iterator[DiscoveredFeed]:
        """The feeds that its link tags name."""
        for node in islice(self._tree.css("link[href]"), MAX_LINKS):
            rels = _attribute(node, "rel").lower().split()
            address = self._address(node)
            if address and _names_feed(rels, _media_type(node), address):
                yield self._feed(address, _attribute(node, "title"))

    def from_header(self) -> Iterator[DiscoveredFeed]:
        """The feeds that its Link header names."""
        for target, parameters in _LINK_HEADER.findall(self._link_header):
            address, said = http_url(target, self._url), parameters.lower()
            if address and "alternate" in said and any(kind in said for kind in _TYPES):
                yield self._feed(address, "")

    def from_anchors(self) -> Iterator[DiscoveredFeed]:
        """The feeds that links in its text name, by their type or their scheme."""
        for node in islice(self._tree.css("a[href]"), MAX_LINKS):
            is_feed = _media_type(node) in _TYPES or _FEED_SCHEME.match(_attribute(node, "href"))
            if is_feed and (address := self._address(node)):
                yield self._feed(address, _label(node))

    def feed_like_anchors(self) -> list[str]:
        """Links of its text that call themselves a feed, then those whose address looks like one; best first."""
        said: dict[str, None] = {}
        looks: dict[str, None] = {}
        for node in islice(self._tree.css("a[href]"), MAX_LINKS):
            if len(said) >= MAX_NAMED:
                break
            address = self._address(node)
            if address is None or address == self._url:
                continue
            if _SAYS_FEED.search(_label(node)):
                said[address] = None
            elif len(looks) < MAX_NAMED and _FEED_LIKE.search(path_of(address)):
                looks[address] = None
        return list(said | looks)[:MAX_NAMED]

    def _address(self, node: "LexborNode") -> str | None:
        href = _attribute(node, "href")
        path = _FEED_PATH.match(href)
        address = http_url(href[path.end() :] if path else web_address(href), self._base)
        return address.partition("#")[0] if address else None

    def _feed(self, address: str, title: str) -> DiscoveredFeed:
        return DiscoveredFeed(address, one_line(title[: 10 * LONGEST_TITLE])[:LONGEST_TITLE] or self.title or address)


def _attribute(node: "LexborNode", name: str) -> str:
    return (node.attributes.get(name) or "").strip()


def _media_type(node: "LexborNode") -> str:
    return _attribute(node, "type").lower().partition(";")[0].strip()


def _label(node: "LexborNode") -> str:
    """What a link calls itself, in words or on its picture; empty where that is a whole sentence."""
    image = node.css_first("img[alt]")
    words = (node.text(), _attribute(node, "title"), _attribute(node, "aria-label"))
    for label in (*words, _attribute(image, "alt") if image else ""):
        if label.strip() and len(label) <= LONGEST_LABEL:
            return one_line(label)
    return ""


def _names_feed(rels: list[str], media_type: str, address: str) -> bool:
    if "feed" in rels or "alternate" not in rels:
        return "feed" in rels
    return media_type in _TYPES or (media_type in _MAYBE_TYPES and bool(_FEED_LIKE.search(path_of(address))))
