"""The parts of the cache by themselves: what is fresh, one flight for many, conditional calls, whole page lists."""

import asyncio
from typing import Any

import pytest

from tests.builders import NOON, a_public_id, stored_shelf
from tests.catalogue.fixed import Fixed, a_catalogue, a_manga, a_source
from tsuzuki.catalogue.browse import ListRequest, filters_key, plain_query, storable
from tsuzuki.catalogue.calls import fresh_until, is_fresh
from tsuzuki.catalogue.chapters import lack
from tsuzuki.catalogue.chapters import q as chapters_q
from tsuzuki.catalogue.details import manga_tx
from tsuzuki.catalogue.types import PageRow
from tsuzuki.connectors.filters import FilterValue
from tsuzuki.connectors.protocol import Unsupported
from tsuzuki.coord.flights import CallInProgress, SingleFlight
from tsuzuki.db.queries import parse_queries
from tsuzuki.model.errors import Conflict, NotFound, ShapeChanged, Unavailable
from tsuzuki.model.harvest import FoundPage, FoundSeries, SeriesDetails, SeriesPage
from tsuzuki.model.ids import ReleaseId
from tsuzuki.model.requests import Ask, Reply, SourceIdentity, Validators
from tsuzuki.model.times import DAY, MINUTE, Millis
from tsuzuki.polling.driver import LARGEST_BODY, MOST_BYTES, Revalidating
from tsuzuki.polling.policy import COMPLETE
from tsuzuki.sources.sites import find_source_tx

_q = parse_queries(
    "tests",
    """
-- name: add_group
insert into shelf_group (public_id, shelf_id, name, created_at, updated_at) values (:public_id, :shelf_id, 'A', 1, 1)
returning id;
-- name: follow
insert into follow (public_id, shelf_id, series_id, group_id, created_at, updated_at)
select :public_id, cast(:shelf_id as bigint), series_id, cast(:group_id as bigint), 1, 1
from series_source where id = :id;
-- name: rest
update watch set suspended_at = 1, suspended_reason = :reason where series_source_id = :id;
-- name: is_awake
select suspended_at is null as is_awake from watch where series_source_id = :id;
""",
)

# -- policy


@pytest.mark.parametrize(
    ("fetched_at", "ttl", "fresh"),
    [
        (None, MINUTE, False),
        (NOON, MINUTE, True),
        (NOON - MINUTE + 1, MINUTE, True),
        (NOON - MINUTE, MINUTE, False),
        (NOON + 1, MINUTE, False),
        (NOON - DAY, None, True),
        (NOON, 0, False),
    ],
)
def test_what_is_fresh(fetched_at, ttl, fresh):
    assert is_fresh(fetched_at, ttl, NOON) is fresh


def test_until_when_it_is():
    assert fresh_until(NOON, MINUTE) == NOON + MINUTE
    assert fresh_until(None, MINUTE) is None
    assert fresh_until(NOON, None) is None


@pytest.mark.parametrize(
    ("indexes", "declared", "whole"),
    [((0, 1, 2), -1, True), ((0, 1, 2), 3, True), ((0, 1, 2), 2, True), ((0, 1), 3, False), ((0, 2), -1, False),
     ((1, 2), -1, False), ((0, 0), -1, False)],
)  # fmt: skip
def test_r63_what_is_a_whole_page_list(indexes, declared, whole):
    assert (lack([FoundPage(index, "u") for index in indexes], declared) is None) is whole


def test_r60_questions_that_mean_the_same_have_the_same_key():
    one, two = FilterValue("A", 1), FilterValue("B", state=True, group="G")
    assert filters_key((one, two)) == filters_key((two, one)) != filters_key((one,))
    assert filters_key(()) == ""
    many = tuple(FilterValue(f"Genre {number}", 1) for number in range(500))
    assert filters_key(many) == filters_key(many[::-1]) != filters_key(many[1:])
    assert len(filters_key(many)) < 100
    assert plain_query("  a \t b ") == "a b"


