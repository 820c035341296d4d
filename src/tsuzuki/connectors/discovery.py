"""From an address to its feeds: the address itself, what its page says, hosts we know, and a few common paths."""

import itertools
from collections.abc import Iterable

import msgspec

from tsuzuki.connectors.feed.encodings import charset_of
from tsuzuki.connectors.feed.visiting import ACCEPT, FeedOutcome, read_outcome, read_reply
from tsuzuki.connectors.feed_addresses import web_address
from tsuzuki.connectors.page_feeds import MAX_FEEDS, FoundFeed, PageFeeds, guesses_for, read_page
from tsuzuki.connectors.protocol import Visit
from tsuzuki.connectors.wellknown import directory_lookup, known_feeds, read_lookup
from tsuzuki.model.errors import Blocked, HttpStatus, NotAFeed, SourceError
from tsuzuki.model.fetching import Ask, Parse, Reply

MAX_PROBES = 10
"""Requests beyond the page itself."""
MAX_HEADER = 4096

_FAILURES = frozenset(range(400, 600))


class DiscoveredFeeds(msgspec.Struct, frozen=True):
    """What an address is: a feed, with what it holds, or a page with these feeds, best first."""

    title: str
    feeds: tuple[FoundFeed, ...]
    outcome: FeedOutcome | None = None


def discover(url: str) -> Visit[DiscoveredFeeds]:
    """The feeds at an address, whoever asks: a page without any is no error, one that cannot be had is.

    A page that may not be read is passed over where feeds are found without it.
    """
    url = web_address(url)
    known = (*known_feeds(url), *(yield from _looked_up(url)))
    problem: SourceError | None = None
    try:
        reply: Reply = yield Ask(url, headers={"Accept": f"{ACCEPT}, text/html;q=0.5"})
        try:
            outcome = yield from read_outcome(reply)
        except NotAFeed:
            page: PageFeeds = yield Parse(read_page, _arguments(reply))
        else:
            return _feed_itself(reply, outcome)
    except SourceError as error:
        problem, page = error, _unseen(url, error)
    found = yield from _probe(known, page)
    if problem is not None and not found:
        raise problem
    feeds = {feed.url: feed for feed in (*found, *page.listed)}
    ordered = sorted(feeds.values(), key=lambda feed: feed.is_of_comments)
    return DiscoveredFeeds(page.title or url, tuple(ordered[:MAX_FEEDS]))


def _arguments(reply: Reply) -> tuple[bytes, str, str | None, str]:
    content_type = reply.headers.get("content-type", "")[:MAX_HEADER]
    return reply.body, reply.url, charset_of(content_type), reply.headers.get("link", "")[:MAX_HEADER]


def _feed_itself(reply: Reply, outcome: FeedOutcome) -> DiscoveredFeeds:
    assert outcome.harvest is not None
    title = outcome.harvest.title or reply.url
    return DiscoveredFeeds(title, (FoundFeed(reply.url, title),), outcome)


def _unseen(url: str, problem: SourceError) -> PageFeeds:
    """A page that we may not see, though its site answers, has its feeds where others have them."""
    return PageFeeds(guesses=guesses_for(url) if isinstance(problem, Blocked | HttpStatus) else ())


def _looked_up(url: str) -> Visit[tuple[str, ...]]:
    """The feed that a directory of podcasts knows for its page; none when it does not answer."""
    address = directory_lookup(url)
    if address is None:
        return ()
    try:
        reply: Reply = yield Ask(address, headers={"Accept": "application/json"})
        feeds: tuple[str, ...] = yield Parse(read_lookup, (reply.body,))
    except SourceError:
        return ()
    return feeds


def _probe(known: Iterable[str], page: PageFeeds) -> Visit[list[FoundFeed]]:
    """The addresses that really are feeds: all that are known or named, then guesses until one hits."""
    listed = {feed.url for feed in page.listed}
    has_enough = any(not feed.is_of_comments for feed in page.listed)
    certain = dict.fromkeys((*known, *page.known, *(() if has_enough else page.named)))
    guesses = () if has_enough else page.guesses
    found: dict[str, FoundFeed] = {}
    untried = (address for address in dict.fromkeys((*certain, *guesses)) if address not in listed)
    for address in itertools.islice(untried, MAX_PROBES):
        if address not in certain and any(not feed.is_of_comments for feed in found.values()):
            break
        feed = yield from _probe_one(address)
        if feed is not None:
            found.setdefault(feed.url, feed)
    return list(found.values())


def _probe_one(address: str) -> Visit[FoundFeed | None]:
    """The feed at an address; None when there is none, for whatever reason."""
    try:
        reply: Reply = yield Ask(address, headers={"Accept": ACCEPT}, accept_statuses=_FAILURES)
        if reply.status in _FAILURES:
            return None
        harvest = yield from read_reply(reply)
    except SourceError:
        return None
    return FoundFeed(reply.url, harvest.title or reply.url)
