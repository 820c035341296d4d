"""An import that is cut off says how far it came, and the same command goes on."""

from pathlib import Path

import msgspec
import pytest

from tests.builders import NOON
from tests.transfer.archive.builders import (
    a_chapter,
    a_feed,
    a_reader,
    a_series,
    a_source,
    an_archive,
    an_item,
    parts_of,
    told,
)
from tsuzuki.accounts.store import delete_tenant_tx, delete_user_tx
from tsuzuki.db.errors import DatabaseUnavailable
from tsuzuki.model.errors import NotFound, Unavailable
from tsuzuki.transfer.archive.container import ArchiveReader
from tsuzuki.transfer.archive.format import (
    PARTS,
    BookmarkLine,
    EntryLine,
    GroupLine,
    Person,
    ProgressLine,
    RemovedItemLine,
)

pytestmark = pytest.mark.both_engines

FEEDS = [a_feed(f"https://example.org/{n}", group="News") for n in range(2)]
READ = ProgressLine(is_read=True, updated_at=NOON)
SHELF = {
    "person.jsonl": [Person(preferences={"theme": "dark"})],
    "groups.jsonl": [GroupLine(name="All", is_default=True), GroupLine(name="News", position=1)],
    "feeds.jsonl": FEEDS,
    "items.jsonl": [an_item(str(n), feed) for feed in FEEDS for n in range(2)],
    "gone.jsonl": [RemovedItemLine(feed=FEEDS[0].feed_key, key="old")],
    "sources.jsonl": [a_source()],
    "series.jsonl": [a_series(latest_number="2")],
    "chapters.jsonl": [
        a_chapter("1", progress=READ, entry=EntryLine(unread=False, sort_at=NOON, created_at=NOON)),
        a_chapter("2"),
    ],
    "bookmarks.jsonl": [BookmarkLine(title="A", link="https://example.org/a", created_at=NOON)],
}

_TRANSACTIONS = 15


class Failing:
    """A database that is lost at one of its transactions, before or after the commit."""

    def __init__(self, db, at, *, is_late):
        self._db = db
        self._left = at
        self._is_late = is_late
        self.engine = db.engine
        self.read = db.read

    async def with_tx(self, work):
        self._left -= 1
        if self._left < 0 and not self._is_late:
            raise DatabaseUnavailable("The database is gone.")
        result = await self._db.with_tx(work)
        if self._left < 0:
            raise DatabaseUnavailable("The database is gone.")
        return result


@pytest.mark.parametrize("is_late", [False, True])
async def test_an_import_that_was_cut_off_anywhere_is_run_again(db, tmp_path, is_late):
    """I3, I9: whatever was written stays, and nothing comes twice."""
    for at in range(int(is_late), _TRANSACTIONS, 2):
        reader = await a_reader(db, tmp_path)
        path = an_archive(tmp_path, _marked(at))
        with pytest.raises(Unavailable, match="Run it again; nothing is imported twice"):
            await msgspec.structs.replace(reader, db=Failing(db, at, is_late=is_late)).import_archive(path)
        await reader.import_archive(path)
        assert parts_of(await reader.export()) == parts_of(path)


async def test_that_is_every_transaction_that_there_is(db, tmp_path):
    reader = await a_reader(db, tmp_path)
    await msgspec.structs.replace(reader, db=Failing(db, _TRANSACTIONS, is_late=False)).import_archive(
        an_archive(tmp_path, SHELF)
    )
    assert parts_of(await reader.export()) == told(SHELF)


def _marked(at):
    """The same shelf under names of its own: this server has seen others."""
    text = msgspec.json.encode(SHELF).decode().replace("example.org/", f"{at}.example.org/")
    own = msgspec.json.decode(text.replace('"site', f'"site{at}').replace('"Site"', f'"Site {at}"'))
    return {name: [msgspec.convert(line, PARTS[name]) for line in part] for name, part in own.items()}


async def test_it_says_how_far_it_came(db, tmp_path):
    reader = await a_reader(db, tmp_path)
    broken = msgspec.structs.replace(reader, db=Failing(db, 6, is_late=False))
    with pytest.raises(Unavailable, match=r"It stopped at line \d+ of items.jsonl. Run it again"):
        await broken.import_archive(an_archive(tmp_path, SHELF))
    nothing = msgspec.structs.replace(reader, db=Failing(db, 0, is_late=False))
    with pytest.raises(Unavailable, match="Nothing was imported yet"):
        await nothing.import_archive(an_archive(tmp_path, SHELF))


class Emptying:
    """A database whose tenant somebody deletes before one of these transactions, or reads."""

    def __init__(self, reader, at):
        self._reader = reader
        self._left = at
        self.engine = reader.db.engine

    async def with_tx(self, work):
        await self._count()
        return await self._reader.db.with_tx(work)

    async def read(self, work):
        await self._count()
        return await self._reader.db.read(work)

    async def _count(self):
        self._left -= 1
        if self._left == -1:
            user = self._reader.user

            async def delete(tx):
                await delete_user_tx(tx, user.id)
                await delete_tenant_tx(tx, user.tenant_id)

            await self._reader.db.with_tx(delete)


async def test_removing_the_shelf_ends_its_import_with_a_reason(db, tmp_path):
    """I3: before whichever of its transactions; no line is tried in vain, and nobody else loses anything."""
    said = []
    for at in range(2 * _TRANSACTIONS):
        reader = await a_reader(db, tmp_path)
        path = an_archive(tmp_path, _marked(at))
        try:
            brought = await msgspec.structs.replace(reader, db=Emptying(reader, at)).import_archive(path)
        except NotFound as error:
            said.append(str(error))
        else:
            assert [counts.left_out for counts in brought.parts.values() if counts.left_out] == [], at
    assert len(said) > _TRANSACTIONS // 2
    assert {sentence.partition(". ")[0] for sentence in said} == {"The shelf was deleted in the meantime"}


def test_an_archive_is_closed_wherever_it_was_read(tmp_path):
    """Whoever was cut off may be kept, with a part that is open, until garbage is collected."""
    reader = ArchiveReader(an_archive(tmp_path, SHELF))
    lines = reader.lines("items.jsonl")
    next(lines)
    reader.close()
    left = [file.readlink().parent for file in Path("/proc/self/fd").iterdir() if file.is_symlink()]
    assert tmp_path not in left
    reader.close()
