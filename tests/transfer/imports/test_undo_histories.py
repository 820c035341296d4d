"""Whatever becomes of imports, cut off, at once or undone in any order: once all are undone nothing of them is left."""

import asyncio
import os
from itertools import count, permutations, zip_longest
from random import Random
from typing import Any

import msgspec
import pytest

from tests.builders import NOON
from tests.scale import SEED, scaled
from tests.shelves.builders import shelf_deps
from tests.transfer.archive import builders as archives
from tests.transfer.archive.builders import a_feed, an_archive, an_item, vet
from tests.transfer.archive.test_interrupted import Failing
from tests.transfer.imports.builders import an_importer
from tests.transfer.imports.test_undo import a_month, said, sizes
from tests.transfer.mihon.builders import UNKNOWN, a_backup, a_chapter, a_manga
from tsuzuki.db.queries import parse_queries
from tsuzuki.files.folder import FolderStore
from tsuzuki.files.stores import IMPORTS
from tsuzuki.model.errors import Unavailable
from tsuzuki.model.times import Millis
from tsuzuki.shelves.follows import Follows
from tsuzuki.shelves.subscriptions import Subscriptions
from tsuzuki.transfer.archive.format import (
    ArchivedPreferences,
    ArchivedSeries,
    BookmarkLine,
    EntryLine,
    FollowLine,
    FormerFollowLine,
    GroupLine,
    ProgressLine,
)
from tsuzuki.transfer.imports.runner import ImportRunner
from tsuzuki.transfer.mihon.wire import bytes_field, number_field, text_field

pytestmark = pytest.mark.both_engines

q = parse_queries(
    "tests",
    """
-- name: notes
select (select count(*) from import_made) + (select count(*) from import_progress) + (select count(*) from import_entry)
  + (select count(*) from import_former) + (select count(*) from import_chapter) + (select count(*) from import_backup)
  + (select count(*) from import_rest) as n;
-- name: drop_tasks
delete from task;
-- name: any_follow
select public_id from follow;
""",
)

WRITTEN = 4
"""Transactions until all of a month is written, and the import has not ended."""


async def a_ticking_importer(db, tmp_path):
    return await an_importer(db, tmp_path, clock=map(Millis, count(NOON)).__next__)


async def do(importer, row, what="import"):
    """Begin it, or go on with it."""
    verb = importer.imports.start if what == "import" else importer.imports.undo
    await importer.imports.runner.do(what, await verb(importer.reader.shelf_id, row.public_id))


async def cut_off(importer, row, folder, *, at, what="import"):
    """The same by a worker that dies after so many transactions; whether it did."""
    verb = importer.imports.start if what == "import" else importer.imports.undo
    failing: Any = Failing(importer.db, at, is_late=False)
    deps = shelf_deps(failing, importer.clock, vet=vet)
    files = FolderStore(folder / "imports", IMPORTS)
    runner = ImportRunner(Subscriptions(deps), Follows(deps), importer.sources, files=files)
    try:
        await runner.do(what, await verb(importer.reader.shelf_id, row.public_id))
    except Unavailable:
        return True
    return False


async def shown_months(importer, number):
    return [await importer.show("a.tachibk", a_month(n)) for n in range(number)]


async def undo_all(importer, rows, *, states):
    """Undo these, with what is said as long as each is the last one that is left."""
    left = list(states)
    for n in rows:
        await do(importer, states[n][0], "undo")
        left.remove(n)
        assert await said(importer) == (states[left[-1]][1] if left else [])


@pytest.mark.parametrize("order", [(0,), *permutations(range(2))], ids=str)
async def test_a_cut_off_import_gets_back_what_was_its_own(db, tmp_path, order):
    """What was written over it is undone while it is cut off."""
    importer = await a_ticking_importer(db, tmp_path)
    nothing = await sizes(importer)
    first, second, third = await shown_months(importer, 3)
    assert await cut_off(importer, first, tmp_path, at=WRITTEN)
    before = await said(importer)
    await do(importer, second)
    await do(importer, second, "undo")
    assert await said(importer) == before != []
    await do(importer, first)
    states = {0: (first, before)}
    if 1 in order:
        await do(importer, third)
        states[1] = (third, await said(importer))
    await undo_all(importer, order, states=states)
    assert await sizes(importer) == nothing


