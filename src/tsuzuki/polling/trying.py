"""Looks at an address once, for a person: what is there, what it says of waiting, and when we would look again."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Literal
from urllib.parse import urlsplit

import msgspec

from tsuzuki.connectors.config import decode_config
from tsuzuki.connectors.discovery import DiscoveredFeeds, discover
from tsuzuki.connectors.feed.visiting import FeedOutcome
from tsuzuki.connectors.feed_addresses import typed_address
from tsuzuki.connectors.protocol import Connector
from tsuzuki.connectors.registry import Registry
from tsuzuki.model.errors import Invalid, SourceError, TooManyRequests
from tsuzuki.model.harvest import FoundChapter, FoundItem, SeriesDetails
from tsuzuki.model.numbers import release_key
from tsuzuki.model.times import Millis
from tsuzuki.model.titles import title_of
from tsuzuki.net.headers import freshness, retry_after
from tsuzuki.net.options import SourceIdentity
from tsuzuki.net.urls import parse
from tsuzuki.polling.feeds import wishing
from tsuzuki.polling.looks import Looks, Overheard
from tsuzuki.polling.policy import PollAnswered, PullPace, Watched, next_look
from tsuzuki.polling.visit import Driver

OK = 200
MOST_AT_ONCE = 20
"""In one process: whoever asks for thousands of addresses would use up connections and parsers of everybody."""
_LATER_S = 10


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

    def __init__(self, driver: Driver, registry: Registry, pace: PullPace, looks: Looks | None = None) -> None:
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
            raise TooManyRequests("Too many addresses are being looked at. Try again in a moment.", _LATER_S)
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
        overheard = Overheard()
        found = await self._driver.overheard(overheard).run(discover(url), origin)
        await self._looks.keep(overheard.of(feed.url for feed in found.feeds))
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
        watched = Watched(kind="series" if kind == "series" else "feed", last_release_at=now)
        if outcome is not None and outcome.harvest is not None:
            watched = wishing(watched, outcome.harvest)
        look = next_look(watched, PollAnswered(wait, fresh_for), self._pace, now)
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