def test_a_list_has_each_callable_series_once():
    listed = SeriesPage(
        (
            FoundSeries("a", "/a", "A\x00 title"),
            FoundSeries("b", "/b", ""),
            FoundSeries("a", "/a2", "Again"),
            FoundSeries("c", "/" + "x" * 2048, "Too far"),
            FoundSeries("", "/d", "Without a key"),
        ),
        has_next=True,
    )
    assert storable(listed) == SeriesPage(
        (FoundSeries("a", "/a", "A title"), FoundSeries("b", "/b", "b")), has_next=True
    )


# -- flights


async def test_r65_a_leaving_caller_does_not_cancel_a_shared_call():
    flights, gate, calls = SingleFlight(), asyncio.Event(), []

    async def work() -> int:
        calls.append(1)
        await gate.wait()
        return 7

    first = asyncio.create_task(flights.join("key", work))
    second = asyncio.create_task(flights.join("key", work))
    await asyncio.sleep(0)
    first.cancel()
    gate.set()
    assert await second == 7
    assert len(calls) == 1
    assert await flights.join("key", work) == 7
    assert len(calls) == 2


async def test_a_failed_flight_fails_for_all_and_restarts():
    flights, failing = SingleFlight(), [True]

    async def work() -> str:
        await asyncio.sleep(0)
        if failing.pop() if failing else False:
            raise ShapeChanged("No.")
        return "yes"

    outcomes = await asyncio.gather(*(flights.join(1, work) for _ in range(3)), return_exceptions=True)
    assert [type(one) for one in outcomes] == [ShapeChanged] * 3
    assert await flights.join(1, work) == "yes"


async def test_the_impatient_leave_and_the_end_ends_all():
    flights = SingleFlight()

    async def work() -> None:
        await asyncio.sleep(60)

    with pytest.raises(CallInProgress, match=r"0\.01 seconds"):
        await flights.join("slow", work, patience=0.01)
    waiting = asyncio.create_task(flights.join("slow", work))
    await asyncio.sleep(0)
    await flights.close()
    with pytest.raises(Unavailable, match="stopping"):
        await waiting


# -- conditional calls


class Server:
    """Answers with a body and an ETag, or with a 304."""

    def __init__(self) -> None:
        self.body = b"one"
        self.asks: list[Ask] = []

    async def fetch(self, ask: Ask, origin: SourceIdentity) -> Reply:
        self.asks.append(ask)
        etag = f'"{origin.source} {hash(self.body)}"'
        if ask.validators.etag == etag:
            return Reply(ask.url, 304, {}, b"", NOON)
        return Reply(ask.url, 200, {"etag": etag}, self.body, NOON)


A, B = SourceIdentity(source="source:1"), SourceIdentity(source="source:2")


async def test_validators_are_sent_only_for_the_same_requester():
    server, now = Server(), [NOON]
    client = Revalidating(server, lambda: now[0])
    assert (await client.fetch(Ask("u"), A)).body == b"one"
    again = await client.fetch(Ask("u"), A)
    assert (again.status, again.body) == (200, b"one")
    await client.fetch(Ask("u"), B)
    await client.fetch(Ask("u", headers={"accept": "x"}), A)
    await client.fetch(Ask("u", method="POST"), A)
    assert [ask.validators != Validators() for ask in server.asks] == [False, True, False, False, False]
    server.body = b"two"
    assert (await client.fetch(Ask("u"), A)).body == b"two"
    now[0] = Millis(NOON + DAY + 1)
    await client.fetch(Ask("u"), A)
    assert server.asks[-1].validators == Validators()


