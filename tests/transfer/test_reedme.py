"""What people had in ReedMe or Fusion comes along, once, and no kill loses it."""

import asyncio
import os
import random
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import apsw
import msgspec
import pytest

from tests.app import settings_for
from tests.builders import HERE, NOON, a_public_id
from tests.delivery.builders import a_reader
from tests.inbox.builders import items_of
from tests.scale import scaled
from tests.transfer.reedme_files import a_legacy_file, a_newer_file, counts
from tsuzuki.app.bootstrap import open_tsuzuki
from tsuzuki.db import DatabaseOptions, legacy
from tsuzuki.db.errors import SchemaRefused
from tsuzuki.db.legacy import is_legacy, read_items
from tsuzuki.db.queries import parse_queries
from tsuzuki.db.sqlite_file import connect_bare
from tsuzuki.model.ids import FeedId
from tsuzuki.model.pages import FROM_THE_TOP
from tsuzuki.model.times import DAY, from_iso
from tsuzuki.shelves.bookmarks import BookmarkFilter, list_bookmarks_tx
from tsuzuki.shelves.groups import list_groups_tx
from tsuzuki.shelves.subscriptions import list_subscriptions_tx
from tsuzuki.sources.watches import fetch_whole_tx
from tsuzuki.transfer.reedme.adoption import adopt
from tsuzuki.transfer.reedme.service import Reedme, ReedmeReport

q = parse_queries(
    "tests",
    """
-- name: fetched
select etag, last_modified, next_check_at from watch where feed_id is not null;
""",
)


class FetchRow(msgspec.Struct, frozen=True):
    etag: str | None
    last_modified: str | None
    next_check_at: int


async def test_groups_feeds_items_and_what_was_read_come_along_once(db, tmp_path):
    file = a_legacy_file(tmp_path / "fusion.db")
    shelf = await a_reader(db)
    reedme = Reedme(db, lambda: NOON, a_public_id, parsers=HERE)
    for _ in range(2):
        brought = await reedme.run(file, shelf)
        assert brought == ReedmeReport(feeds=2, items=10, bookmarks=2, refused=("nonsense",))
    feeds = await db.read(lambda tx: list_subscriptions_tx(tx, shelf))
    groups = {group.id: group.name for group in await db.read(lambda tx: list_groups_tx(tx, shelf))}
    assert [(feed.name, groups[feed.group_id], feed.is_suspended) for feed in feeds] == [
        ("Feed 1", "News", True),
        ("Feed 2", "Default", False),
    ]
    assert [(feed.item_count, feed.unread_count) for feed in feeds] == [(5, 4), (5, 4)]
    saved = await items_of(db, shelf, saved=True)
    assert {(item.key, item.content) for item in saved} == {("1-1", "<p>Text</p>"), ("2-1", "<p>Text</p>")}
    assert saved[0].published_at == from_iso("2024-01-02T15:04:05.123Z")
    kept = await db.read(lambda tx: list_bookmarks_tx(tx, shelf, BookmarkFilter(), after=FROM_THE_TOP, most=9))
    assert {mark.feed_name for mark in kept} == {"Feed 1", "Feed 2"}


async def test_imported_feeds_keep_their_schedule_and_validators(db, tmp_path):
    """For two days at most (I5), and not where somebody else waits for them too."""
    file = a_newer_file(tmp_path / "reedme.db")
    planned = NOON // 1000 + 3600
    with closing(apsw.Connection(str(file))) as connection:
        state = (1, '"abc"', "Fri, 02 Jan 2026 10:00:00 GMT", planned, 0)
        connection.execute("insert into feed_fetch_state values (?, ?, ?, ?, ?)", state)
    reader, other = await a_reader(db), await a_reader(db)
    reedme = Reedme(db, lambda: NOON, a_public_id, parsers=HERE)
    await reedme.run(file, reader)
    row = ('"abc"', "Fri, 02 Jan 2026 10:00:00 GMT", planned * 1000)
    assert await db.read(lambda tx: tx.one(FetchRow, q.fetched)) == FetchRow(*row)
    await db.with_tx(lambda tx: fetch_whole_tx(tx, FeedId(1), NOON))
    assert await db.read(lambda tx: tx.one(FetchRow, q.fetched)) == FetchRow(None, None, NOON)
    await reedme.run(file, other)
    assert await db.read(lambda tx: tx.one(FetchRow, q.fetched)) == FetchRow(None, None, NOON)


async def test_a_plan_that_is_too_far_ahead_is_cut(db, tmp_path):
    file = a_newer_file(tmp_path / "reedme.db")
    with closing(apsw.Connection(str(file))) as connection:
        connection.execute("insert into feed_fetch_state values (1, null, null, 4000000000, 0)")
    await Reedme(db, lambda: NOON, a_public_id, parsers=HERE).run(file, await a_reader(db))
    assert (await db.read(lambda tx: tx.one(FetchRow, q.fetched))).next_check_at == NOON + 2 * DAY


async def test_snapshots_of_a_newer_file_are_imported_once(db, tmp_path):
    """R71: also those whose item was gone, and those that never had a link."""
    file = a_newer_file(tmp_path / "reedme.db")
    shelf = await a_reader(db)
    for _ in range(2):
        brought = await Reedme(db, lambda: NOON, a_public_id, parsers=HERE).run(file, shelf)
        assert brought == ReedmeReport(feeds=1, items=3, bookmarks=4, refused=("nonsense",))
    kept = await db.read(lambda tx: list_bookmarks_tx(tx, shelf, BookmarkFilter(), after=FROM_THE_TOP, most=9))
    by_title = {mark.title: mark for mark in kept}
    assert by_title.keys() == {"As it was", "Gone", "No link", "Elsewhere"}
    assert len(kept) == 4
    first = by_title["As it was"]
    assert (first.content, first.link, first.feed_name) == ("<p>Then</p>", "https://example.org/1/2", "Feed 1")
    assert (first.published_at, first.created_at) == (
        from_iso("2024-01-02T15:04:05Z"),
        from_iso("2024-01-02T15:05:00Z"),
    )
    saved = await items_of(db, shelf, saved=True)
    assert [(item.item_id, item.key) for item in saved] == [(first.item_id, "1-2")]
    assert (by_title["Gone"].item_id, by_title["Elsewhere"].link) == (None, "")


