from decimal import Decimal
from urllib.parse import parse_qs, parse_qsl, urlsplit

import msgspec
import pytest

from tests.connectors.builders import a_reply, run, run_and_record
from tests.connectors.mangadex.entities import (
    CAT,
    HARBOUR,
    NIGHT,
    TEA,
    a_chapter,
    a_chapter_id,
    a_list,
    a_manga,
    an_error,
    at_home,
)
from tsuzuki.connectors.filters import FilterValue, SortState
from tsuzuki.connectors.mangadex.connector import MangaDex, MangaDexConfig
from tsuzuki.connectors.mangadex.reading import NO_GROUP
from tsuzuki.connectors.protocol import ImageOutcome
from tsuzuki.model.errors import HttpStatus, Invalid, ShapeChanged
from tsuzuki.model.fetching import Ask
from tsuzuki.model.times import from_iso

DEX = MangaDex()
CONFIG = MangaDexConfig()
SERIES = f"https://mangadex.org/title/{CAT}"
CHAPTER = f"https://mangadex.org/chapter/{a_chapter_id(7)}"


def always(body, **over):
    return lambda want: a_reply(body, url=want.url, **over)


def query_of(ask):
    return parse_qs(urlsplit(ask.url).query)


def one_chapter(**over):
    (found,) = run(DEX.chapters(CONFIG, SERIES), always(a_list([a_chapter(**over)])))
    return found


class Feed:
    """A server with that many chapters, which honours the query and refuses what MangaDex does."""

    def __init__(self, count, *, ends_at=None):
        self.chapters = [a_chapter(number) for number in range(count)]
        self.ends_at = ends_at

    def __call__(self, ask):
        query = query_of(ask)
        offset, limit = int(query["offset"][0]), int(query["limit"][0])
        assert limit <= 500
        assert offset + limit <= 10_000, "MangaDex answers 400 beyond 10,000"
        since = query.get("createdAtSince", [""])[0]
        fitting = [one for one in self.chapters if one["attributes"]["createdAt"][:19] >= since]
        data = fitting[offset : offset + limit]
        if self.ends_at is not None and offset >= self.ends_at:
            data = []
        return a_reply(a_list(data, total=len(fitting), limit=limit, offset=offset), url=ask.url)


def test_popular_asks_for_the_most_followed_in_the_sources_language():
    page, (ask,) = run_and_record(DEX.popular(CONFIG, 2), always(a_list([a_manga()], total=100)))
    assert urlsplit(ask.url)._replace(query="").geturl() == "https://api.mangadex.org/manga"
    assert query_of(ask) == {
        "limit": ["32"],
        "offset": ["32"],
        "includes[]": ["cover_art"],
        "availableTranslatedLanguage[]": ["en"],
        "order[followedCount]": ["desc"],
        "contentRating[]": ["safe", "suggestive", "erotica"],
    }
    (series,) = page.series
    assert (series.key, series.url, series.title) == (CAT, SERIES, "The Lighthouse Cat")
    assert series.cover_url == f"https://uploads.mangadex.org/covers/{CAT}/cover.png.256.jpg"
    assert page.has_next


def test_every_call_says_where_its_limits_are_told():
    _, (ask,) = run_and_record(DEX.popular(CONFIG, 1), always(a_list([])))
    assert ask.rate_headers.remaining == "x-ratelimit-remaining"
    assert ask.rate_headers.reset == "x-ratelimit-retry-after"
    assert ask.rate_headers.unit == "epoch_seconds"
    assert DEX.info.ratelimit < 5


@pytest.mark.parametrize(
    ("page", "total", "has_next"), [(1, 32, False), (1, 33, True), (312, 50_000, False), (311, 50_000, True)]
)
def test_a_list_ends_at_its_total_or_at_the_offset_cap(page, total, has_next):
    assert run(DEX.popular(CONFIG, page), always(a_list([a_manga()], total=total))).has_next is has_next


def test_beyond_the_offset_cap_nothing_is_asked():
    for verb in (DEX.popular, DEX.latest):
        page, asks = run_and_record(verb(CONFIG, 400), always(a_list([a_manga()], total=50_000)))
        assert (page.series, page.has_next, asks) == ((), False, [])


