"""Tries an address for a person: what is there, its validators and freshness, and when it would be polled next."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Literal
from urllib.parse import urlsplit

import msgspec

from tsuzuki.connectors.config import decode_config
from tsuzuki.connectors.discovery import DiscoveredFeeds, discover
from tsuzuki.connectors.feed.fetch import FeedOutcome
from tsuzuki.connectors.page_feeds import typed_address
from tsuzuki.connectors.protocol import Connector
from tsuzuki.connectors.registry import Registry
from tsuzuki.db import Database, Tx, load_queries
from tsuzuki.db.deadlines import with_tx_again
from tsuzuki.model.errors import Invalid, SourceError, TooManyRequests
from tsuzuki.model.harvest import FoundChapter, FoundItem, SeriesDetails
from tsuzuki.model.numbers import release_key
from tsuzuki.model.requests import Ask, Reply, SourceIdentity
from tsuzuki.model.times import MINUTE, Millis
from tsuzuki.model.titles import title_of
from tsuzuki.net.headers import freshness, retry_after
from tsuzuki.net.urls import canonical, parse
from tsuzuki.polling.driver import Driver, SourceFetcher
from tsuzuki.polling.policy import PollAnswered, PullPace, WatchState, next_poll, with_wishes

q = load_queries("tsuzuki.polling")

OK = 200
MOST_AT_ONCE = 20
"""In one process: whoever asks for thousands of addresses would use up connections and parsers of everybody."""
_LATER_S = 10
KEPT_FOR = Millis(10 * MINUTE)
LARGEST_BODY = 1024 * 1024
MOST_LOOKS = 100


class RecentFetches:
    """R96: what a look at an address brought is kept for a while: whoever follows it then causes no second fetch.

    In the database, because the one who looks and the one who polls may be two processes.
    """

    def __init__(self, db: Database, clock: Callable[[], Millis]) -> None:
        self._db = db
        self._clock = clock

    async def keep(self, replies: Iterable[tuple[str, Reply]]) -> None:
        """Keep what these addresses answered."""
        now = self._clock()
        looks = [(url, msgspec.msgpack.encode(reply)) for url, reply in replies]

        async def keep(tx: Tx) -> None:
            for url, reply in sorted(looks):
                await tx.run(q.store_fetch, url=url, reply=reply, now=now)
            await tx.run(q.delete_old_fetches, oldest=Millis(now - KEPT_FOR), most=MOST_LOOKS)

        if looks:
            await with_tx_again(self._db, keep)

    async def take(self, url: str) -> Reply | None:
        """What this address answered lately, once; None when nobody looked."""
        oldest = Millis(self._clock() - KEPT_FOR)
        kept = await self._db.with_tx(lambda tx: tx.maybe(bytes, q.take_fetch, url=url, oldest=oldest))
        return None if kept is None else msgspec.msgpack.decode(kept, type=Reply)


class FetchListener:
    """Collects the answers of a trial, and knows which may be stored."""

    def __init__(self) -> None:
        self._replies: dict[str, Reply] = {}

    def __call__(self, ask: Ask, outcome: Reply | SourceError, _seconds: float, /) -> None:
        """See `driver.CallListener`."""
        if isinstance(outcome, Reply) and outcome.status == OK and len(outcome.body) <= LARGEST_BODY:
            self._replies[ask.url] = outcome

    def of(self, feeds: Iterable[str]) -> list[tuple[str, Reply]]:
        """The answers of these feeds, under the address that was asked and under the one that it led to."""
        wanted = {canonical(url) for url in feeds}
        kept: dict[str, Reply] = {}
        for url, reply in self._replies.items():
            asked, final = canonical(url), canonical(reply.url)
            if asked in wanted or final in wanted:
                kept[final] = msgspec.structs.replace(reply, hops=())
                kept[asked] = reply
        return list(kept.items())


class ReplayFetcher:
    """A fetcher that has the answer of one address already, and fetches every other."""

    def __init__(self, fetcher: SourceFetcher, url: str, reply: Reply) -> None:
        self._fetcher = fetcher
        self._url = url
        self._reply = reply

    async def fetch(self, ask: Ask, origin: SourceIdentity) -> Reply:
        """See `driver.SourceFetcher`."""
        return self._reply if ask.url == self._url else await self._fetcher.fetch(ask, origin)


class TriedInstallment(msgspec.Struct, frozen=True):
    """Something that was found: an item, a chapter, or on a page a feed."""

    key: str
    title: str
    url: str | None
    published_at: Millis | None = None


class TriedFetchState(msgspec.Struct, frozen=True, kw_only=True):
    """What a watch on this address would remember."""

    etag: str | None = None
    last_modified: str | None = None
    cache_control: str | None = None
    expires_at: Millis | None = None
    retry_after_until: Millis | None = None
    last_checked_at: Millis
    next_check_at: Millis
    last_http_status: int | None = None
    last_success_at: Millis
    last_error_at: Millis | None = None
    last_error: str | None = None
    consecutive_failures: int = 0


class NextCheck(msgspec.Struct, frozen=True):
    """When we would look again, and why."""

    at: Millis
    why: str


class TriedAddress(msgspec.Struct, frozen=True, kw_only=True):
    """What an address is."""

    kind: Literal["feed", "series", "page"]
    title: str
    found: tuple[TriedInstallment, ...]
    fetch_state: TriedFetchState
    next_check: NextCheck
    problem: str | None = None
    """What is wrong with the address itself, where its site has feeds all the same."""
    guessed: tuple[str, ...] = ()
    """The usual places of feeds that were asked for one, and have none."""


class Trier:
    """Tries addresses, so many at a time. A SourceError comes out as it is; TooManyRequests beyond that number."""

    def __init__(self, driver: Driver, registry: Registry, pace: PullPace, looks: RecentFetches | None = None) -> None:
        """`looks` keeps what was seen, for whoever follows it then (R96)."""
        self._looks = looks
        self._driver = driver
        self._registry = registry
        self._pace = pace
        self._under_way = 0

    async def try_url(self, url: str, now: Millis) -> TriedAddress:
        """A series where a connector knows the address, else a feed, else a page with its feeds."""
        with self._place():
            return await self._try_url(typed_address(url), now)

    async def find_feeds(self, url: str) -> DiscoveredFeeds:
        """The feeds of a page, best first; the page itself when it is one."""
        with self._place():
            return await self._discover(typed_address(url))

    @contextmanager
    def _place(self) -> Iterator[None]:
        if self._under_way >= MOST_AT_ONCE:
            raise TooManyRequests("Too many addresses are being checked. Try again in a moment.", _LATER_S)
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1

    async def _try_url(self, url: str, now: Millis) -> TriedAddress:
        for connector in self._connectors_for(url):
            if (series := await self._try_series(connector, url, now)) is not None:
                return series
        discovered = await self._discover(url)
        if discovered.outcome is not None:
            return self._feed(discovered.outcome, now)
        found = tuple(TriedInstallment(feed.url, feed.title, feed.url) for feed in discovered.feeds)
        page = self._tried("page", discovered.title, found, now)
        state = msgspec.structs.replace(page.fetch_state, last_http_status=discovered.status)
        return msgspec.structs.replace(page, fetch_state=state, problem=discovered.problem, guessed=discovered.guessed)

    async def _discover(self, url: str) -> DiscoveredFeeds:
        """Everybody who asks for the feeds at an address gets them from here, and so the same."""
        origin = SourceIdentity(source=url)
        if self._looks is None:
            return await self._driver.run(discover(url), origin)
        listener = FetchListener()
        found = await self._driver.with_listener(listener).run(discover(url), origin)
        await self._looks.keep(listener.of(feed.url for feed in found.feeds))
        return found

    def _connectors_for(self, url: str) -> Iterable[Connector]:
        host = parse(url).host
        for described in self._registry:
            if isinstance(described, Connector) and urlsplit(described.info.base_url).hostname == host:
                yield described

    async def _try_series(self, connector: Connector, url: str, now: Millis) -> TriedAddress | None:
        """None when this is no series of that source: its other pages may still be feeds."""
        info = connector.info
        try:
            config = decode_config(info.config, {})
            origin = SourceIdentity(
                source=info.id,
                home_url=info.api_url or info.base_url,
                ratelimit=info.ratelimit,
                keeps_cookies=True,
            )
            chapters = await self._driver.run(connector.chapters(config, url), origin)
            details: SeriesDetails | None = None
            if info.abilities.details:
                details = await self._driver.run(connector.details(config, url), origin)
        except (Invalid, SourceError):
            return None
        title = details.title if details is not None else url
        return self._tried("series", title, tuple(map(_chapter, chapters)), now)

    def _feed(self, outcome: FeedOutcome, now: Millis) -> TriedAddress:
        assert outcome.harvest is not None
        return self._tried(
            "feed", outcome.harvest.title, tuple(map(_item, outcome.harvest.items)), now, outcome=outcome
        )

    def _tried(
        self,
        kind: Literal["feed", "series", "page"],
        title: str,
        found: tuple[TriedInstallment, ...],
        now: Millis,
        *,
        outcome: FeedOutcome | None = None,
    ) -> TriedAddress:
        headers = {} if outcome is None else outcome.headers
        fresh_for = freshness(headers, now)
        wait = retry_after(None if outcome is None else outcome.retry_after, now, ceiling=self._pace.ceiling)
        watched = WatchState(kind="series" if kind == "series" else "feed", last_release_at=now)
        if outcome is not None and outcome.harvest is not None:
            watched = with_wishes(watched, outcome.harvest)
        look = next_poll(watched, PollAnswered(wait, fresh_for), self._pace, now)
        at = look.at if look.at is not None else now
        state = TriedFetchState(
            etag=None if outcome is None else outcome.validators.etag,
            last_modified=None if outcome is None else outcome.validators.last_modified,
            cache_control=headers.get("cache-control"),
            expires_at=None if fresh_for is None else Millis(now + fresh_for),
            retry_after_until=None if wait is None else Millis(now + wait),
            last_checked_at=now,
            next_check_at=at,
            last_http_status=OK if outcome is None else outcome.status,
            last_success_at=now,
        )
        return TriedAddress(kind=kind, title=title, found=found, fetch_state=state, next_check=NextCheck(at, look.why))


def _item(item: FoundItem) -> TriedInstallment:
    return TriedInstallment(item.key, title_of(item.title, item.content), item.link, item.published_at)


def _chapter(chapter: FoundChapter) -> TriedInstallment:
    return TriedInstallment(release_key(chapter), chapter.title, chapter.url, chapter.published_at)
