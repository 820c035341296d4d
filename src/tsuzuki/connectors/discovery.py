"""Feed discovery: the address itself, its page, hosts we know, and a few common paths."""

import itertools
from collections.abc import Iterable, Sequence
from http import HTTPStatus
from urllib.parse import urljoin

import msgspec

from tsuzuki.connectors.feed.fetch import ACCEPT, FeedOutcome, read_outcome, read_reply
from tsuzuki.connectors.html.addresses import path_of
from tsuzuki.connectors.page_feeds import MAX_FEEDS, DiscoveredFeed, PageFeeds, guesses_for, read_page, web_address
from tsuzuki.connectors.protocol import Visit
from tsuzuki.connectors.wellknown import directory_lookup, known_feeds, read_lookup
from tsuzuki.model.errors import Blocked, HttpStatus, NotAFeed, SourceError, TimedOut, Unreachable
from tsuzuki.model.requests import Ask, Parse, Reply

MAX_PROBES = 10
"""Requests beyond the page itself."""
MAX_ALIKE = 6
"""So many guesses are enough where the address failed, and the host answers the same to all of them."""
MAX_IN_TROUBLE = 2
"""So many in a row are enough that get no answer, or a server's error."""
MAX_HEADER = 4096

_FAILURES = frozenset(range(400, 600))
_NO_ANSWER = 0
_SERVER_ERROR = 500


class DiscoveredFeeds(msgspec.Struct, frozen=True):
    """What an address is: a feed, with what it holds, or a page with these feeds, best first."""

    title: str
    feeds: tuple[DiscoveredFeed, ...]
    outcome: FeedOutcome | None = None
    problem: str | None = None
    """What is wrong with the address itself, where feeds were found though it failed."""
    status: int | None = HTTPStatus.OK
    guessed: tuple[str, ...] = ()
    """The usual places that were asked for a feed."""


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
            link_header = reply.headers.get("link", "")[:MAX_HEADER]
            page: PageFeeds = yield Parse(read_page, (reply.body, reply.url, reply.charset, link_header))
        else:
            assert outcome.harvest is not None
            title = outcome.harvest.title or reply.url
            return DiscoveredFeeds(title, (DiscoveredFeed(reply.url, title),), outcome)
    except SourceError as error:
        problem, page = error, _unseen(url, error)
    found, guessed = yield from _probe(known, page, has_failed=problem is not None)
    if problem is not None and not found:
        raise _with_guesses(problem, guessed)
    feeds = {feed.url: feed for feed in (*found, *page.listed)}
    ordered = sorted(feeds.values(), key=lambda feed: feed.is_of_comments)
    discovered = DiscoveredFeeds(page.title or url, tuple(ordered[:MAX_FEEDS]), guessed=guessed)
    if problem is None:
        return discovered
    return msgspec.structs.replace(discovered, problem=_explained(url, problem), status=problem.status)


def _unseen(url: str, problem: SourceError) -> PageFeeds:
    """A page that we may not see, though its site answers, has its feeds where others have them."""
    if problem.status == HTTPStatus.NOT_FOUND:  # nothing is below what is not there
        url = urljoin(url, ".")
    return PageFeeds(guesses=guesses_for(url) if isinstance(problem, Blocked | HttpStatus) else ())


def _explained(url: str, problem: SourceError) -> str:
    """What became of the address that was asked for, in one sentence."""
    if problem.status is None:
        return str(problem)
    phrase = next((each.phrase for each in HTTPStatus if each == problem.status), "")
    return f"{url} answered {problem.status}" + (f" ({phrase.lower()})." if phrase else ".")


def _with_guesses(problem: SourceError, guessed: tuple[str, ...]) -> SourceError:
    """The same error, which also says where else was looked."""
    if not guessed:
        return problem
    message = f"{problem} {describe_guesses(guessed)}"
    return type(problem)(message, status=problem.status, retry_after=problem.retry_after)


def describe_guesses(guessed: tuple[str, ...]) -> str:
    """Which usual places have no feed, in one sentence; empty where none was asked."""
    if not guessed:
        return ""
    return f"There is no feed at the usual addresses either: {', '.join(map(path_of, guessed))}."


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


def _probe(
    known: Iterable[str], page: PageFeeds, *, has_failed: bool
) -> Visit[tuple[list[DiscoveredFeed], tuple[str, ...]]]:
    """The feeds among all addresses that are known or named, then guesses until one hits or none will; and those."""
    listed = {feed.url for feed in page.listed}
    has_enough = any(not feed.is_of_comments for feed in page.listed)
    certain = dict.fromkeys((*known, *page.known, *(() if has_enough else page.named)))
    guesses = () if has_enough else page.guesses
    found: dict[str, DiscoveredFeed] = {}
    misses: dict[str, int] = {}
    untried = (address for address in dict.fromkeys((*certain, *guesses)) if address not in listed)
    for address in itertools.islice(untried, MAX_PROBES):
        is_guess = address not in certain
        if is_guess and any(not feed.is_of_comments for feed in found.values()):
            break
        result = yield from _probe_one(address)
        if isinstance(result, DiscoveredFeed):
            found.setdefault(result.url, result)
        elif is_guess:
            misses[address] = result
            if _is_hopeless(tuple(misses.values()), has_failed=has_failed):
                break
    return list(found.values()), tuple(misses)


def _is_hopeless(statuses: Sequence[int], *, has_failed: bool) -> bool:
    """Whether more guesses would only be more of the same."""
    last = statuses[-MAX_IN_TROUBLE:]
    if len(last) == MAX_IN_TROUBLE and all(status == _NO_ANSWER or status >= _SERVER_ERROR for status in last):
        return True
    return has_failed and len(statuses) >= MAX_ALIKE and len(set(statuses)) == 1


def _probe_one(address: str) -> Visit[DiscoveredFeed | int]:
    """The feed at an address; the status of the answer when it is none."""
    try:
        reply: Reply = yield Ask(address, headers={"Accept": ACCEPT}, accept_statuses=_FAILURES)
        if reply.status in _FAILURES:
            return reply.status
        harvest = yield from read_reply(reply)
    except (Unreachable, TimedOut):
        return _NO_ANSWER
    except SourceError as error:
        return error.status or HTTPStatus.OK
    return DiscoveredFeed(reply.url, harvest.title or reply.url)