def test_latest_is_by_chapters_in_the_language_and_each_series_comes_once():
    def answer(ask):
        if urlsplit(ask.url).path == "/chapter":
            chapters = [a_chapter(1, manga=TEA), a_chapter(2), a_chapter(3, manga=TEA), a_chapter(4, manga="gone")]
            return a_reply(a_list(chapters, total=1000), url=ask.url)
        return a_reply(a_list([a_manga(CAT), a_manga(TEA)]), url=ask.url)

    page, (first, second) = run_and_record(DEX.latest(CONFIG, 1), answer)
    assert query_of(first)["order[readableAt]"] == ["desc"]
    assert query_of(first)["includeFuturePublishAt"] == ["0"]
    assert query_of(second)["ids[]"] == [TEA, CAT, "gone"]
    assert [series.key for series in page.series] == [TEA, CAT]
    assert page.has_next


def test_latest_without_any_chapter_needs_no_second_call():
    page, asks = run_and_record(DEX.latest(CONFIG, 1), always(a_list([])))
    assert page.series == ()
    assert len(asks) == 1


def test_search_sends_text_and_filters():
    values = (
        FilterValue("Order", SortState(4, ascending=True)),
        FilterValue("Action", 1, group="Genres"),
        FilterValue("Horror", 2, group="Genres"),
        FilterValue("Web Comic", 1, group="Formats"),
        FilterValue("Completed", True, group="Status"),
        FilterValue("Josei", True, group="Demographic"),
        FilterValue("Korean", True, group="Original language"),
        FilterValue("Pornographic", True, group="Content rating"),
        FilterValue("Included tags", 1),
    )
    _, (ask,) = run_and_record(DEX.search(CONFIG, 1, text=" cat & sea ", filters=values), always(a_list([])))
    sent = query_of(ask)
    assert sent["title"] == ["cat & sea"]
    assert sent["order[title]"] == ["asc"]
    assert sent["includedTags[]"] == [
        "391b0423-d847-456f-aff0-8b0cfc03066b",
        "e197df38-d0e7-43b5-9b09-2842d0c326dd",
    ]
    assert sent["excludedTags[]"] == ["cdad7e68-1419-41dd-bdce-27753074a640"]
    assert sent["status[]"] == ["completed"]
    assert sent["publicationDemographic[]"] == ["josei"]
    assert sent["originalLanguage[]"] == ["ko"]
    assert sent["contentRating[]"] == ["safe", "suggestive", "erotica", "pornographic"]
    assert (sent["includedTagsMode"], sent["excludedTagsMode"]) == (["OR"], ["OR"])


def test_search_without_filters_is_by_relevance():
    _, (ask,) = run_and_record(DEX.search(CONFIG, 1, text="cat"), always(a_list([])))
    assert query_of(ask)["order[relevance]"] == ["desc"]


def test_a_filter_that_does_not_exist_is_named():
    with pytest.raises(Invalid, match=r"Genres\.Knitting"):
        run(DEX.search(CONFIG, 1, text="", filters=(FilterValue("Knitting", 1, group="Genres"),)), {})


def test_a_pasted_address_finds_that_series_whatever_its_language_and_rating():
    _, (ask,) = run_and_record(DEX.search(CONFIG, 1, text=f"{SERIES}/the-lighthouse-cat"), always(a_list([a_manga()])))
    assert query_of(ask)["ids[]"] == [CAT]
    assert "availableTranslatedLanguage[]" not in query_of(ask)
    assert "pornographic" in query_of(ask)["contentRating[]"]


def test_details_hold_all_that_the_site_tells():
    details, (ask,) = run_and_record(DEX.details(CONFIG, SERIES), always({"result": "ok", "data": a_manga()}))
    assert parse_qsl(urlsplit(ask.url).query) == [("includes[]", kind) for kind in ("cover_art", "author", "artist")]
    assert details.title == "The Lighthouse Cat"
    assert details.alt_titles == ("灯台の猫", "Toudai no Neko")
    assert (details.author, details.artist) == ("A. Keeper", "A. Keeper, B. Brush")
    assert details.description == "A cat keeps the light."
    assert details.genres == ("Seinen", "Comedy")
    assert details.status == 1
    assert details.cover_url == f"https://uploads.mangadex.org/covers/{CAT}/cover.png.512.jpg"
    assert (details.language, details.is_nsfw, details.real_url) == ("en", False, SERIES)


