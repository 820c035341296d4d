"""From a page's address to its feeds: the address itself, its link tags, hosts we know, and a few common paths."""

import itertools
import re
from collections.abc import Collection, Iterable, Iterator
from urllib.parse import urljoin

import msgspec
from selectolax.lexbor import LexborHTMLParser, LexborNode

from tsuzuki.connectors.feed.encodings import charset_of, decode
from tsuzuki.connectors.feed.presets import feed_url_in
from tsuzuki.connectors.feed.visiting import ACCEPT, read_reply
from tsuzuki.connectors.html.addresses import http_url
from tsuzuki.connectors.html.nesting import is_deeper
from tsuzuki.connectors.html.safe import one_line
from tsuzuki.connectors.protocol import Visit
from tsuzuki.connectors.wellknown import known_feeds
from tsuzuki.model.errors import NotAFeed, SourceError
from tsuzuki.model.fetching import Ask, Reply
from tsuzuki.model.harvest import FeedHarvest

MAX_PROBES = 6
"""Requests beyond the page itself."""
MAX_FEEDS = 20
MAX_PAGE = 1024 * 1024
"""Bytes of a page that are looked at: link tags stand at its beginning."""
MAX_NESTING = 2000
"""A page that nests deeper is made to be slow, and is not looked at."""
COMMON_PATHS = ("/feed", "/rss.xml", "/atom.xml", "/index.xml", "/feed.xml", "/rss")

_TYPES = frozenset(
    {
        "application/rss+xml",
        "application/atom+xml",
        "application/feed+json",
        "application/rdf+xml",
        "application/rss",
        "application/atom",
        "text/rss+xml",
        "text/atom+xml",
        "text/rss",
    }
)
_MAYBE_TYPES = frozenset({"application/json", "application/xml", "text/xml"})
_FEED_LIKE = re.compile(r"(?:^|[/._?=-])(?:feeds?|rss2?|atom)(?:[/._?&=-]|$)", re.IGNORECASE)
_COMMENTS = re.compile(r"comments?|kommentar|commentaires|コメント", re.IGNORECASE)
_LINK_HEADER = re.compile(r"<([^<>]{1,2000})>([^<]*)")
_FAILURES = frozenset(range(400, 600))


class FoundFeed(msgspec.Struct, frozen=True):
    """A feed that a page has."""

    url: str
    title: str


def discover(url: str) -> Visit[tuple[FoundFeed, ...]]:
    """The feeds of a page, best first; the page itself when it is a feed. None found is an empty tuple.

    A page that cannot be had is an error, unless its address alone gives its feeds away.
    """
    known = known_feeds(url)
    try:
        reply: Reply = yield Ask(url, headers={"Accept": f"{ACCEPT}, text/html;q=0.5"})
    except SourceError:
        if not known:
            raise
        return (yield from _probe(known, known=known))
    try:
        harvest = yield from read_reply(reply)
    except NotAFeed:
        page = _Page(reply)
    else:
        return (_confirmed(reply.url, harvest),)
    listed = tuple(page.feeds())
    if listed:
        return listed[:MAX_FEEDS]
    candidates = dict.fromkeys((*known, *page.candidates()))
    return (yield from _probe(candidates, known=known))


class _Page:
    """What a page says of its feeds."""

    def __init__(self, reply: Reply) -> None:
        self.url = reply.url
        text = decode(reply.body[:MAX_PAGE], charset_of(reply.headers.get("content-type", ""))).replace("\x00", "")
        self.text = "" if is_deeper(text, MAX_NESTING) else text
        self._link_header = reply.headers.get("link", "")
        self._tree = LexborHTMLParser(self.text)
        base = self._tree.css_first("base[href]")
        self._base = http_url(_attribute(base, "href"), reply.url) if base else None

    @property
    def base(self) -> str:
        return self._base or self.url

    @property
    def title(self) -> str:
        node = self._tree.css_first("title")
        return one_line(node.text())[:200] if node else ""

    def feeds(self) -> Iterator[FoundFeed]:
        """The feeds its link tags and Link header name, those of comments last."""
        found = {feed.url: feed for feed in (*self._from_tags(), *self._from_header())}
        yield from sorted(found.values(), key=lambda feed: bool(_COMMENTS.search(feed.title + feed.url)))

    def _from_tags(self) -> Iterator[FoundFeed]:
        for node in self._tree.css("link[href]"):
            rels = _attribute(node, "rel").lower().split()
            media_type = _attribute(node, "type").lower().partition(";")[0].strip()
            address = http_url(_attribute(node, "href"), self.base)
            if address and _names_feed(rels, media_type, address):
                yield FoundFeed(address, one_line(_attribute(node, "title"))[:200] or self.title or address)

    def _from_header(self) -> Iterator[FoundFeed]:
        for target, parameters in _LINK_HEADER.findall(self._link_header):
            address = http_url(target, self.url)
            if address and "alternate" in parameters and any(kind in parameters.lower() for kind in _TYPES):
                yield FoundFeed(address, self.title or address)

    def candidates(self) -> Iterator[str]:
        """Addresses worth a probe, best first."""
        if (told := feed_url_in(self.text)) is not None:
            yield told
        yield from known_feeds(self.url)
        for node in self._tree.css("a[href]"):
            address = http_url(_attribute(node, "href"), self.base)
            if address and _FEED_LIKE.search(_after_host(address)):
                yield address.partition("#")[0]
        for path in COMMON_PATHS:
            yield urljoin(self.url, path)


def _attribute(node: LexborNode, name: str) -> str:
    return (node.attributes.get(name) or "").strip()


def _names_feed(rels: list[str], media_type: str, address: str) -> bool:
    if "feed" in rels:
        return True
    if "alternate" not in rels:
        return False
    return media_type in _TYPES or (media_type in _MAYBE_TYPES and bool(_FEED_LIKE.search(_after_host(address))))


def _after_host(address: str) -> str:
    return address.partition("://")[2].partition("/")[2]


def _probe(candidates: Iterable[str], *, known: Collection[str]) -> Visit[tuple[FoundFeed, ...]]:
    """The first candidates that really are feeds. Hosts we know may have several; a guess is enough when it hits."""
    found: dict[str, FoundFeed] = {}
    for address in itertools.islice(candidates, MAX_PROBES):
        if found and address not in known:
            break
        feed = yield from _probe_one(address)
        if feed is not None:
            found.setdefault(feed.url, feed)
    return tuple(found.values())


def _probe_one(address: str) -> Visit[FoundFeed | None]:
    """The feed at an address; None when there is none, for whatever reason."""
    try:
        reply: Reply = yield Ask(address, headers={"Accept": ACCEPT}, accept_statuses=_FAILURES)
        if reply.status in _FAILURES:
            return None
        harvest = yield from read_reply(reply)
    except SourceError:
        return None
    return _confirmed(reply.url, harvest)


def _confirmed(url: str, harvest: FeedHarvest) -> FoundFeed:
    return FoundFeed(url, harvest.title or url)
