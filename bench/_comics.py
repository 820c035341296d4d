"""What comic apps ask for, by Komga's API and by OPDS: a part of `bench.protocols`.

The first page of a chapter that is in the cache, against our own route of it, in turn; then lists of a library of 2,000
series with 150 chapters each, half of them read. Processor time of the server and client together.
"""

import statistics
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from bench.harness import say
from tests.api.people import RunningApp
from tests.images.builders import a_gallery, a_picture
from tests.protocols.komga import KomgaReader
from tests.protocols.people import an_app_reader
from tests.protocols.test_pictures import follow_gallery
from tsuzuki.db.statistics import refresh_statistics
from tsuzuki.model.ids import read_id
from tsuzuki.shelves.types import ChapterSelection

CHAPTERS = 150
ROUNDS = 200

Ask = Callable[[], Awaitable[object]]
Json = dict[str, Any]

LISTS = {
    "series by title": "/api/v1/series?sort=metadata.titleSort,asc&page=0",
    "series by title, the last page": "/api/v1/series?sort=metadata.titleSort,asc&page=99",
    "series by their last chapter": "/api/v1/series?sort=lastModifiedDate,desc",
    "series found by a word": "/api/v1/series?search=series",
    "series not read to the end": "/api/v1/series?read_status=UNREAD&read_status=IN_PROGRESS",
    "books on deck": "/api/v1/books/ondeck",
    "books of a series": "/api/v1/series/{}/books?unpaged=true",
    "progress of a series": "/api/v2/series/{}/read-progress/tachiyomi",
    "books not read, by number": "/api/v1/books?read_status=UNREAD&sort=metadata.numberSort,asc",
    "books found by a word": "/api/v1/books?search=chapter",
}
SEARCHES: dict[str, tuple[str, Json]] = {
    "series under a condition": ("series", {"readStatus": {"operator": "isNot", "value": "READ"}}),
    "books being read": ("books", {"readStatus": {"operator": "is", "value": "IN_PROGRESS"}}),
}

FEEDS = {
    "OPDS, series by title": "/opds/v1.2/series",
    "OPDS, the last page": "/opds/v1.2/series?page=39",
    "OPDS, series found by a word": "/opds/v1.2/series?search=series",
    "OPDS 2, series by title": "/opds/v2/series",
}


async def seconds_of(cases: Mapping[str, Ask], rounds: int) -> dict[str, float]:
    """The median of processor time of each, all in turn."""
    spent: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(rounds):
        for name, ask in cases.items():
            began = time.process_time()
            await ask()
            spent[name].append(time.process_time() - began)
    return {name: statistics.median(each) for name, each in spent.items()}


async def pages(folder: Path, database_url: str) -> None:
    """The first page through Komga and OPDS, as a ratio to our own."""
    async with a_gallery(folder, database_url, pages=1) as gallery:
        ann = await a_comic_reader(gallery.app)
        await follow_gallery(gallery, ann)
        gallery.show(0, a_picture("JPEG", size=(600, 800), noisy=True))
        path = f"/api/v1/books/{gallery.chapter_id}/pages/1"
        stream = f"/opds/v1.2/releases/{gallery.release_id}/pages/0"

        async def by_komga() -> None:
            assert (await ann.call("GET", path)).status == 200

        async def by_opds() -> None:
            assert (await gallery.app.client.get(stream, headers=ann.basic)).status == 200

        async def by_ours() -> None:
            assert (await gallery.reader.get(gallery.page(0))).status == 200

        spent = await seconds_of({"Komga": by_komga, "OPDS": by_opds, "our own": by_ours}, ROUNDS)
    own = spent["our own"]
    print(f"{'First page of a chapter':34}{'CPU ms':>9}{'ratio':>8}")
    for name, each in spent.items():
        print(f"{name:34}{each * 1e3:>9.2f}{each / own:>8.2f}")


async def lists(folder: Path, database_url: str, count: int) -> None:
    """A library, a page at a time."""
    async with a_gallery(folder, database_url) as gallery:
        ann = await a_comic_reader(gallery.app)
        series = await fill(ann, count)
        await refresh_statistics(gallery.db)
        cases: dict[str, Ask] = {name: partial(ann.get, path.format(series)) for name, path in LISTS.items()}
        for name, (what, condition) in SEARCHES.items():
            body = {"condition": condition}
            cases[name] = partial(ann.call, "POST", f"/api/v1/{what}/list?sort=readProgress.readDate,desc", body)
        for name, path in FEEDS.items():
            cases[name] = partial(gallery.app.client.get, path, headers=ann.basic)
        spent = await seconds_of(cases, 10)
    print(f"\n{f'{count} series, {count * CHAPTERS} chapters':34}{'CPU ms':>9}")
    for name, each in spent.items():
        print(f"{name:34}{each * 1e3:>9.1f}")


async def a_comic_reader(app: RunningApp) -> KomgaReader:
    """Somebody whose app speaks both."""
    ann = await an_app_reader(app, "komga", "opds")
    return KomgaReader(app, ann.user, ann.shelf, ann.issued)


async def fill(ann: KomgaReader, count: int) -> str:
    """So many series, every other one read; the id of the last."""
    say(f"{count} series of {CHAPTERS} chapters")
    series = ""
    for number in range(count):
        series = await ann.add(f"Series {number}", *range(1, CHAPTERS + 1))
        public_id = read_id(series)
        if number % 2 and public_id is not None:
            upto = CHAPTERS if number % 4 == 1 else CHAPTERS // 2
            some = ChapterSelection(up_to=upto * 10**6)
            await ann.app.reading.progress.mark(ann.shelf, public_id, some, is_read=True)
    return series