@pytest.mark.parametrize(
    ("status", "code"), [("ongoing", 1), ("completed", 2), ("cancelled", 5), ("hiatus", 6), ("new", 0), (None, 0)]
)
def test_r10_statuses_have_our_codes(status, code):
    assert run(DEX.details(CONFIG, SERIES), always({"data": a_manga(status=status)})).status == code


def test_an_empty_map_that_comes_as_a_list_is_no_text():
    manga = a_manga(description=[], altTitles=[], tags=[], publicationDemographic=None)
    details = run(DEX.details(CONFIG, SERIES), always({"data": manga}))
    assert (details.description, details.alt_titles, details.genres) == (None, (), ())


@pytest.mark.parametrize(
    ("title", "language", "expected"),
    [
        ({"en": "Cat", "fr": "Chat"}, "fr", "Chat"),
        ({"en": "Cat", "ja": "猫"}, "de", "Cat"),
        ({"ja": "猫", "ja-ro": "Neko"}, "en", "Neko"),
        ({"ja": "猫"}, "en", "猫"),
        ({"ko": "고양이"}, "en", "고양이"),
        ([], "en", CAT),
    ],
)
def test_the_title_is_in_the_readers_language_or_the_nearest(title, language, expected):
    config = MangaDexConfig(language=language)
    assert run(DEX.details(config, SERIES), always({"data": a_manga(title=title)})).title == expected


@pytest.mark.parametrize(
    ("rating", "is_nsfw"), [("safe", False), ("suggestive", False), ("erotica", True), ("pornographic", True)]
)
def test_content_ratings_say_what_is_nsfw(rating, is_nsfw):
    assert run(DEX.details(CONFIG, SERIES), always({"data": a_manga(contentRating=rating)})).is_nsfw is is_nsfw


def test_a_file_name_of_a_cover_cannot_lead_elsewhere():
    manga = a_manga()
    manga["relationships"] = [{"id": "c", "type": "cover_art", "attributes": {"fileName": "../../evil/x.png"}}]
    assert run(DEX.details(CONFIG, SERIES), always({"data": manga})).cover_url is None


def test_a_series_that_was_removed_says_so():
    missing = always(an_error(404, "Not Found", "Manga not found"), status=404)
    for visit in (DEX.details(CONFIG, SERIES), DEX.chapters(CONFIG, SERIES)):
        with pytest.raises(HttpStatus, match=r"does not have this series.*Manga not found") as caught:
            run(visit, missing)
        assert caught.value.status == 404


@pytest.mark.parametrize(
    "url", ["https://evil.example/", "", "local:x", "https://mangadex.org/title/not-an-id", "../../admin"]
)
def test_sec_05_an_address_without_an_id_asks_nothing(url):
    for verb in (DEX.details, DEX.chapters, DEX.pages):
        with pytest.raises(Invalid):
            run(verb(CONFIG, url), {})


def test_sec_05_only_the_id_of_an_address_is_used():
    _, (ask,) = run_and_record(DEX.details(CONFIG, f"https://evil.example/{CAT}/../x"), always({"data": a_manga()}))
    assert ask.url.startswith(f"https://api.mangadex.org/manga/{CAT}?")


def test_a_release_has_its_number_volume_language_group_and_time():
    found = one_chapter(number=7)
    assert found.url == CHAPTER
    assert found.source_key == a_chapter_id(7)
    assert (found.number, found.volume, found.language) == (Decimal(7), Decimal(1), "en")
    assert (found.group, found.title, found.page_count) == ("Harbour Scans", "Fog", 20)
    assert found.published_at == from_iso("2024-01-02T00:00:00Z")
    assert found.is_readable


@pytest.mark.parametrize(
    ("text", "number"),
    [("45.5", "45.5"), ("045", "45"), (None, None), ("", None), ("10a", "10.1"), ("12-13", "12"), ("Extra", None)],
)
def test_r2_chapter_numbers_are_exact_and_forgiving(text, number):
    assert one_chapter(chapter=text).number == (None if number is None else Decimal(number))


