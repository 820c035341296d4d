"""Imports that were noted before owners were are undone in any order, as far as their times tell whose what was."""

import msgspec

from tests.db.test_every_migration import BEFORE, WRITTEN
from tests.db.test_migrate import run_on
from tsuzuki.db import DatabaseOptions, open_database
from tsuzuki.db.migrate import migrate
from tsuzuki.db.migration_steps import available
from tsuzuki.db.queries import parse_queries

STEP = "import_owners"

NOTED = """
insert into shelf_import
  (id, public_id, shelf_id, user_id, name, kind, preview, status, created_at, updated_at, finished_at)
values (1, {id}, 1, 1, 'a', 'mihon', '{{}}', 'done', 10, 12, 12),
  (2, {id}, 1, 1, 'b', 'mihon', '{{}}', 'running', 10, 21, null),
  (3, {id}, 1, 1, 'c', 'mihon', '{{}}', 'done', 30, 32, 32), (5, {id}, 1, 1, 'e', 'mihon', '{{}}', 'done', 50, 52, 52),
  (6, {id}, 1, 1, 'f', 'mihon', '{{}}', 'undone', 50, 52, 52);
insert into backup_series (id, shelf_id, series_id, source_uid, url, source_name, message, updated_at, shelf_import_id)
values (1, 1, 1, 7, 'u', 'S', {hash}, 51, 5);
insert into import_made (shelf_import_id, kind, of_id) values
  (1, 'backup', 1), (1, 'follow', 1), (6, 'follow', 1), (6, 'backup', 1);
insert into import_backup (shelf_import_id, backup_series_id, source_name, message, updated_at)
values (2, 1, 'S', {hash}, 11), (3, 1, 'S', {hash}, 21), (5, 1, 'S', {hash}, 41);
insert into import_rest (shelf_import_id, body, updated_at)
values (1, null, null), (2, {hash}, 11), (3, {hash}, 21), (5, {hash}, 41);
"""

q = parse_queries(
    "tests",
    """
-- name: backups
select shelf_import_id, previous_import_id, message is null as is_first from import_backup order by 1;
-- name: rests
select shelf_import_id, previous_import_id, body is null as is_first from import_rest order by 1;
-- name: made
select shelf_import_id from import_made;
""",
)


class Owner(msgspec.Struct, frozen=True):
    import_id: int
    previous: int | None
    is_first: bool


async def test_earlier_notes_name_their_owners(empty_database_url, engine):
    """The fifth wrote over what a fourth had written, which is forgotten; the second was cut off."""
    options, steps = DatabaseOptions(empty_database_url), available(engine)
    version = next(step.version for step in steps if STEP in step.name)
    await migrate(options, now=0, known=steps[:1])
    await run_on(empty_database_url, BEFORE.format(**WRITTEN[engine]))
    await migrate(options, now=0, known=[step for step in steps if step.version < version])
    await run_on(empty_database_url, NOTED.format(**WRITTEN[engine]))
    await migrate(options, now=0)
    db = await open_database(options)
    try:
        owners = [Owner(1, None, True), Owner(2, 1, False), Owner(3, 2, False), Owner(5, None, False)]
        assert await db.read(lambda tx: tx.many(Owner, q.backups)) == owners
        assert await db.read(lambda tx: tx.many(Owner, q.rests)) == owners
        assert await db.read(lambda tx: tx.many(int, q.made)) == [1]
    finally:
        await db.close()