@pytest.mark.parametrize("order", [*permutations(range(3))], ids=str)
async def test_imports_at_once_are_undone_in_any_order(db, tmp_path, order):
    """The first writes over what the second has written, before that one has ended."""
    importer = await a_ticking_importer(db, tmp_path)
    nothing, states = await sizes(importer), dict[int, Any]()
    first, second, third = await shown_months(importer, 3)
    assert await cut_off(importer, first, tmp_path, at=1)
    for row in (second, first, third):
        if row is second:
            assert await cut_off(importer, row, tmp_path, at=WRITTEN)
        else:
            await do(importer, row)
        states[len(states)] = (row, await said(importer))
        if row is first:
            await do(importer, second)
            assert await said(importer) == states[1][1]
    await undo_all(importer, order, states=states)
    assert await sizes(importer) == nothing


async def test_what_a_running_import_has_found_stays_with_it(db, tmp_path):
    """The import that brought it is undone before the other one has written anything."""
    importer = await a_ticking_importer(db, tmp_path)
    before, size = await importer.shelf(), await sizes(importer)
    first, second = [await importer.show("a.zip", archive(tmp_path, 0)) for _ in range(2)]
    await do(importer, first)
    brought = await importer.shelf()
    assert await cut_off(importer, second, tmp_path, at=1)
    await do(importer, first, "undo")
    left = await importer.shelf()
    for kind in ("feeds.jsonl", "series.jsonl"):
        assert len(left[kind]) == len(brought[kind]) > 0
    await do(importer, second)
    await do(importer, second, "undo")
    assert (await importer.shelf(), await sizes(importer)) == (before, size)


async def test_an_undo_is_repeated_wherever_it_was_cut_off(db, tmp_path):
    importer = await a_ticking_importer(db, tmp_path)
    shown = await importer.show("a.tachibk", LIBRARY)
    await do(importer, shown)
    await Follows(shelf_deps(db)).leave(importer.reader.shelf_id, await db.read(lambda tx: tx.one(bytes, q.any_follow)))
    before, size, at = await importer.shelf(), await sizes(importer), 0
    is_cut = True
    while is_cut:
        done = await importer.show("mine.zip", archive(tmp_path, 1))
        await do(importer, done)
        assert await importer.shelf() != before
        is_cut = await cut_off(importer, done, tmp_path, at=at, what="undo")
        await db.with_tx(lambda tx: tx.run(q.drop_tasks))
        assert (await importer.undo(done)).status == "undone"
        assert (at, await importer.shelf(), await sizes(importer)) == (at, before, size)
        at += 1
    assert at > 3


async def test_two_imports_at_once_leave_nothing(db, tmp_path):
    importer = await a_ticking_importer(db, tmp_path)
    before, size = await importer.shelf(), await sizes(importer)
    for turned in (False, True):
        both = [await importer.show("a.zip", archive(tmp_path, n)) for n in range(2)]
        both += [await importer.show("a.tachibk", LIBRARY), await importer.show("a.tachibk", a_month(2))]
        await asyncio.gather(*(do(importer, each) for each in both))
        for each in both:
            assert (await importer.row(each)).error is None
            assert not any(part.left_out for part in (await importer.row(each)).report.parts.values())
        for each in reversed(both) if turned else both:
            await do(importer, each, "undo")
        assert (await importer.shelf(), await sizes(importer)) == (before, size)


PAGED: dict[str, Any] = {"page": 0, "paged_at": NOON, "updated_at": NOON}
READINGS = (
    ProgressLine(furthest_page=1, **PAGED),
    ProgressLine(furthest_page=1, is_read=True, marked_at=NOON, **PAGED),
    ProgressLine(furthest_page=15, is_read=True, marked_at=NOON, **PAGED),
)


@pytest.mark.parametrize("order", [*permutations(range(3))], ids=str)
async def test_a_mark_between_pages_goes_with_its_import(db, tmp_path, order):
    """One import brought the page, one the mark, one a further page; the last two were written over the first."""
    importer = await a_ticking_importer(db, tmp_path)
    before, size, rows = await importer.shelf(), await sizes(importer), list[Any]()
    for reading in READINGS:
        series = a_lost_series()
        chapter = archives.a_chapter("1", series.key, releases=(), progress=reading)
        rows.append(await importer.import_file("a.zip", written(tmp_path, series=[series], chapters=[chapter])))
    for n in order:
        await importer.undo(rows[n])
    assert (await importer.shelf(), await sizes(importer)) == (before, size)


