"""The chapters of a series, however many there are and whatever they lack."""

from decimal import Decimal
from urllib.parse import urlsplit

import pytest

from tests.connectors.builders import a_reply, run, run_and_record
from tests.connectors.mangadex.calls import CHAPTER, CONFIG, DEX, SERIES, always, query_of
from tests.connectors.mangadex.entities import (
    CAT,
    HARBOUR,
    NIGHT,
    a_chapter,
    a_chapter_id,
    a_list,
)
from tsuzuki.connectors.mangadex.api import NO_GROUP
from tsuzuki.connectors.mangadex.connector import MangaDexConfig
from tsuzuki.model.errors import ShapeChanged
from tsuzuki.model.times import from_iso


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


def test_an_external_chapter_is_listed_as_unreadable():
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


def test_a_paged_feed_is_read_newest_first():
    found, asks = run_and_record(DEX.chapters(CONFIG, SERIES), Feed(1201))
    assert [query_of(ask)["offset"] for ask in asks] == [["0"], ["500"], ["1000"]]
    assert [chapter.number for chapter in found] == [Decimal(number) for number in range(1200, -1, -1)]


def test_beyond_the_offset_cap_a_feed_continues_by_date():
    found, asks = run_and_record(DEX.chapters(CONFIG, SERIES), Feed(21_000))
    assert len(found) == 21_000
    assert len({chapter.source_key for chapter in found}) == 21_000
    assert {"createdAtSince" in query_of(ask) for ask in asks} == {False, True}


def test_r28_a_feed_that_ends_too_early_is_no_list():
    with pytest.raises(ShapeChanged, match="announced 1200"):
        run(DEX.chapters(CONFIG, SERIES), Feed(1200, ends_at=500))


def test_a_feed_that_never_ends_is_left():
    with pytest.raises(ShapeChanged, match="with the same time"):
        run(DEX.chapters(CONFIG, SERIES), always(a_list([a_chapter()], total=10**9)))


def test_an_endless_feed_is_stopped():
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
