"""What the site has: the most followed, the latest, and what a search finds."""

from urllib.parse import urlsplit

import pytest

from tests.connectors.builders import a_reply, run, run_and_record
from tests.connectors.mangadex.calls import CONFIG, DEX, SERIES, always, query_of
from tests.connectors.mangadex.entities import (
    CAT,
    TEA,
    a_chapter,
    a_list,
    a_manga,
)
from tsuzuki.connectors.filters import FilterValue, SortState
from tsuzuki.model.errors import Invalid
from tsuzuki.model.requests import Ask


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
def test_a_list_ends_at_total_or_offset_cap(page, total, has_next):
    assert run(DEX.popular(CONFIG, page), always(a_list([a_manga()], total=total))).has_next is has_next


def test_beyond_the_offset_cap_nothing_is_asked():
    for verb in (DEX.popular, DEX.latest):
        page, asks = run_and_record(verb(CONFIG, 400), always(a_list([a_manga()], total=50_000)))
        assert (page.series, page.has_next, asks) == ((), False, [])


def test_latest_lists_each_series_once_by_newest_chapter():
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


def test_a_pasted_address_finds_its_series_regardless_of_filters():
    _, (ask,) = run_and_record(DEX.search(CONFIG, 1, text=f"{SERIES}/the-lighthouse-cat"), always(a_list([a_manga()])))
    assert query_of(ask)["ids[]"] == [CAT]
    assert "availableTranslatedLanguage[]" not in query_of(ask)
    assert "pornographic" in query_of(ask)["contentRating[]"]


@pytest.mark.parametrize(
    ("base_url", "api"),
    [
        ("https://mangadex.org", "https://api.mangadex.org"),
        ("https://www.mangadex.org/", "https://api.mangadex.org"),
        ("", "https://api.mangadex.org"),
        ("https://api.mangadex.dev/", "https://api.mangadex.dev"),
        ("https://evilmangadex.org", "https://evilmangadex.org"),
    ],
)
def test_another_address_than_its_own_is_where_its_api_is(base_url, api):
    source = DEX.for_source(CONFIG, base_url)
    assert source.info.api_url == api
    ask = next(source.popular(CONFIG, 1))
    assert isinstance(ask, Ask)
    assert ask.url.startswith(f"{api}/manga?")
