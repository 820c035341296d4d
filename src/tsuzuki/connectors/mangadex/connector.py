"""MangaDex: search, details, every release with its group, and the pages of MangaDex@Home.

Its rules: an honest User-Agent, no `Via`, about 5 requests a second, images by proxy and never with credentials, and
credit to the scanlation groups.
"""

import re
from collections.abc import Iterator
from typing import Annotated, Literal
from urllib.parse import quote, urlencode, urlsplit

import msgspec
from msgspec import Meta

from tsuzuki.connectors.config import SourceConfig
from tsuzuki.connectors.filters import Filter, FilterValue
from tsuzuki.connectors.mangadex import search
from tsuzuki.connectors.mangadex.api import (
    SITE,
    AtHome,
    ChapterList,
    MangaAnswer,
    MangaDexChapter,
    MangaList,
    details_of,
    read_at_home,
    read_chapter_list,
    read_error,
    read_manga,
    read_manga_list,
    releases_of,
    series_of,
)
from tsuzuki.connectors.mangadex.search import Query
from tsuzuki.connectors.protocol import Abilities, Connector, ConnectorInfo, ImageOutcome, SeriesAt, Visit
from tsuzuki.model.errors import HttpStatus, Invalid, Problem, ShapeChanged
from tsuzuki.model.harvest import FoundChapter, FoundPage, SeriesDetails, SeriesPage
from tsuzuki.model.requests import Ask, CallPace, Parse, RateHeaders, Reply

API = "https://api.mangadex.org"
REPORTS = "https://api.mangadex.network/report"
LIST_SIZE = 32
LATEST_SIZE = 100
FEED_SIZE = 500
OFFSET_CAP = 10_000  # offset + limit; the API answers 400 beyond
MAX_REQUESTS = 200
"""A feed of 100,000 releases; nobody has one, and a server that never ends its list must not hold us."""
IMAGE_CAP = 32 * 1024 * 1024
# MangaDex does not use Retry-After.
LIMITS = RateHeaders(remaining="x-ratelimit-remaining", reset="x-ratelimit-retry-after", unit="epoch_seconds")
# Its documentation: 40 a minute, beside the 5 a second for all calls.
AT_HOME_PACE = CallPace("at-home", per_second=40 / 60)
LANGUAGES = (
    "en", "ar", "bg", "bn", "ca", "cs", "da", "de", "el", "es", "es-la", "fa", "fi", "fr", "he", "hi", "hu", "id",
    "it", "ja", "ko", "lt", "ms", "nl", "no", "pl", "pt", "pt-br", "ro", "ru", "sv", "th", "tl", "tr", "uk", "vi",
    "zh", "zh-hk",
)  # fmt: skip

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
ContentRating = Literal["safe", "suggestive", "erotica", "pornographic"]
Uuid = Annotated[str, Meta(pattern=rf"^{_UUID.pattern}\Z")]


