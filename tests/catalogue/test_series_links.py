"""A series that came without a source is linked to one that a source has, and nothing that was read is lost."""

from typing import Any

import pytest

from tests.builders import NOON, a_public_id, stored_series, stored_shelf, stored_source
from tests.transfer.imports.builders import SOMEBODY, an_importer
from tests.transfer.mihon.builders import UNKNOWN, a_backup, a_chapter, a_manga
from tsuzuki.catalogue.browse import ListingWriter, SeriesAddresses
from tsuzuki.catalogue.calls import Calls
from tsuzuki.catalogue.merges.service import SeriesMerges
from tsuzuki.catalogue.series_links import SeriesLinks
from tsuzuki.connectors.registry import Registry, builtin
from tsuzuki.db.queries import parse_queries
from tsuzuki.model.errors import Conflict, Invalid
from tsuzuki.model.ids import PublicId
from tsuzuki.sources.series import add_series_source_tx

q = parse_queries(
    "tests",
    """
-- name: public_id
select public_id from series where id = :id;
-- name: only_followed
select series.public_id from follow join series on series.id = follow.series_id where follow.shelf_id = :shelf_id;
-- name: add_chapter
insert into chapter (series_id, key, number, number_sort, title, first_seen_at, updated_at)
values (:series_id, :key, :key, 1000000, '', 0, 0);
-- name: follow
insert into follow (public_id, shelf_id, series_id, group_id, status, preferences, created_at, updated_at)
select :public_id, shelf_id, cast(:series_id as bigint), id, 'reading', '{}', 0, 0 from shelf_group
where shelf_id = :shelf_id and is_default;
""",
)

URL = "https://xkcd.com/archive/"


async def an_unlinked_series(db, folder, **source: Any):
    """What was imported, a series at a source with chapters 1 and 2, and what links the two."""
    importer = await an_importer(db, folder)
    chapters = [a_chapter("/c/1", number=1, read=1), a_chapter("/c/9", number=9, read=1)]
    await importer.import_file("app.tachibk", a_backup(a_manga(UNKNOWN, title="Lost", chapters=chapters)))
    source_id = await stored_source(db, connector="com.xkcd", base_url="https://xkcd.com", slug="xkcd")
    target = await stored_series(db, "xkcd")

    async def map_it(tx):
        await add_series_source_tx(tx, target, source_id, source_key="/archive/", url=URL, now=NOON)
        for key in ("1", "2"):
            await tx.run(q.add_chapter, series_id=target, key=key)
        return await tx.one(PublicId, q.public_id, id=target)

    target_id = await db.with_tx(map_it)
    nobody: Any = None  # is called
    calls = Calls(db, Registry(builtin()), nobody, lambda _: None)
    merges = SeriesMerges(db, lambda: NOON, a_public_id, lambda *_: None)
    links = SeriesLinks(SeriesAddresses(db, calls, ListingWriter(a_public_id), lambda: NOON), merges)
    shelf_id = importer.reader.shelf_id
    series = await db.read(lambda tx: tx.one(PublicId, q.only_followed, shelf_id=shelf_id))
    return importer, links, series, target, target_id


def read_of(shelf):
    return {one["key"]: one["progress"]["is_read"] for one in shelf["chapters.jsonl"] if "progress" in one}


async def test_where_nobody_else_reads_either_both_become_one(db, tmp_path):
    importer, links, series, _, target_id = await an_unlinked_series(db, tmp_path)
    assert await links.link(SOMEBODY, importer.reader.shelf_id, series, URL) == target_id
    shelf = await importer.shelf()
    [one] = shelf["series.jsonl"]
    assert (one["key"], one["title"], len(one["backups"])) == ("xkcd//archive/", "xkcd", 1)
    assert read_of(shelf) == {"1": True, "9": True}
    assert sorted(chapter["key"] for chapter in shelf["chapters.jsonl"]) == ["1", "2", "9"]


async def test_with_other_readers_only_the_progress_is_carried_over(db, tmp_path):
    importer, links, series, target, target_id = await an_unlinked_series(db, tmp_path)
    other = await an_importer(db, tmp_path)
    values = {"public_id": a_public_id(), "shelf_id": other.reader.shelf_id, "series_id": target}
    await db.with_tx(lambda tx: tx.run(q.follow, **values))
    assert await links.link(SOMEBODY, importer.reader.shelf_id, series, URL) == target_id
    shelf = await importer.shelf()
    followed = [one for one in shelf["series.jsonl"] if "follow" in one]
    assert [(one["title"], len(one["backups"])) for one in followed] == [("xkcd", 1)]
    assert read_of(shelf) == {"1": True, "9": True}  # what the source lacks is kept with the series of before
    theirs = await other.shelf()
    assert (sorted(one["key"] for one in theirs["chapters.jsonl"]), read_of(theirs)) == (["1", "2"], {})


async def test_unknown_addresses_and_linked_series_are_refused(db, tmp_path):
    importer, links, series, _, target_id = await an_unlinked_series(db, tmp_path)
    with pytest.raises(Invalid, match="No source of this server"):
        await links.link(SOMEBODY, importer.reader.shelf_id, series, "https://example.org/x")
    with pytest.raises(Conflict, match="has a source already"):
        await links.link(SOMEBODY, await stored_shelf(db), target_id, URL)
