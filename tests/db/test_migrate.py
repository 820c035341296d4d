"""Migrations: once, in order, all or nothing, and never on a database that is not ours."""

import asyncio
import shutil
from contextlib import closing
from functools import partial
from typing import Any

import apsw
import asyncpg
import pytest

from tests.db.builders import a_query, add_link_tx, links
from tsuzuki.accounts.types import Slice
from tsuzuki.db import DatabaseOptions, open_database
from tsuzuki.db.errors import DatabaseError, DatabaseUnavailable, SchemaRefused
from tsuzuki.db.migrate import migrate, recreate
from tsuzuki.db.migrate_postgres import LOCK_KEY
from tsuzuki.db.migration_steps import Applied, Migration, available, plan
from tsuzuki.db.queries import Engine
from tsuzuki.db.sqlite_file import path_of
from tsuzuki.ingest.listings import known_releases_tx
from tsuzuki.model.ids import SeriesSourceId
from tsuzuki.model.times import Millis
from tsuzuki.polling.store import claim_due_watches_tx
from tsuzuki.sources.sites import list_sources_tx
from tsuzuki.sources.types import SourceFilter

ONE = Migration(1, "one", "create table one (id integer primary key)", "a")
TWO = Migration(2, "two", "create table two (id integer primary key); insert into two values (1)", "b")
BROKEN = Migration(2, "broken", "create table two (id integer primary key); insert into nowhere values (1)", "b")


async def tables(url):
    """The names of all tables but the ledger's."""
    if url.startswith("sqlite:"):
        if not path_of(url).exists():
            return set()
        with closing(apsw.Connection(str(path_of(url)))) as connection:
            rows: Any = connection.execute("select name from sqlite_schema where type = 'table'").fetchall()
    else:
        server = await asyncpg.connect(url)
        rows = await server.fetch("select tablename from pg_tables where schemaname = 'public'")
        await server.close()
    return {row[0] for row in rows} - {"schema_migration"}


async def run_on(url, sql):
    if url.startswith("sqlite:"):
        with closing(apsw.Connection(str(path_of(url)))) as connection:
            connection.execute(sql).fetchall()
        return
    server = await asyncpg.connect(url)
    await server.execute(sql)
    await server.close()


ALL = [step.version for step in available("sqlite")]
NEWEST = ALL[-1]


def steps_of(outcome):
    return [step.version for step in outcome.steps]


async def test_an_empty_database_is_migrated_once(empty_database_url):
    options = DatabaseOptions(empty_database_url)
    first = await migrate(options, now=0)
    assert (first.before, first.after, steps_of(first)) == (0, NEWEST, ALL)
    again = await migrate(options, now=0)
    assert (again.before, again.after, steps_of(again)) == (NEWEST, NEWEST, [])
    db = await open_database(options)
    await db.with_tx(lambda tx: add_link_tx(tx, "a"))
    assert await links(db) == ["a"]
    await db.close()


@pytest.mark.parametrize("engine", ["postgres"])
async def test_what_is_current_is_not_locked(database_url):
    """A pooler keeps the lock of a session that has left, and others would wait for it."""
    holder = await asyncpg.connect(database_url)
    await holder.execute("select pg_advisory_lock($1)", LOCK_KEY)
    try:
        outcome = await asyncio.wait_for(migrate(DatabaseOptions(database_url), now=0), 20)
    finally:
        await holder.close()
    assert outcome.before == outcome.after == NEWEST


async def test_a_dry_run_changes_nothing(empty_database_url):
    options = DatabaseOptions(empty_database_url)
    outcome = await migrate(options, now=0, dry_run=True)
    assert (outcome.before, outcome.after, steps_of(outcome)) == (0, 0, ALL)
    assert await tables(empty_database_url) == set()
    await migrate(options, now=0, known=[ONE])
    outcome = await migrate(options, now=0, known=[ONE, TWO], dry_run=True)
    assert (outcome.before, outcome.after, steps_of(outcome)) == (1, 1, [2])
    assert await tables(empty_database_url) == {"one"}


