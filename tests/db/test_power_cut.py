"""I3: what was acknowledged survives a power cut, and nothing is there by half (SQLite, whose commits we group)."""

import asyncio
import random
import tempfile
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import apsw
import msgspec
import pytest

from tests.db.builders import a_query
from tests.db.disks import AfterPowerCut, Disk, Event, Note, Sync, watched
from tsuzuki.db import Tx
from tsuzuki.db.sqlite import SqliteDatabase
from tsuzuki.db.sqlite_file import connect

PARTS = 3
TRANSACTIONS = 120
COROUTINES = 6
STATES = 400
SOAK_STATES = 10_000

ADD_PART = a_query("insert into part (number, part, pad) values (:number, :part, :pad)")
COUNT = a_query("update total set transactions = transactions + 1")
SCHEMA = """
create table part (number integer not null, part integer not null, pad text not null, primary key (number, part));
create table total (transactions integer not null);
insert into total values (0)"""


class Loss(msgspec.Struct, frozen=True):
    """What a state showed that it must not."""

    moment: int
    what: str


class Workload:
    """Transactions of several rows by several coroutines, on a disk that remembers."""

    def __init__(self, folder: Path, disk: Disk, vfs: str) -> None:
        self._path = folder / "store.db"
        with closing(connect(self._path)) as connection:
            connection.execute(SCHEMA)
        self._disk = disk
        self._vfs = vfs
        self.before = {self._path.name: self._path.read_bytes()}

    async def run(self, *, pragma: str = "", answer_early: bool = False, in_pieces: bool = False) -> list[Event]:
        """What the disk saw. The keywords plant a fault."""
        db = SqliteDatabase(self._path, vfs=self._vfs)
        db._writer.connection.execute(f"pragma wal_autocheckpoint = 25; {pragma}").fetchall()
        try:
            for first in range(0, TRANSACTIONS, COROUTINES):
                numbers = range(first, first + COROUTINES)
                await asyncio.gather(*(self._one(db, n, answer_early, in_pieces) for n in numbers))
            return list(self._disk.events)
        finally:
            await db.close()

    async def _one(self, db: SqliteDatabase, number: int, answer_early: bool, in_pieces: bool) -> None:
        async def work_tx(tx: Tx, parts: Sequence[int]) -> None:
            for part in parts:
                length = random.Random(number * 7 + part).randint(0, 3000)
                await tx.run(ADD_PART, number=number, part=part, pad="x" * length)
            if 0 in parts:
                await tx.run(COUNT)
            if answer_early:
                self._disk.note(Note("answered", number))

        pieces = [[part] for part in range(PARTS)] if in_pieces else [list(range(PARTS))]
        for piece in pieces:
            await db.with_tx(partial(work_tx, parts=piece))
        if not answer_early:
            self._disk.note(Note("answered", number))


def losses(before: dict[str, bytes], events: list[Event], states: int) -> list[Loss]:
    """What is wrong in that many states: around every sync, and at moments between."""
    rng = random.Random(1)
    around = [at + after for at, event in enumerate(events) if isinstance(event, Sync) for after in (0, 1)]
    moments = rng.sample(around, min(len(around), states // 2))
    moments += [rng.randint(1, len(events)) for _ in range(states - len(moments))]
    machine = AfterPowerCut(before, events)
    found = []
    for moment in moments:
        with tempfile.TemporaryDirectory(dir=_fast_folder()) as folder:
            machine.write(Path(folder), moment, rng)
            answered = {event.number for event in events[:moment] if isinstance(event, Note)}
            found += [Loss(moment, what) for what in _wrong(Path(folder) / "store.db", answered)]
    return found


def _fast_folder() -> str | None:
    """The states are ordinary files that need no disk."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def _wrong(path: Path, answered: set[int]) -> list[str]:
    connection = apsw.Connection(str(path))
    try:
        if (said := connection.execute("pragma integrity_check").get) != "ok":
            return [f"corrupt: {said}"]
        counted: Any = connection.execute("select number, count(*) from part group by number").fetchall()
        total = connection.execute("select transactions from total").get
    except apsw.Error as error:
        return [f"corrupt: {error}"]
    finally:
        connection.close()
    parts: dict[int, int] = dict(counted)
    wrong = [f"transaction {number} is lost" for number in answered - parts.keys()]
    wrong += [f"transaction {number} is there by half" for number, count in parts.items() if count != PARTS]
    return wrong + ([] if total == len(parts) else [f"{total} transactions are counted, {len(parts)} are there"])


@pytest.fixture
def workload(tmp_path):
    with watched() as (disk, vfs):
        yield Workload(tmp_path, disk, vfs)


@pytest.mark.soak
async def test_no_acknowledged_commit_is_lost_and_no_state_is_corrupt(workload, request):
    events = await workload.run()
    states = SOAK_STATES if request.config.getoption("--soak") else STATES
    assert losses(workload.before, events, states) == []


async def test_the_workload_reaches_checkpoints(workload):
    """Otherwise the states above would say nothing about the database file itself."""
    events = await workload.run()
    synced = [event.file for event in events if isinstance(event, Sync)]
    assert synced.count("store.db") >= 3
    assert synced.count("store.db-wal") >= TRANSACTIONS / COROUTINES


PLANTED = [
    pytest.param({"pragma": "pragma synchronous = normal"}, "is lost", id="synchronous=NORMAL"),
    pytest.param({"pragma": "pragma synchronous = off"}, "is lost", id="synchronous=OFF"),
    pytest.param({"answer_early": True}, "is lost", id="answered before the commit"),
    pytest.param({"in_pieces": True}, "by half", id="not one transaction"),
]


@pytest.mark.parametrize(("fault", "what"), PLANTED)
async def test_a_planted_fault_is_seen(workload, fault, what):
    events = await workload.run(**fault)
    assert any(what in loss.what for loss in losses(workload.before, events, 60))


async def test_a_disk_that_does_not_sync_is_seen_to_corrupt(workload):
    events = [event for event in await workload.run() if not isinstance(event, Sync)]
    assert any("corrupt" in loss.what for loss in losses(workload.before, events, 100))
