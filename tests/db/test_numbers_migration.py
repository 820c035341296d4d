"""The migration that numbers groups and chapters for good keeps what points to them."""

import msgspec

from tests.builders import NOON, a_public_id
from tests.db.test_every_migration import BEFORE, WRITTEN
from tests.db.test_migrate import run_on
from tsuzuki.accounts.store import delete_tenant_tx
from tsuzuki.db import Database, DatabaseOptions, open_database
from tsuzuki.db.migrate import migrate
from tsuzuki.db.migration_steps import available
from tsuzuki.db.queries import parse_queries
from tsuzuki.model.ids import GroupId, ShelfId, TenantId
from tsuzuki.shelves.groups import add_group_tx

STEP = "numbers_for_good"

q = parse_queries(
    "tests",
    """
-- name: kept
select (select count(*) from subscription join shelf_group on shelf_group.id = subscription.group_id) as subscriptions,
  (select count(*) from follow join shelf_group on shelf_group.id = follow.group_id) as follows,
  (select count(*) from entry join chapter on chapter.id = entry.chapter_id) as entries,
  (select count(*) from progress join chapter on chapter.id = progress.chapter_id) as progress,
  (select count(*) from release join chapter on chapter.id = release.chapter_id) as releases;
-- name: delete_group
delete from shelf_group where id = :id;
-- name: add_chapter
insert into chapter (series_id, key, first_seen_at, updated_at) values (1, :key, 0, 0) returning id;
-- name: delete_chapter
delete from chapter where id = :id;
-- name: merged
insert into former_chapter (id, chapter_id) values (70, 1);
-- name: left_over
select (select count(*) from shelf_group) + (select count(*) from subscription) + (select count(*) from entry)
  + (select count(*) from feed_number) as left_over;
""",
)


class Kept(msgspec.Struct, frozen=True):
    subscriptions: int
    follows: int
    entries: int
    progress: int
    releases: int


async def a_new_group(db: Database) -> GroupId:
    added = await db.with_tx(lambda tx: add_group_tx(tx, ShelfId(1), a_public_id(), name="New", now=NOON))
    return added.id


async def test_follows_stay_and_numbers_are_not_used_twice(empty_database_url, engine):
    options, steps = DatabaseOptions(empty_database_url), available(engine)
    version = next(step.version for step in steps if STEP in step.name)
    await migrate(options, now=0, known=steps[:1])
    await run_on(empty_database_url, BEFORE.format(**WRITTEN[engine]))
    await migrate(options, now=0, known=[step for step in steps if step.version < version])
    db = await open_database(options)
    try:
        await db.with_tx(lambda tx: tx.run(q.merged))
        before = await db.read(lambda tx: tx.one(Kept, q.kept))
        assert before == Kept(1, 1, 1, 1, 1)
    finally:
        await db.close()
    await migrate(options, now=0)
    await run_on(empty_database_url, SEQUENCES[engine] + UNPAID)
    db = await open_database(options)
    try:
        assert await db.read(lambda tx: tx.one(Kept, q.kept)) == before
        group, chapter = await a_new_group(db), await db.with_tx(lambda tx: tx.one(int, q.add_chapter, key="a"))
        assert chapter > 70, "the number of a chapter that was merged into another"
        await db.with_tx(lambda tx: tx.run(q.delete_group, id=group))
        await db.with_tx(lambda tx: tx.run(q.delete_chapter, id=chapter))
        assert await a_new_group(db) > group
        assert await db.with_tx(lambda tx: tx.one(int, q.add_chapter, key="b")) > chapter
        await db.with_tx(lambda tx: delete_tenant_tx(tx, TenantId(1)))
        assert await db.read(lambda tx: tx.one(int, q.left_over)) == 0
    finally:
        await db.close()


SEQUENCES = {
    "sqlite": "",
    # Rows that were written with their ids have not counted there.
    "postgres": "select setval('shelf_group_id_seq', 1); select setval('chapter_id_seq', 70);",
}
UNPAID = "".join(
    f"delete from {table};" for table in ("refund", "intent", "bolt11", "credit", "invoice_item", "invoice")
)