class MangaDexConfig(SourceConfig, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`contentrating` is what lists and feeds may contain; `datasaver` takes the smaller images."""

    language: Annotated[str, Meta(pattern=r"^[a-z]{2}(-[a-z]{2})?\Z")] = "en"
    contentrating: tuple[ContentRating, ...] = ("safe", "suggestive", "erotica")
    datasaver: bool = False
    excludedgroups: Annotated[tuple[Uuid, ...], Meta(max_length=100)] = ()
    excludeduploaders: Annotated[tuple[Uuid, ...], Meta(max_length=100)] = ()

    def problems(self) -> Iterator[Problem]:
        """MangaDex bans clients that hide who they are."""
        yield from super().problems()
        if any(name.lower() == "user-agent" for name in self.headers):
            yield Problem("headers.User-Agent", "MangaDex requires Tsuzuki's own User-Agent; it cannot be replaced.")
        if not self.contentrating:
            yield Problem("contentrating", "Choose at least one content rating.")


class MangaDex(Connector):
    """The connector; `api` differs for a source whose address is not MangaDex's own."""

    backup_chapters = "/chapter/"
    info = ConnectorInfo(
        id="org.mangadex",
        name="MangaDex",
        languages=LANGUAGES,
        base_url=SITE,
        api_url=API,
        ratelimit=4.0,
        image_urls_expire=True,
        config=MangaDexConfig,
        abilities=Abilities(popular=True, latest=True, search=True, details=True, chapters=True, pages=True),
    )

    def __init__(self, api: str = API) -> None:
        self._api = api
        self.info = msgspec.structs.replace(type(self).info, api_url=api)

    def for_source(self, config: MangaDexConfig, base_url: str = "") -> Connector:
        """An address other than MangaDex's own is where its API is called, such as that of a mirror."""
        return self if _is_official(urlsplit(base_url).hostname) else MangaDex(base_url.rstrip("/"))

    def series_at(self, config: MangaDexConfig, url: str) -> SeriesAt | None:
        """A page below `/title/`."""
        parts = urlsplit(url)
        found = _UUID.search(parts.path.lower())
        if parts.hostname != urlsplit(SITE).hostname or not parts.path.startswith("/title/") or found is None:
            return None
        return SeriesAt(found[0], f"{SITE}/title/{found[0]}")

    def series_in_backup(self, config: MangaDexConfig, url: str) -> SeriesAt | None:
        """`/manga/` and the id; very old backups have numbers, which lead nowhere any more."""
        found = _UUID.search(url.lower()) if url.startswith("/manga/") else None
        return None if found is None else SeriesAt(found[0], f"{SITE}/title/{found[0]}")

    def backup_url(self, series_url: str) -> str:
        """See `series_in_backup`."""
        return f"/manga/{_id_in(series_url)}"

    def filters(self, config: MangaDexConfig) -> tuple[Filter, ...]:
        """Tags, status, demographic, origin, rating and order."""
        return search.declared(config.contentrating)

    def popular(self, config: MangaDexConfig, page: int) -> Visit[SeriesPage]:
        """Series by their number of followers."""
        query = [("order[followedCount]", "desc"), *_ratings(config)]
        return (yield from self._list(config, page, query))

    def latest(self, config: MangaDexConfig, page: int) -> Visit[SeriesPage]:
        """The series of the newest chapters in this language; the order of series by itself mixes all languages."""
        offset = (page - 1) * LATEST_SIZE
        if offset + LATEST_SIZE > OFFSET_CAP:
            return SeriesPage(())
        query = [
            ("limit", str(LATEST_SIZE)),
            ("offset", str(offset)),
            ("order[readableAt]", "desc"),
            ("translatedLanguage[]", config.language),
            ("includeFuturePublishAt", "0"),
            *_ratings(config),
            *_unwanted(config),
        ]
        reply: Reply = yield self._ask("/chapter", query)
        found: ChapterList = yield Parse(read_chapter_list, (reply.body,))
        links = [link for chapter in found.data for link in chapter.relationships]
        ids = list(dict.fromkeys(link.id for link in links if link.type == "manga"))
        # By the chapters: several of them may be of one series, so a page can have few series and not be the last.
        has_next = _has_next(offset, LATEST_SIZE, found.total)
        if not ids:
            return SeriesPage((), has_next)
        wanted = [("limit", str(len(ids))), ("includes[]", "cover_art"), *(("ids[]", id_) for id_ in ids)]
        wanted += _ratings(config)
        reply = yield self._ask("/manga", wanted)
        answer: MangaList = yield Parse(read_manga_list, (reply.body,))
        # The API sorts as it likes, and leaves out series of other ratings.
        listed = {manga.id: manga for manga in answer.data}
        return SeriesPage(tuple(series_of(listed[id_], config.language) for id_ in ids if id_ in listed), has_next)

    def search(
        self, config: MangaDexConfig, page: int, *, text: str, filters: tuple[FilterValue, ...] = ()
    ) -> Visit[SeriesPage]:
        """By title and filters; a pasted address or id of a series finds that series."""
        identity = _UUID.search(text.lower())
        if identity:
            query = [("ids[]", identity[0]), *(("contentRating[]", rating) for rating in search.RATINGS.values())]
            return (yield from self._list(config, page, query, any_language=True))
        title = [("title", text.strip())] if text.strip() else []
        return (yield from self._list(config, page, [*title, *search.query_of(filters, config.contentrating)]))

    def _list(
        self, config: MangaDexConfig, page: int, query: Query, *, any_language: bool = False
    ) -> Visit[SeriesPage]:
        offset = (page - 1) * LIST_SIZE
        if offset + LIST_SIZE > OFFSET_CAP:
            return SeriesPage(())
        language = [] if any_language else [("availableTranslatedLanguage[]", config.language)]
        paging = [("limit", str(LIST_SIZE)), ("offset", str(offset)), ("includes[]", "cover_art")]
        reply: Reply = yield self._ask("/manga", [*paging, *language, *query])
        found: MangaList = yield Parse(read_manga_list, (reply.body,))
        series = tuple(series_of(manga, config.language) for manga in found.data)
        return SeriesPage(series, bool(series) and _has_next(offset, LIST_SIZE, found.total))

    def details(self, config: MangaDexConfig, series_url: str) -> Visit[SeriesDetails]:
        """Everything that MangaDex says of a series."""
        includes = [("includes[]", kind) for kind in ("cover_art", "author", "artist")]
        reply: Reply = yield self._ask(f"/manga/{_id_in(series_url)}", includes, accept={404})
        yield from _refuse_missing(reply, "this series")
        answer: MangaAnswer = yield Parse(read_manga, (reply.body,))
        return details_of(answer.data, config.language)

    def chapters(self, config: MangaDexConfig, series_url: str) -> Visit[tuple[FoundChapter, ...]]:
        """Every release in the language, with its group. Walked from the oldest, in windows below the offset cap."""
        path = f"/manga/{_id_in(series_url)}/feed"
        found: dict[str, MangaDexChapter] = {}
        since: str | None = None
        offset = 0
        for _ in range(MAX_REQUESTS):
            reply: Reply = yield self._ask(path, _feed_query(config, offset, since), accept={404})
            yield from _refuse_missing(reply, "this series")
            page: ChapterList = yield Parse(read_chapter_list, (reply.body,))
            found.update((chapter.id, chapter) for chapter in page.data)
            offset += FEED_SIZE
            if offset >= page.total:
                return releases_of(found.values())
            if not page.data:
                raise ShapeChanged(f"MangaDex announced {page.total} chapters but sent fewer.")
            if offset + FEED_SIZE > OFFSET_CAP:
                since, offset = _window_after(page.data[-1], since), 0
        raise ShapeChanged(f"MangaDex's list of chapters does not end after {MAX_REQUESTS} pages.")

    def pages(self, config: MangaDexConfig, chapter_url: str) -> Visit[tuple[FoundPage, ...]]:
        """The images on the MangaDex@Home node of the moment: good for minutes, never stored (R66)."""
        path = f"/at-home/server/{_id_in(chapter_url)}"
        # Nodes on other ports would meet our own guard, and many firewalls.
        reply: Reply = yield self._ask(path, [("forcePort443", "true")], accept={404}, pace=AT_HOME_PACE)
        yield from _refuse_missing(reply, "this chapter's pages")
        home: AtHome = yield Parse(read_at_home, (reply.body,))
        folder, names = ("data-saver", home.chapter.data_saver) if config.datasaver else ("data", home.chapter.data)
        if not names:
            raise ShapeChanged("MangaDex sent no pages for this chapter.")
        base = f"{home.base_url.rstrip('/')}/{folder}/{quote(home.chapter.hash, safe='')}"
        return tuple(
            FoundPage(index, f"{chapter_url}#{index + 1}", f"{base}/{quote(name, safe='')}")
            for index, name in enumerate(names)
        )

    def image(self, config: MangaDexConfig, image_url: str) -> Ask:
        """Plain: image hosts get no credentials."""
        return Ask(image_url, max_bytes=IMAGE_CAP)

    def image_report(self, outcome: ImageOutcome) -> Ask | None:
        """MangaDex@Home wants a report on every image, unless its own servers sent it, or those of a mirror."""
        if self._api != API or _is_official(urlsplit(outcome.url).hostname):
            return None
        report = {
            "url": outcome.url,
            "success": outcome.is_success,
            "bytes": outcome.size,
            "duration": outcome.took_ms,
            "cached": outcome.is_cached,
        }
        headers = {"content-type": "application/json"}
        return Ask(REPORTS, method="POST", headers=headers, body=msgspec.json.encode(report))

    def _ask(
        self, path: str, query: Query, *, accept: frozenset[int] | set[int] = frozenset(), pace: CallPace | None = None
    ) -> Ask:
        url = f"{self._api}{path}?{urlencode(query, safe='[]')}"
        return Ask(url, accept_statuses=frozenset(accept), rate_headers=LIMITS, pace=pace)


def _is_official(host: str | None) -> bool:
    return not host or host == "mangadex.org" or host.endswith(".mangadex.org")


def _id_in(url: str) -> str:
    """The id in an address of ours; nothing else of it is used, so it can name no host (SEC-05)."""
    found = _UUID.search(url.lower())
    if found is None:
        raise Invalid(f"{url[:200]!r} is not an address of a series or chapter on MangaDex.")
    return found[0]


def _refuse_missing(reply: Reply, what: str) -> Visit[None]:
    if reply.status == 404:
        reason: str = yield Parse(read_error, (reply.body,))
        raise HttpStatus(f"MangaDex does not have {what}, or no longer has it: {reason}.", status=404)


def _has_next(offset: int, size: int, total: int) -> bool:
    after = offset + size
    return after < total and after + size <= OFFSET_CAP


def _ratings(config: MangaDexConfig) -> Query:
    return [("contentRating[]", rating) for rating in config.contentrating]


def _unwanted(config: MangaDexConfig) -> Query:
    groups = [("excludedGroups[]", group) for group in config.excludedgroups]
    return [*groups, *(("excludedUploaders[]", uploader) for uploader in config.excludeduploaders)]


def _feed_query(config: MangaDexConfig, offset: int, since: str | None) -> Query:
    # includeFuturePublishAt must be said: any of its kind switches off the rule that only published ones come.
    query = [
        ("limit", str(FEED_SIZE)),
        ("offset", str(offset)),
        ("translatedLanguage[]", config.language),
        ("order[createdAt]", "asc"),
        ("includes[]", "scanlation_group"),
        ("includes[]", "user"),
        ("includeFuturePublishAt", "0"),
        *_ratings(config),
        *_unwanted(config),
    ]
    return [*query, ("createdAtSince", since)] if since else query


def _window_after(last: MangaDexChapter, since: str | None) -> str:
    """Where the next window begins: at the last one seen, which comes again and is known by its id."""
    moment = last.attributes.created_at[:19]  # `createdAtSince` takes no zone
    if moment == since:
        raise ShapeChanged("MangaDex lists more than 10,000 chapters with the same time.")
    return moment