async def test_a_group_goes_with_the_last_who_used_it(db, tmp_path):
    importer = await a_ticking_importer(db, tmp_path)
    size = await sizes(importer)
    backups = [
        a_backup(a_manga(UNKNOWN, f"/{n}", f"Series {n}", categories=[0]), categories=[("Action", 0)]) for n in range(2)
    ]
    rows = [await importer.import_file("a.tachibk", each) for each in backups]
    await importer.undo(rows[0])
    assert [group["name"] for group in (await importer.shelf())["groups.jsonl"]] == ["Default", "Action"]
    await importer.undo(rows[1])
    assert await sizes(importer) == size


async def test_what_a_later_archive_wrote_outlives_the_feed_that_brought_it(db, tmp_path):
    importer = await a_ticking_importer(db, tmp_path)
    before, size = await importer.shelf(), await sizes(importer)
    first = await importer.import_file("a.zip", written(tmp_path, feeds=[FEED], items=[an_item("1", FEED)]))
    saved = an_item("2", FEED, entry={"saved": True})
    second = await importer.import_file("b.zip", written(tmp_path, feeds=[FEED], items=[saved]))
    await importer.undo(first)
    assert [item["key"] for item in (await importer.shelf())["items.jsonl"]] == ["2"]
    await importer.undo(second)
    assert (await importer.shelf(), await sizes(importer)) == (before, size)


async def test_a_series_that_an_archive_had_left_is_forgotten(db, tmp_path):
    """Also where a later import has followed it since."""
    importer = await a_ticking_importer(db, tmp_path)
    size = await sizes(importer)
    left = FormerFollowLine(status="reading", preferences=ArchivedPreferences(), created_at=NOON, left_at=NOON)
    for turned in (False, True):
        rows = [
            await importer.import_file("a.zip", written(tmp_path, series=[a_lost_series(follow=None, former=left)])),
            await importer.import_file("b.zip", written(tmp_path, series=[a_lost_series()])),
        ]
        assert ((await sizes(importer)).former, (await sizes(importer)).follows) == (0, 1)
        for each in reversed(rows) if turned else rows:
            await importer.undo(each)
        assert await sizes(importer) == size


# -- any history

FEED = a_feed("https://example.org/a", group="News")
LIBRARY = a_backup(
    *(
        a_manga(
            UNKNOWN,
            f"/{n}",
            f"Lost {n}",
            chapters=[a_chapter(f"/{n}/1", number=1, read=1), a_chapter(f"/{n}/2", number=2, page=3)],
            categories=[0],
            extra=text_field(110, "Mine"),
        )
        for n in range(2)
    ),
    categories=[("News", 0)],
    extra=bytes_field(600, number_field(4, 99)),
)


def a_lost_series(name="Lost 0", **over):
    follow = FollowLine(group="News", status="reading", preferences=ArchivedPreferences(), created_at=NOON)
    return ArchivedSeries(**{"key": f"gone/{name}", "title": name, "follow": follow} | over)


def written(folder, **parts):
    return an_archive(folder, {f"{name}.jsonl": part for name, part in parts.items()}).read_bytes()


def archive(folder, seed):
    """Some feeds, series and bookmarks, of the few that all of these are about."""
    draw = Random(seed)

    def some(number):
        return sorted(draw.sample(range(number), draw.randint(1, number)))

    def at():
        return Millis(NOON - draw.randrange(1_000))

    def entry():
        return EntryLine(unread=draw.random() < 0.5, saved=draw.random() < 0.3, sort_at=NOON, created_at=NOON)

    def progress():
        is_read, page, paged_at = draw.random() < 0.5, draw.randrange(20), at()
        return ProgressLine(
            page=page,
            furthest_page=page + draw.randrange(3),
            is_read=is_read,
            is_bookmarked=draw.random() < 0.3,
            paged_at=paged_at,
            marked_at=at() if is_read else None,
            opened_at=draw.choice([None, paged_at]),
            updated_at=paged_at,
        )

    feeds = [a_feed(f"https://example.org/{n}", group=draw.choice([None, "News", "More"])) for n in some(2)]
    series = [a_lost_series(f"Lost {n}") for n in some(3)]
    marks = [BookmarkLine(title=f"{n}", link=f"https://example.org/{n}", created_at=NOON) for n in some(3)]
    marks += [
        BookmarkLine(title="Item", link=f"https://example.org/i/{n}", created_at=NOON, feed=feed.feed_key, item=f"{n}")
        for n, feed in enumerate(feeds)
    ]
    chapters = [
        archives.a_chapter(f"{n}", each.key, releases=(), progress=progress(), entry=draw.choice([None, entry()]))
        for each in series
        for n in some(4)
    ]
    return written(
        folder,
        groups=[GroupLine(name=name) for name in ("News", "More")],
        feeds=feeds,
        items=[msgspec.structs.replace(an_item(f"{n}", feed), entry=entry()) for feed in feeds for n in some(4)],
        series=series,
        chapters=chapters,
        bookmarks=marks,
    )