async def test_a_file_that_is_no_such_database_is_refused(db, tmp_path):
    shelf = await a_reader(db)
    nonsense = tmp_path / "x.db"
    nonsense.write_bytes(b"hello, this is no database at all" * 100)
    empty = tmp_path / "empty.db"
    apsw.Connection(str(empty)).execute("create table a (b)").fetchall()
    for file in (nonsense, empty):
        assert not is_legacy(file)
        with pytest.raises(SchemaRefused):
            await Reedme(db, lambda: NOON, a_public_id, parsers=HERE).run(file, shelf)


@pytest.mark.parametrize(
    ("said", "moment"),
    [
        ("2024-01-02 15:04:05.123+00:00", "2024-01-02T15:04:05.123Z"),
        ("2024-01-02 15:04:05.123456789 +0000 UTC", "2024-01-02T15:04:05.123Z"),
        ("2024-01-02T15:04:05Z", "2024-01-02T15:04:05Z"),
        ("2024-01-02T17:04:05+02:00", "2024-01-02T15:04:05Z"),
        (1704207845, "2024-01-02T15:04:05Z"),
        (1704207845123, "2024-01-02T15:04:05.123Z"),
        ("soon", None),
        ("", None),
        (None, None),
        (0, None),
    ],
)
def test_times_are_read_as_each_driver_wrote_them(tmp_path, said, moment):
    file = a_legacy_file(tmp_path / "fusion.db", feeds=1, items=1)
    connection = apsw.Connection(str(file))
    connection.execute("update items set pub_date = ?", (said,))
    connection.close()
    [item] = read_items(file, 1).items
    assert item.published_at == (None if moment is None else from_iso(moment))


async def test_an_old_database_at_the_path_is_adopted(tmp_path):
    a_legacy_file(tmp_path / "tsuzuki.db")
    settings = settings_for(tmp_path, password="correct horse")
    for _ in range(2):
        async with open_tsuzuki(settings) as opened:
            admin = await opened.accounts.users.find("admin")
            shelf = await opened.accounts.current_user.shelf_of(admin)
            assert [feed.item_count for feed in await opened.reading.subscriptions.list(shelf.id)] == [5, 5]
    [kept] = tmp_path.glob("tsuzuki.db.*.bak")
    assert counts(kept) == ("before", 10)
    assert not list(tmp_path.glob("*.new*"))


async def test_what_is_ours_already_or_nothing_is_left_alone(tmp_path):
    options = DatabaseOptions(f"sqlite://{tmp_path / 'none.db'}")
    assert await adopt(options, lambda: NOON) is None
    assert await adopt(DatabaseOptions("postgresql://x"), lambda: NOON) is None
    assert list(tmp_path.iterdir()) == []


def test_a_start_looks_only_at_the_header_and_the_tables(tmp_path, monkeypatch):
    other = tmp_path / "other.db"
    other.write_bytes(b"SQLite format 2\0" + bytes(4096))
    monkeypatch.setattr(legacy, "_open", None)  # what has another header is not opened as a database
    assert not is_legacy(other)
    monkeypatch.undo()
    file = a_legacy_file(tmp_path / "old.db")
    whole = file.read_bytes()
    file.write_bytes(whole[:4096] + bytes(len(whole) - 4096))  # its rows are damaged, which nobody looks for yet
    assert is_legacy(file)


async def test_a_start_waits_while_another_process_migrates_the_file(tmp_path):
    path = tmp_path / "tsuzuki.db"
    with closing(connect_bare(path)) as other:
        other.execute("create table x (y)")
        other.execute("begin exclusive")
        asked = asyncio.create_task(asyncio.to_thread(is_legacy, path))
        await asyncio.wait([asked], timeout=0.2)
        assert not asked.done()
        other.execute("commit")
        assert not await asked


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_a_killed_adoption_leaves_the_old_or_new_file(tmp_path):
    """kill -9 over and over, until a start is left in peace; nothing is lost on the way."""
    rng = random.Random(7)
    seen = set()
    for round_ in range(scaled(4, 60)):
        folder = tmp_path / str(round_)
        folder.mkdir()
        file = a_legacy_file(folder / "tsuzuki.db", feeds=8, items=100)
        kind, count = counts(file)
        patience = 0.3
        while kind == "before":
            killed = start_and_kill(file, rng.uniform(0.0, patience))
            patience *= 1.2  # a slow machine takes longer
            seen.add(killed)
            kind, count = counts(file)
            assert count == 800
        assert counts(min(folder.glob("*.bak"))) == ("before", 800)
    assert seen >= {True}


def start_and_kill(file: Path, after: float) -> bool:
    """True when it was killed on the way, after so many seconds of computing: those of others do not count."""
    command = [sys.executable, "-m", "tests.transfer.adopt_process", str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        process.stdout.readline()
        end = computed(process.pid) + after
        while process.poll() is None and computed(process.pid) < end:
            time.sleep(0.002)
        process.kill()
        return process.wait() != 0


def computed(pid: int) -> float:
    """Seconds that this process has computed."""
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