async def test_later_steps_are_added_to_earlier_ones(empty_database_url):
    options = DatabaseOptions(empty_database_url)
    await migrate(options, now=5, known=[ONE])
    outcome = await migrate(options, now=7, known=[ONE, TWO])
    assert (outcome.before, outcome.after, steps_of(outcome)) == (1, 2, [2])
    db = await open_database(options)
    ledger = await db.read(lambda tx: tx.many(int, a_query("select applied_at from schema_migration order by version")))
    assert ledger == [5, 7]
    await db.close()


async def test_a_step_that_fails_leaves_nothing_of_itself(empty_database_url):
    options = DatabaseOptions(empty_database_url)
    await migrate(options, now=0, known=[ONE])
    with pytest.raises(DatabaseError, match=r"Migration 0002 \(broken\) failed and changed nothing: .*nowhere"):
        await migrate(options, now=0, known=[ONE, BROKEN])
    assert await tables(empty_database_url) == {"one"}
    assert (await migrate(options, now=0, known=[ONE, TWO])).after == 2


async def test_a_first_step_that_fails_leaves_an_empty_database(empty_database_url):
    with pytest.raises(DatabaseError, match="failed and changed nothing"):
        await migrate(DatabaseOptions(empty_database_url), now=0, known=[BROKEN])
    assert await tables(empty_database_url) == set()
    assert (await migrate(DatabaseOptions(empty_database_url), now=0)).after == NEWEST


async def test_a_step_continues_after_a_statement_with_rows(empty_database_url):
    chatty = Migration(1, "chatty", "create table one (id integer); select 1; create table two (id integer)", "c")
    await migrate(DatabaseOptions(empty_database_url), now=0, known=[chatty])
    assert await tables(empty_database_url) == {"one", "two"}


async def test_a_database_that_is_newer_than_the_program_is_refused(empty_database_url):
    options = DatabaseOptions(empty_database_url)
    await migrate(options, now=0, known=[ONE, TWO])
    with pytest.raises(SchemaRefused, match=r"newer Tsuzuki \(schema 2, this program knows 1\)"):
        await migrate(options, now=0, known=[ONE])


async def test_an_edited_migration_is_refused_with_advice(empty_database_url):
    options = DatabaseOptions(empty_database_url)
    await migrate(options, now=0, known=[Migration(1, "one", ONE.sql, "another")])
    with pytest.raises(SchemaRefused, match=r"Migration 0001 .* differs .* tsuzuki migrate --recreate"):
        await migrate(options, now=0, known=[ONE])


async def test_a_database_of_someone_else_is_refused_and_not_touched(empty_database_url):
    await run_on(empty_database_url, "create table theirs (id integer)")
    before = path_of(empty_database_url).read_bytes() if empty_database_url.startswith("sqlite:") else None
    with pytest.raises(SchemaRefused, match="Tsuzuki did not create"):
        await migrate(DatabaseOptions(empty_database_url), now=0)
    assert await tables(empty_database_url) == {"theirs"}
    if before is not None:
        assert path_of(empty_database_url).read_bytes() == before


@pytest.mark.parametrize(
    ("applied", "known"),
    [
        ([Applied(1, "a")], [ONE, TWO]),
        ([], [ONE, TWO]),
        ([Applied(1, "a"), Applied(2, "b")], [ONE, TWO]),
    ],
)
def test_what_was_done_must_be_how_the_program_begins(applied, known):
    assert plan(applied, known) == known[len(applied) :]


@pytest.mark.parametrize("applied", [[Applied(2, "b")], [Applied(1, "x")], [Applied(1, "a"), Applied(2, "x")]])
def test_anything_else_is_refused(applied):
    with pytest.raises(SchemaRefused):
        plan(applied, [ONE, TWO])


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_steps_are_numbered_without_gaps(engine):
    steps = available(engine)
    assert [step.version for step in steps] == list(range(1, len(steps) + 1))


