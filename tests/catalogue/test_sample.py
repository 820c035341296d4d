"""The sample site as a whole: crawled, crawled again at other addresses, and met again on another site."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.api.people import RunningApp, Visitor
from tests.catalogue.builders import a_browsing_app, a_shelf, a_site, counted, got, read_chapter
from tests.catalogue.sample import Plan, Sample, a_sample
from tests.crawler.builders import made, the_admin, until_over
from tests.scale import scaled
from tsuzuki.model.times import DAY

pytestmark = pytest.mark.soak

SERIES, CHAPTERS = scaled(10, 300), scaled(450, 20_000)


async def crawl(reader: Visitor, site: int) -> dict[str, list[dict[str, Any]]]:
    """Every series of a source with its chapters."""
    found, page, has_next = {}, 0, True
    while has_next:
        page += 1
        listed = await got(reader, f"/sources/{site}/popular?page={page}")
        has_next = listed["meta"]["has_next"]
        for manga in listed["data"]:
            await got(reader, f"/manga/{manga['id']}")
            found[manga["title"]] = (await got(reader, f"/manga/{manga['id']}/chapters"))["data"]
    return found


async def discover(app: RunningApp, *sites: int) -> None:
    """The operator's crawler walks the same catalogues."""
    admin = await the_admin(app)
    jobs = [await made(admin, "/admin/crawler/jobs", {"sourceid": site}) for site in sites]
    app.worker_loops.start()
    try:
        over = [await until_over(admin, job["id"], seconds=60) for job in jobs]
    finally:
        await app.worker_loops.stop()
    assert [job["status"] for job in over] == ["done"] * len(sites)


def identities(sample: Sample) -> Iterator[tuple[int, str]]:
    """The logical chapters of a site: numbers, and its own ids for what has none (R3, R4)."""
    for index in range(sample.plan.series):
        for chapter in sample.chapters(index):
            yield index, chapter.id if chapter.number is None else f"{chapter.number.normalize():f}"


async def test_nothing_is_stored_twice_and_nobody_loses_their_place(tmp_path, database_url):
    """R2-R5, R7, I1, I9: other addresses, another site and another way to count change no chapter and no progress."""
    plan = Plan(series=SERIES, chapters=CHAPTERS)
    async with (
        a_sample(plan) as sample,
        a_sample(Plan(series=SERIES, chapters=CHAPTERS, is_other=True), "other") as other,
        a_browsing_app(tmp_path, database_url, sample, other) as app,
    ):
        reader, shelf = await a_shelf(app)
        site, other_site = await a_site(app, sample), await a_site(app, other)

        first = await crawl(reader, site)
        chapters = set(identities(sample))
        rows = await counted(app)
        assert (rows["series"], rows["sources"], rows["releases"]) == (SERIES, SERIES, CHAPTERS)
        assert rows["chapters"] == len(chapters) < CHAPTERS
        for releases in first.values():
            await read_chapter(app, shelf, releases[0]["chapter_id"])

        sample.era = 2
        app.time.pass_(DAY)
        second = await crawl(reader, site)
        assert await counted(app) == rows
        for title, releases in second.items():
            assert [one["id"] for one in releases] == [one["id"] for one in first[title]]
            assert all("/era2/" in one["url"] for one in releases)
            assert releases[0]["is_read"] is True

        third = await crawl(reader, other_site)
        both = await counted(app)
        assert (both["series"], both["sources"], both["releases"]) == (SERIES, 2 * SERIES, 2 * CHAPTERS)
        assert both["chapters"] == len(chapters | set(identities(other)))
        for title, releases in third.items():
            read = second[title][0]
            same = [one for one in releases if one["number"] == read["number"] is not None]
            assert all(one["chapter_id"] == read["chapter_id"] and one["is_read"] for one in same)
            assert same or read["number"] is None

        await discover(app, site, other_site)
        assert await counted(app) == both
        assert (await got(reader, "/inbox"))["data"] == []