def test_a_oneshot_has_no_number_and_still_a_title():
    found = one_chapter(chapter=None, volume=None, title=None)
    assert (found.number, found.volume, found.title) == (None, None, "Oneshot")
    assert one_chapter(number=3, title="").title == "Chapter 3"


def test_a_chapter_on_another_site_is_listed_but_not_readable_here():
    found = one_chapter(externalUrl="https://plus.example/viewer/1", pages=0)
    assert (found.is_readable, found.real_url, found.page_count) == (False, "https://plus.example/viewer/1", None)
    assert one_chapter(externalUrl="https://plus.example/viewer/1", pages=12).is_readable


def test_a_chapter_that_was_taken_down_is_not_readable():
    assert not one_chapter(isUnavailable=True).is_readable
    assert one_chapter(isUnavailable=None).is_readable


@pytest.mark.parametrize(
    ("groups", "group"),
    [
        ([], "keeper"),
        ([{"id": NO_GROUP, "type": "scanlation_group", "attributes": {"name": "no group"}}], "keeper"),
        (
            [
                {"id": NIGHT, "type": "scanlation_group", "attributes": {"name": "Night Owls"}},
                {"id": HARBOUR, "type": "scanlation_group", "attributes": {"name": "Harbour Scans"}},
            ],
            "Harbour Scans & Night Owls",
        ),
        ([{"id": HARBOUR, "type": "scanlation_group", "attributes": []}], HARBOUR),
        ([{"id": HARBOUR, "type": "scanlation_group"}], HARBOUR),
    ],
)
def test_groups_are_credited_and_the_uploader_where_there_is_none(groups, group):
    assert one_chapter(groups=groups).group == group


def test_the_feed_is_asked_with_what_the_config_wants():
    config = MangaDexConfig(
        language="pt-br", excludedgroups=(HARBOUR,), excludeduploaders=(NIGHT,), contentrating=("safe",)
    )
    _, (ask,) = run_and_record(DEX.chapters(config, SERIES), always(a_list([])))
    assert urlsplit(ask.url).path == f"/manga/{CAT}/feed"
    assert query_of(ask) == {
        "limit": ["500"],
        "offset": ["0"],
        "translatedLanguage[]": ["pt-br"],
        "order[createdAt]": ["asc"],
        "includes[]": ["scanlation_group", "user"],
        "includeFuturePublishAt": ["0"],
        "contentRating[]": ["safe"],
        "excludedGroups[]": [HARBOUR],
        "excludedUploaders[]": [NIGHT],
    }


def test_a_feed_of_many_pages_is_read_to_its_end_newest_first():
    found, asks = run_and_record(DEX.chapters(CONFIG, SERIES), Feed(1201))
    assert [query_of(ask)["offset"] for ask in asks] == [["0"], ["500"], ["1000"]]
    assert [chapter.number for chapter in found] == [Decimal(number) for number in range(1200, -1, -1)]


def test_a_feed_beyond_the_offset_cap_goes_on_from_the_last_one_seen():
    found, asks = run_and_record(DEX.chapters(CONFIG, SERIES), Feed(21_000))
    assert len(found) == 21_000
    assert len({chapter.source_key for chapter in found}) == 21_000
    assert {"createdAtSince" in query_of(ask) for ask in asks} == {False, True}


def test_r28_a_feed_that_ends_too_early_is_no_list():
    with pytest.raises(ShapeChanged, match="promised 1200"):
        run(DEX.chapters(CONFIG, SERIES), Feed(1200, ends_at=500))


def test_a_feed_that_never_ends_is_left():
    with pytest.raises(ShapeChanged, match="one second"):
        run(DEX.chapters(CONFIG, SERIES), always(a_list([a_chapter()], total=10**9)))


def test_a_feed_that_brings_something_new_for_ever_is_left_too():
    count = iter(range(10**6))

    def answer(ask):
        number = next(count)
        created = f"2024-01-01T{number // 3600:02d}:{number // 60 % 60:02d}:{number % 60:02d}+00:00"
        return a_reply(a_list([a_chapter(number, createdAt=created)], total=10**9), url=ask.url)

    with pytest.raises(ShapeChanged, match="does not end after 200 pages"):
        run(DEX.chapters(CONFIG, SERIES), answer)


