"""Lists of a whole library, by state, sort and page: what is quick gives what looking at every chapter gives."""

import random
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import apsw
import msgspec
import pytest

from tests.builders import NOON, a_new_chapter, a_new_release, stored_series, stored_series_source, stored_source
from tests.delivery.builders import a_reader, follow
from tsuzuki.accounts.types import Slice
from tsuzuki.db import Database, Tx
from tsuzuki.db.queries import load_queries, parse_queries
from tsuzuki.ingest.chapters import NewChapter, upsert_chapters_tx, upsert_releases_tx
from tsuzuki.model.ids import ChapterId, SeriesId, ShelfId
from tsuzuki.model.times import Millis
from tsuzuki.shelves.library import STATES, ChapterFilter, ChapterSort, Library, LibraryChapter, ReadState

q = parse_queries(
    "tests",
    """
-- name: put_progress
insert into progress (shelf_id, chapter_id, page, is_read, paged_at, marked_at, opened_at, updated_at)
values (:shelf_id, :chapter_id, :page, :is_read, :paged_at, :marked_at, :opened_at, :updated_at)
on conflict (shelf_id, chapter_id) do update set is_read = excluded.is_read, marked_at = excluded.marked_at,
  paged_at = excluded.paged_at, opened_at = excluded.opened_at, updated_at = excluded.updated_at;
-- name: opened
select chapter_id, opened_at from progress where shelf_id = :shelf_id;
""",
)

Key = Callable[[LibraryChapter], Any]
LOWEST = -(10**15)


class OpenedRow(msgspec.Struct, frozen=True):
    chapter_id: ChapterId
    opened_at: int | None


async def a_library(db: Database, rng: random.Random) -> tuple[ShelfId, list[SeriesId]]:
    """Two dozen followed series that are read in all ways, among those of others."""
    shelf, other = await a_reader(db), await a_reader(db)
    source, followed = await stored_source(db), []
    for number in range(26):
        series = await stored_series(db, f"{rng.choice(['The ', 'A ', ''])}{rng.choice('XYZ')} {number % 7}")
        chapters = a_list_of_chapters(rng, rng.randrange(8))
        manga = await stored_series_source(db, series, source)
        ready = [a_new_release(each.key, key=f"{manga}:{each.key}") for each in chapters if rng.random() < 0.8]

        async def fill(
            tx: Tx, series: Any = series, manga: Any = manga, some: Any = chapters, ready: Any = ready
        ) -> Any:
            stored = await upsert_chapters_tx(tx, series, some, Millis(NOON + rng.randrange(5)))
            await upsert_releases_tx(tx, series, manga, ready, now=NOON)
            return [each.id for each in stored]

        ids = await db.with_tx(fill)
        habit = rng.choice(["all", "none", "some", "begins"])
        for reader in (shelf, other):
            await db.with_tx(partial(read_some_tx, shelf=reader, chapters=ids, habit=habit, rng=rng))
        if number % 9:
            followed.append(series)
        await follow(db, shelf if number % 9 else other, series)
    return shelf, followed


def a_list_of_chapters(rng: random.Random, count: int) -> list[NewChapter]:
    numbers: list[int | str] = rng.sample([0, 1, 2, 3, "3.5", 4, 5, 6], count)
    chapters = [a_new_chapter(each, published_at=rng.choice([None, NOON - rng.randrange(9)])) for each in numbers]
    loose = [NewChapter(key=f"id:{each}", title=f"Extra {each}") for each in range(rng.choice([0, 0, 2]))]
    return chapters + loose


async def read_some_tx(
    tx: Tx, *, shelf: ShelfId, chapters: Sequence[ChapterId], habit: str, rng: random.Random
) -> None:
    for chapter in chapters:
        state = {"all": "read", "none": "", "some": rng.choice(["read", ""])}.get(habit) or rng.choice(
            ["", "", "begun", "undone"] if habit != "none" else [""]
        )
        if habit == "all" or state:
            at = NOON + rng.randrange(1000)
            is_opened = state == "begun" or rng.random() < 0.4
            values = {
                "page": 2 if is_opened else 0,
                "is_read": state == "read",
                "paged_at": at if is_opened else None,
                "marked_at": None if state == "begun" else at + 1,
                "opened_at": at if is_opened and rng.random() < 0.8 else None,
                "updated_at": at + 1,
            }
            await tx.run(q.put_progress, shelf_id=shelf, chapter_id=chapter, **values)


async def sort_keys(db: Database, shelf: ShelfId) -> dict[ChapterSort, Key]:
    opened = {
        row.chapter_id: row.opened_at for row in await db.read(lambda tx: tx.many(OpenedRow, q.opened, shelf_id=shelf))
    }
    return {
        "number": lambda book: LOWEST if book.number_sort is None else book.number_sort,
        "title": lambda book: book.title.lower(),
        "added": lambda book: book.first_seen_at,
        "changed": lambda book: book.updated_at,
        "released": lambda book: book.first_seen_at if book.published_at is None else book.published_at,
        "read": lambda book: LOWEST if opened.get(book.id) is None else opened[book.id],
    }


STATES_ASKED: list[Sequence[ReadState]] = [["UNREAD"], ["IN_PROGRESS"], ["READ"], ["UNREAD", "IN_PROGRESS"], STATES]


@pytest.mark.parametrize("seed", range(3))
async def test_a_list_of_books_is_part_of_all_books(db, seed):
    rng = random.Random(seed)
    shelf, followed = await a_library(db, rng)
    library, keys = Library(db), await sort_keys(db, shelf)
    every, total = await library.books(shelf, ChapterFilter(), Slice(1000))
    assert total == len(every) > 50
    assert {book.state for book in every} == set(STATES)
    ready = {book.id for book in (await library.books(shelf, ChapterFilter(is_ready=True), Slice(1000)))[0]}
    for states in STATES_ASKED:
        for first in (None, *keys):
            among = rng.choice([None, followed, rng.sample(followed, 9)])
            allowed = None if among is None and len(states) == len(STATES) else dict.fromkeys(among or followed, states)
            is_ready = rng.choice([None, None, True])
            order = [] if first is None else [(first, rng.random() < 0.5), (rng.choice(list(keys)), rng.random() < 0.5)]
            expected = [book for book in every if allowed is None or book.state in allowed.get(book.series_id, ())]
            expected = [book for book in expected if is_ready is None or book.id in ready]
            for key, downwards in reversed(order):
                expected.sort(key=keys[key], reverse=downwards)  # what is equal stays in its order, also downwards
            wanted = ChapterFilter(allowed=allowed, is_ready=is_ready, order=order)
            for part in (Slice(7), Slice(7, 7), Slice(1000), Slice(5, len(expected) - 2 if len(expected) > 2 else 0)):
                found, count = await library.books(shelf, wanted, part)
                assert found == expected[part.skip : part.skip + part.most], (wanted, part)
                assert count == len(expected), wanted


@pytest.mark.parametrize("name", ["list_begun_books", "count_begun_books"])
def test_what_is_being_read_leads_to_its_chapters(sqlite_template, name):
    assert "SEARCH progress USING INDEX progress_begun" in plan_of(sqlite_template, name)
    assert "SEARCH chapter USING INTEGER PRIMARY KEY" in plan_of(sqlite_template, name)


def plan_of(path: Path, name: str) -> str:
    asked = getattr(load_queries("tsuzuki.shelves.library"), name).sqlite
    with apsw.Connection(str(path)) as connection:
        steps = list(connection.execute(f"explain query plan {asked.sql}", [None] * len(asked.params)))
    return " / ".join(step[3] for step in steps)