def backup(seed):
    """The same of Mihon's."""
    draw = Random(seed)
    series = [
        a_manga(
            UNKNOWN,
            f"/{n}",
            f"Lost {n}",
            chapters=[
                a_chapter(f"/{n}/{c}", number=c, read=draw.randrange(2), page=draw.randrange(9), bookmark=n % 2)
                for c in range(draw.randint(1, 5))
            ],
            categories=[0],
            history=[(f"/{n}/1", NOON - draw.randrange(1_000))],
            extra=text_field(110, f"Note {draw.randrange(3)}"),
        )
        for n in draw.sample(range(3), draw.randint(1, 3))
    ]
    category = draw.choice(["News", "More", "Other"])
    return a_backup(*series, categories=[(category, 0)], extra=bytes_field(600, number_field(4, draw.randrange(3))))


def facts(shelf):
    """What an import adds and no other takes away."""
    chapters = [((each["series"], each["key"]), each) for each in shelf["chapters.jsonl"]]
    items = [((each["feed"]["link"], each["key"]), each) for each in shelf["items.jsonl"]]
    return {
        *(
            (of, said)
            for of, each in chapters
            for said in each.get("progress", {}).keys() & {"is_read", "is_bookmarked"}
        ),
        *((of, said) for of, each in chapters + items for said in each.keys() & {"entry"}),
        *((of, said) for of, each in chapters + items for said in each.get("entry", {}).keys() & {"saved"}),
        *(each["link"] for part in ("bookmarks.jsonl", "feeds.jsonl") for each in shelf[part]),
        *(each["key"] for each in shelf["series.jsonl"] if "follow" in each),
    }


class History:
    """Imports of a shelf, and who has brought what."""

    def __init__(self, importer, folder, draw):
        self.importer, self.folder, self.draw = importer, folder, draw
        self.log, self.brought = [], {}

    async def step(self, row, others):
        """Whatever may be done next with this import."""
        draw, before = self.draw, facts(await self.importer.shelf())
        is_over = row.status in {"done", "undoing"}
        other = draw.choice(others) if others and not is_over and draw.random() < 0.2 else None
        what = "undo" if is_over else "import"
        self.log.append((what, row.id, row.status, other and other.id))
        if other is not None and other.status not in {"done", "undoing", "undone"}:
            await asyncio.gather(do(self.importer, row), do(self.importer, other))
        elif draw.random() < 0.4:
            await cut_off(self.importer, row, self.folder, at=draw.randrange(14), what=what)
        else:
            await do(self.importer, row, what)
        after = facts(await self.importer.shelf())
        if what == "undo":
            self.brought.pop(row.id, None)
            lost = {each: its - after for each, its in self.brought.items() if its - after}
            assert not lost, self.log
        elif other is None:
            self.brought[row.id] = self.brought.get(row.id, set()) | (after - before)


@pytest.mark.parametrize("is_used", [False, True], ids=["a new shelf", "a used shelf"])
@pytest.mark.parametrize("turn", range(scaled(1, 20)))
@pytest.mark.soak
async def test_any_history_leaves_nothing_and_takes_nothing(db, tmp_path, turn, is_used):
    draw = Random(f"{scaled(0, int(os.environ[SEED]))} {turn} {is_used}")
    importer = await a_ticking_importer(db, tmp_path)
    if is_used:
        path = tmp_path / "own.zip"
        path.write_bytes(archive(tmp_path, draw.random()))
        await importer.reader.import_archive(path)
    before, size = await importer.shelf(), await sizes(importer)
    files = [backup(draw.random()) if draw.random() < 0.6 else archive(tmp_path, draw.random()) for _ in range(4)]
    rows = [await importer.show("a", each) for each in files]
    history = History(importer, tmp_path, draw)
    for _ in range(200):
        left = [row for each in rows if (row := await importer.row(each)).status != "undone"]
        if not left:
            break
        row = draw.choice(left)
        await history.step(row, [each for each in left if each.id != row.id])
    after = await importer.shelf()
    changed = [(a, b) for part, lines in before.items() for a, b in zip_longest(lines, after[part]) if a != b]
    assert (changed, await sizes(importer)) == ([], size), history.log
    assert await db.read(lambda tx: tx.one(int, q.notes)) == 0