async def test_what_is_remembered_stays_small():
    server = Server()
    client = Revalidating(server, lambda: NOON)
    server.body = b"x" * LARGEST_BODY
    for number in range(MOST_BYTES // LARGEST_BODY + 2):
        await client.fetch(Ask(str(number)), A)
    await client.fetch(Ask("0"), A)
    await client.fetch(Ask(str(MOST_BYTES // LARGEST_BODY + 1)), A)
    server.body += b"x"
    await client.fetch(Ask("large"), A)
    await client.fetch(Ask("large"), A)
    assert [ask.validators != Validators() for ask in server.asks[-4:]] == [False, True, False, False]


# -- pages, on a source without a site


async def a_chapter(db: Any, connector: Fixed) -> tuple[Any, ReleaseId]:
    shelf = await stored_shelf(db)
    catalogue = a_catalogue(db, connector)
    manga = await a_manga(db, catalogue, shelf)
    return catalogue, (await catalogue.chapter_lists.list(manga, shelf)).value[0].id


async def test_r63_a_list_with_holes_is_shown_and_not_kept(db):
    connector = Fixed()
    connector.declared = 5
    catalogue, chapter = await a_chapter(db, connector)
    answer = await catalogue.chapters.pages(chapter)
    assert (len(answer.pages), answer.freshness.error) == (3, "The source lists 3 of 5 pages.")
    assert await db.read(lambda tx: tx.many(PageRow, chapters_q.list_pages, release_id=chapter)) == []
    connector.page_list = tuple(FoundPage(place, f"p{place}") for place in range(5))
    whole = await catalogue.chapters.pages(chapter)
    assert (len(whole.pages), whole.freshness.error) == (5, None)
    assert (await catalogue.chapters.pages(chapter)).freshness.is_from_cache is True


async def test_an_image_that_takes_another_call_is_asked_for_once(db):
    """What the second call told is stored; the image's own headers come from the connector."""
    connector = Fixed()
    catalogue, chapter = await a_chapter(db, connector)
    image = await catalogue.chapters.image(await catalogue.chapters.pages(chapter), 1)
    assert image.image_url == "https://example.net/p1.png"
    assert image.want.headers["referer"] == "https://example.net/"
    answer = await catalogue.chapters.pages(chapter)
    assert (await catalogue.chapters.image(answer, 1)).want == image.want
    assert connector.asked.count("image p1") == 1
    assert [page.image_url for page in answer.pages] == [None, "https://example.net/p1.png", None]
    with pytest.raises(NotFound, match="has only 3 pages"):
        await catalogue.chapters.image(answer, 3)


async def test_r66_an_image_address_that_expires_is_asked_for_every_time(db):
    connector = Fixed(image_urls_expire=True)
    catalogue, chapter = await a_chapter(db, connector)
    for _ in range(2):
        await catalogue.chapters.image(await catalogue.chapters.pages(chapter), 1)
    assert connector.asked.count("image p1") == 2
    assert await db.read(lambda tx: tx.many(PageRow, chapters_q.list_pages, release_id=chapter)) == []


async def test_a_release_that_is_only_elsewhere_says_where(db):
    connector = Fixed()
    connector.is_readable = False
    catalogue, chapter = await a_chapter(db, connector)
    with pytest.raises(Conflict, match="/s/0/3"):
        await catalogue.chapters.pages(chapter)


async def test_a_source_that_cannot_do_it_says_so(db):
    """And one without details has told everything in its list."""
    connector = Fixed(can={"pages": False, "details": False, "latest": False})
    catalogue, chapter = await a_chapter(db, connector)
    shelf = await stored_shelf(db)
    with pytest.raises(Unsupported, match="Fixed cannot list pages"):
        await catalogue.chapters.pages(chapter)
    with pytest.raises(Unsupported, match="It has: popular, search"):
        await catalogue.browsing.browse(await a_source(db), ListRequest(kind="latest", shelf_id=shelf))
    manga = await a_manga(db, catalogue, shelf)
    shown = await catalogue.details.show(manga, shelf, refresh=True)
    assert (shown.value.title, shown.freshness.is_from_cache, shown.freshness.is_stale) == ("Series 0", True, False)
    assert not any(one.startswith("details") for one in connector.asked)


async def test_r62_details_that_say_nothing_blank_nothing(db):
    connector = Fixed()
    shelf = await stored_shelf(db)
    catalogue = a_catalogue(db, connector)
    manga = await a_manga(db, catalogue, shelf)
    connector.details_found = SeriesDetails(
        "T", author="A", artist="B", description="D", genres=("G",), status=1, cover_url="https://example.net/c.png"
    )
    full = (await catalogue.details.show(manga, shelf)).value
    assert full == (await db.read(lambda tx: manga_tx(tx, manga, shelf)))[0]
    connector.details_found = SeriesDetails("", status=9)
    again = (await catalogue.details.show(manga, shelf, refresh=True)).value
    assert again == full
    assert (again.title, again.author, again.genres, again.status) == ("T", "A", ["G"], 1)


async def test_r24_a_connector_says_whether_a_series_is_complete(db):
    """What it does not say stays, and what it says that nobody knows is nothing."""
    connector = Fixed()
    shelf = await stored_shelf(db)
    catalogue = a_catalogue(db, connector)
    manga = await a_manga(db, catalogue, shelf)
    strategies = []
    for said in (None, "ONLY_FETCH_ONCE", None, "SOMETIMES", "ALWAYS_UPDATE"):
        connector.details_found = SeriesDetails("T", update_strategy=said)  # type: ignore[arg-type]
        strategies.append((await catalogue.details.show(manga, shelf, refresh=True)).value.update_strategy)
    assert strategies == ["ALWAYS_UPDATE", "ONLY_FETCH_ONCE", "ONLY_FETCH_ONCE", "ONLY_FETCH_ONCE", "ALWAYS_UPDATE"]


async def test_i5_a_series_that_is_not_complete_is_polled_again(db):
    connector = Fixed()
    shelf = await stored_shelf(db)
    catalogue = a_catalogue(db, connector)
    manga = await a_manga(db, catalogue, shelf)
    connector.details_found = SeriesDetails("T", update_strategy="ONLY_FETCH_ONCE")
    await catalogue.details.show(manga, shelf)
    group = await db.with_tx(lambda tx: tx.one(int, _q.add_group, public_id=a_public_id(), shelf_id=shelf))
    follow = {"id": manga, "public_id": a_public_id(), "shelf_id": shelf, "group_id": group}
    await db.with_tx(lambda tx: tx.run(_q.follow, **follow))
    await db.with_tx(lambda tx: tx.run(_q.rest, id=manga, reason=COMPLETE))
    connector.details_found = SeriesDetails("T", update_strategy="ALWAYS_UPDATE")
    await catalogue.details.show(manga, shelf, refresh=True)
    assert await db.read(lambda tx: tx.one(bool, _q.is_awake, id=manga))


async def test_adult_flags_of_a_connector_mark_source_and_series(db):
    """And what it can do, with every list: it may have learned since the source was registered."""
    shelf = await stored_shelf(db)
    catalogue = a_catalogue(db, Fixed(is_nsfw=True))
    source_id = await a_source(db)
    listed = await catalogue.browsing.browse(source_id, ListRequest(kind="popular", shelf_id=shelf))
    assert [manga.is_nsfw for manga in listed.value.manga] == [True] * 3
    source = await db.read(lambda tx: find_source_tx(tx, source_id))
    assert source is not None
    assert (source.is_nsfw, source.supports_latest) == (True, True)


async def test_lists_that_nobody_asks_for_are_forgotten_after_a_month(db):
    now = [NOON]
    connector = Fixed()
    catalogue = a_catalogue(db, connector, lambda: now[0])
    await a_manga(db, catalogue, await stored_shelf(db))
    now[0] = Millis(NOON + 30 * DAY)
    assert await catalogue.forget_old() == 0
    now[0] = Millis(now[0] + 1)
    assert await catalogue.forget_old() == 1