async def test_tokens_from_before_their_makers_were_recorded_stay(empty_database_url):
    options = DatabaseOptions(empty_database_url)
    engine: Engine = "sqlite" if empty_database_url.startswith("sqlite:") else "postgres"
    await migrate(options, now=0, known=[step for step in available(engine) if step.version < 4])
    id16, hash32 = ("x'" + "00" * size + "'" for size in (16, 32))
    if engine == "postgres":
        id16, hash32 = (f"decode('{'00' * size}', 'hex')" for size in (16, 32))
    await run_on(
        empty_database_url,
        f"""
        insert into tenant (id, public_id, name, anchor_at, created_at, updated_at) values (1, {id16}, 'Home', 0, 0, 0);
        insert into user_account (id, public_id, tenant_id, username, role, created_at, updated_at)
        values (1, {id16}, 1, 'admin', 'admin', 0, 0);
        insert into api_token (id, public_id, user_id, name, key_hash, scopes, created_at)
        values (7, {id16}, 1, 'script', {hash32}, 'read', 5)
        """,
    )
    await migrate(options, now=0)
    db = await open_database(options)
    kept = a_query("select id from api_token where parent_id is null and made_in is null and created_at = 5")
    assert await db.read(lambda tx: tx.many(int, kept)) == [7]
    await db.close()


# -- beginning anew


async def test_recreate_keeps_the_old_database_and_names_it(empty_database_url):
    options = DatabaseOptions(empty_database_url)
    await migrate(options, now=0, known=[ONE])
    said = await recreate(options, now=1234)
    assert "one" not in await tables(empty_database_url)
    assert (await migrate(options, now=0)).before == NEWEST
    if empty_database_url.startswith("sqlite:"):
        kept = path_of(empty_database_url).with_name("empty.db.1234.bak")
        assert said == f"the old file is {kept}"
        assert await tables(f"sqlite://{kept}") == {"one"}
    else:
        assert said == "the old tables were deleted"


async def test_recreate_does_not_touch_what_is_not_ours(empty_database_url):
    await run_on(empty_database_url, "create table theirs (id integer)")
    with pytest.raises(SchemaRefused, match="did not create"):
        await recreate(DatabaseOptions(empty_database_url), now=0)
    assert await tables(empty_database_url) == {"theirs"}


async def test_recreate_without_an_old_file_just_makes_one(tmp_path):
    assert await recreate(DatabaseOptions(f"sqlite://{tmp_path / 'new.db'}"), now=0) == "there was no old file"


async def test_recreate_keeps_every_old_file_and_all_that_was_committed(sqlite_template, tmp_path):
    path = tmp_path / "a.db"
    options = DatabaseOptions(f"sqlite://{path}")
    for number in range(2):
        shutil.copy(sqlite_template, path)
        db = await open_database(options)
        await db.with_tx(partial(add_link_tx, link=f"link-{number}"))
        await db.close()
        await recreate(options, now=7)
    kept = sorted(tmp_path.glob("*.bak"))
    assert len(kept) == 2
    for number, file in enumerate(kept):
        with closing(apsw.Connection(str(file))) as connection:
            assert connection.execute("select link from feed").get == f"link-{number}"


async def test_recreate_waits_for_nobody_who_still_uses_the_file(sqlite_template, tmp_path):
    path = tmp_path / "a.db"
    shutil.copy(sqlite_template, path)
    db = await open_database(DatabaseOptions(f"sqlite://{path}"))
    await db.with_tx(lambda tx: add_link_tx(tx, "a"))
    with pytest.raises(DatabaseUnavailable, match="in use; stop every Tsuzuki first"):
        await recreate(DatabaseOptions(f"sqlite://{path}"), now=0)
    assert await links(db) == ["a"]
    await db.close()