def test_unnumbered_chapters_stand_where_they_were_published():
    chapters = [
        a_chapter(1, readableAt="2024-01-01T00:00:00+00:00"),
        a_chapter(50, chapter=None, title="Extra", readableAt="2024-01-02T00:00:00+00:00"),
        a_chapter(2, readableAt="2024-01-03T00:00:00+00:00"),
    ]
    found = run(DEX.chapters(CONFIG, SERIES), always(a_list(chapters)))
    assert [chapter.number for chapter in found] == [Decimal(2), None, Decimal(1)]


def test_r66_pages_are_on_the_node_of_the_moment_and_their_addresses_expire():
    pages, (ask,) = run_and_record(DEX.pages(CONFIG, CHAPTER), always(at_home()))
    assert ask.url == f"https://api.mangadex.org/at-home/server/{a_chapter_id(7)}?forcePort443=true"
    assert (ask.pace.name, round(ask.pace.per_second * 60)) == ("at-home", 40)
    assert [page.image_url for page in pages] == [
        "https://node.mangadex.network/data/abc123/1-x.png",
        "https://node.mangadex.network/data/abc123/2-y.png",
    ]
    assert [page.index for page in pages] == [0, 1]
    assert DEX.info.image_urls_expire


def test_the_smaller_images_are_taken_when_the_config_says_so():
    pages = run(DEX.pages(MangaDexConfig(datasaver=True), CHAPTER), always(at_home()))
    assert pages[0].image_url == "https://node.mangadex.network/data-saver/abc123/1-x.jpg"


def test_names_of_pages_cannot_leave_their_folder():
    answer = at_home()
    answer["chapter"]["data"] = ["../../../etc/passwd", "a?b#c"]
    pages = run(DEX.pages(CONFIG, CHAPTER), always(answer))
    assert [str(page.image_url).removeprefix("https://node.mangadex.network/data/abc123/") for page in pages] == [
        "..%2F..%2F..%2Fetc%2Fpasswd",
        "a%3Fb%23c",
    ]


def test_a_chapter_without_pages_or_that_is_gone_is_an_error_of_the_source():
    empty = at_home()
    empty["chapter"]["data"] = []
    with pytest.raises(ShapeChanged):
        run(DEX.pages(CONFIG, CHAPTER), always(empty))
    with pytest.raises(HttpStatus, match="pages"):
        run(DEX.pages(CONFIG, CHAPTER), always(an_error(404, "Not Found", "Chapter not found"), status=404))


def test_image_hosts_get_no_credentials():
    config = MangaDexConfig(headers={"Authorization": "Bearer abc"})
    assert dict(DEX.image(config, "https://node.mangadex.network/data/a/1.png").headers) == {}


def test_nodes_of_volunteers_are_reported_and_the_sites_own_servers_are_not():
    outcome = ImageOutcome(
        "https://node.mangadex.network/data/a/1.png", is_success=True, size=9, took_ms=12, is_cached=True
    )
    report = DEX.image_report(outcome)
    assert report is not None
    assert (report.url, report.method) == ("https://api.mangadex.network/report", "POST")
    assert msgspec.json.decode(report.body or b"") == {
        "url": outcome.url,
        "success": True,
        "bytes": 9,
        "duration": 12,
        "cached": True,
    }
    for url in ("https://uploads.mangadex.org/data/a/1.png", "https://mangadex.org/x"):
        assert DEX.image_report(ImageOutcome(url, is_success=True, size=9, took_ms=12)) is None
    lookalike = ImageOutcome("https://evilmangadex.org/x", is_success=False, size=0, took_ms=1)
    assert isinstance(DEX.image_report(lookalike), Ask)


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"[]", b'{"data": 3}', b"[" * 100_000, b'{"data": [{"id": 1}], "total": 1}']
)
def test_an_answer_of_another_shape_is_named(body):
    for visit in (
        DEX.popular(CONFIG, 1),
        DEX.details(CONFIG, SERIES),
        DEX.chapters(CONFIG, SERIES),
        DEX.pages(CONFIG, CHAPTER),
    ):
        with pytest.raises(ShapeChanged, match="MangaDex sent something else"):
            run(visit, always(body))
    with pytest.raises(HttpStatus):
        run(DEX.details(CONFIG, SERIES), always(body, status=404))