@pytest.mark.parametrize("verb", [migrate, recreate])
async def test_a_file_that_is_not_sqlite_is_refused_and_kept(tmp_path, verb):
    path = tmp_path / "notes.txt"
    path.write_text("not a database, but someone's text" * 100)
    with pytest.raises(SchemaRefused, match="is not a SQLite database"):
        await verb(DatabaseOptions(f"sqlite://{path}"), now=0)
    assert path.read_text().startswith("not a database")


async def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path):
    (tmp_path / "a.db").mkdir()
    with pytest.raises(DatabaseUnavailable, match=r"a\.db cannot be migrated"):
        await migrate(DatabaseOptions(f"sqlite://{tmp_path / 'a.db'}"), now=0)


async def test_a_step_that_breaks_a_foreign_key_is_refused(tmp_path):
    parents = Migration(
        1,
        "parents",
        "create table a (id integer primary key); create table b (a_id integer references a (id));"
        "insert into a values (1); insert into b values (1)",
        "p",
    )
    orphaning = Migration(2, "orphaning", "delete from a", "o")
    options = DatabaseOptions(f"sqlite://{tmp_path / 'a.db'}")
    await migrate(options, now=0, known=[parents])
    with pytest.raises(DatabaseError, match="it leaves b pointing to nothing in a"):
        await migrate(options, now=0, known=[parents, orphaning])


async def test_the_migration_of_conduct_keeps_watches(empty_database_url):
    """R94, R97: what was due is due, in its order, and no wish is made up."""
    options, steps = DatabaseOptions(empty_database_url), available(engine_of(empty_database_url))
    await migrate(options, now=0, known=[step for step in steps if step.version < CONDUCT])
    for number in (1, 2):
        await run_on(
            empty_database_url,
            f"insert into feed (id, link, created_at, updated_at) values ({number}, 'https://a/{number}', 1, 1)",
        )
        await run_on(
            empty_database_url,
            "insert into watch (feed_id, host, priority, next_check_at, etag, last_checked_at, created_at)"
            f" values ({number}, 'a.example', 2, {9 - number}, '\"{number}\"', 1, 1)",
        )
    await migrate(options, now=0)
    db = await open_database(options)
    claimed = await db.with_tx(lambda tx: claim_due_watches_tx(tx, {2: 10}, now=Millis(9), lease=Millis(1)))
    assert sorted((watch.waits_since, watch.etag, watch.unended) for watch in claimed) == [(7, '"2"', 0), (8, '"1"', 0)]
    await db.close()


async def test_the_step_of_absences_keeps_releases_as_available(empty_database_url):
    """R100: nothing was counted before, so nothing was absent."""
    options, steps = DatabaseOptions(empty_database_url), available(engine_of(empty_database_url))
    await migrate(options, now=0, known=[step for step in steps if step.version < ABSENCES])
    is_sqlite = engine_of(empty_database_url) == "sqlite"
    for row in A_RELEASE:
        await run_on(empty_database_url, row.replace("ID16", f"x'{ID}'" if is_sqlite else f"'\\x{ID}'"))
    await migrate(options, now=0)
    db = await open_database(options)
    [kept] = await db.read(lambda tx: known_releases_tx(tx, SeriesSourceId(1)))
    assert (kept.key, kept.is_available, kept.absences, kept.last_seen_at) == ("n:1", True, 0, 7)
    await db.close()


async def test_r9_sources_that_shared_a_uid_are_told_apart(empty_database_url):
    """The oldest keeps it: that is the one that other programs may know."""
    options, steps = DatabaseOptions(empty_database_url), available(engine_of(empty_database_url))
    await migrate(options, now=0, known=[step for step in steps if step.version < SOURCE_UIDS])
    for number, uid in ((100000, 7), (100001, 7), (100002, 8), (100003, 7)):
        row = {"id": str(number), "uid": str(uid), "name": f"'{number}'", "slug": f"'{number}'", "base_url": "''"}
        columns, values = zip(*(row | WRITTEN).items(), strict=True)
        await run_on(empty_database_url, f"insert into source ({', '.join(columns)}) values ({', '.join(values)})")
    await migrate(options, now=0)
    db = await open_database(options)
    kept, _ = await db.read(lambda tx: list_sources_tx(tx, SourceFilter(), Slice()))
    assert [source.uid for source in kept] == [7, 100001, 8, 100003]
    await db.close()


async def test_r107_device_passwords_that_could_never_work_are_removed(empty_database_url, capsys):
    """With a line in the log; those that are good for something else stay for that."""
    options, steps = DatabaseOptions(empty_database_url), available(engine_of(empty_database_url))
    await migrate(options, now=0, known=[step for step in steps if step.version < DEVICE_PASSWORDS])
    hexed = ("x'{}'" if engine_of(empty_database_url) == "sqlite" else "'\\x{}'").format
    for row in A_PERSON:
        await run_on(empty_database_url, row.format(hexed(ID)))
    for number, (kind, scopes) in enumerate(HELD):
        ids = hexed(f"{number:032x}"), hexed(f"{number:064x}")
        await run_on(empty_database_url, A_TOKEN.format(*ids, kind, scopes))
    await migrate(options, now=0)
    db = await open_database(options)
    kept = await db.read(lambda tx: tx.many(str, a_query("select kind || ' ' || scopes from api_token order by id")))
    assert kept == ["token read", "device opds", "device greader"]
    await db.close()
    assert "removed_by_migration" in capsys.readouterr().out


CONDUCT = 5
DEVICE_PASSWORDS = 13
HELD = [
    ("token", "read"),
    ("device", "fever"),
    ("device", "opds koreader"),
    ("device", "fever greader koreader"),
    ("device", "koreader"),
]
A_PERSON = (
    "insert into tenant (id, public_id, name, anchor_at, created_at, updated_at) values (1, {0}, 'a', 1, 1, 1)",
    (
        "insert into user_account (id, public_id, tenant_id, username, role, created_at, updated_at)"
        " values (1, {0}, 1, 'ann', 'reader', 1, 1)"
    ),
)
A_TOKEN = (
    "insert into api_token (public_id, user_id, name, kind, key_hash, scopes, created_at)"
    " values ({0}, 1, 'a', '{2}', {1}, '{3}', 1)"
)
SOURCE_UIDS = 11
ABSENCES = 6
ID = "00" * 16
WRITTEN = {"created_at": "1", "updated_at": "1"}
A_RELEASE = [
    f"insert into {table} ({', '.join(row)}) values ({', '.join(row.values())})"
    for table, row in (
        ("source", {"id": "1", "uid": "1", "name": "'a'", "slug": "'a'", "base_url": "'https://a'"} | WRITTEN),
        ("series", {"id": "1", "public_id": "ID16", "title": "'a'", "match_key": "'a'"} | WRITTEN),
        (
            "series_source",
            {"id": "1", "series_id": "1", "source_id": "1", "source_key": "'a'", "url": "'https://a/1'"} | WRITTEN,
        ),
        ("chapter", {"id": "1", "series_id": "1", "key": "'1'", "first_seen_at": "1", "updated_at": "1"}),
        (
            "release",
            {"chapter_id": "1", "series_source_id": "1", "key": "'n:1'", "url": "'https://a/1/1'"}
            | {"content_hash": "ID16", "first_seen_at": "1", "last_seen_at": "7"},
        ),
    )
]


def engine_of(url):
    return "sqlite" if url.startswith("sqlite:") else "postgres"


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_steps_are_numbered_without_a_gap_or_a_double(engine):
    versions = [step.version for step in available(engine)]
    assert versions == list(range(1, len(versions) + 1))
