"""A refusal of the database has the same name and says the same on both engines."""

import pytest

from tests.builders import a_public_id, stored_feed, stored_shelf, stored_source
from tests.db.builders import a_query, add_link_tx, q
from tsuzuki.db.errors import CheckViolation, DatabaseError, ForeignKeyViolation, UniqueViolation
from tsuzuki.model.errors import Conflict

ADD_JOB = a_query("""
insert into crawl_job (public_id, kind, source_id, source_name, source_slug, scheduled_at, created_at, updated_at)
values (:public_id, 'discovery', 1, 'a', 'a', 0, 0, 0)""")
ADD_META = a_query("insert into source_meta (source_id, key, value) values (:source_id, 'k', :value)")
ADD_WATCH = a_query("""
insert into watch (feed_id, host, next_check_at, created_at) values (:feed_id, 'example.org', 0, 0)""")


async def refusal(db, query, **params):
    with pytest.raises((Conflict, DatabaseError)) as caught:
        await db.with_tx(lambda tx: tx.run(query, **params))
    return caught.value


async def test_a_composite_key_is_named_by_table_and_columns(db):
    await db.with_tx(lambda tx: add_link_tx(tx, "a"))
    error = await refusal(db, q.add_link, link="a")
    assert isinstance(error, UniqueViolation)
    assert error.on == "feed.link,proxy"
    assert error.code == "CONFLICT"


async def test_a_composite_primary_key_is_named_alike(db):
    source_id = await stored_source(db)
    await db.with_tx(lambda tx: tx.run(ADD_META, source_id=source_id, value="v"))
    error = await refusal(db, ADD_META, source_id=source_id, value="w")
    assert isinstance(error, UniqueViolation)
    assert error.on == "source_meta.source_id,key"


async def test_a_single_key_is_named_by_table_and_column(db):
    feed_id = await stored_feed(db)
    await db.with_tx(lambda tx: tx.run(ADD_WATCH, feed_id=feed_id))
    error = await refusal(db, ADD_WATCH, feed_id=feed_id)
    assert isinstance(error, UniqueViolation)
    assert error.on == "watch.feed_id"


async def test_an_index_over_an_expression_is_named_by_its_name(db):
    await db.with_tx(lambda tx: tx.run(ADD_JOB, public_id=a_public_id()))
    error = await refusal(db, ADD_JOB, public_id=a_public_id())
    assert isinstance(error, UniqueViolation)
    assert error.on == "crawl_job_active"


async def test_pointing_to_a_row_that_is_not_there_is_refused(db):
    assert isinstance(await refusal(db, ADD_META, source_id=1, value="v"), ForeignKeyViolation)


ADD_TENANT = a_query("""
insert into tenant (id, public_id, name, anchor_at, created_at, updated_at) values (1, :public_id, 't', 0, 0, 0)""")
ADD_CREDIT = a_query(
    "insert into credit (tenant_id, amount_cents, kind, reason, created_at) values (1, 1, 'granted', 'gift', 0)"
)


async def test_deleting_a_row_that_is_held_is_refused(db):
    """ON DELETE RESTRICT, which PostgreSQL 18 and SQLite both report as something else than a missing key."""
    await db.with_tx(lambda tx: tx.run(ADD_TENANT, public_id=a_public_id()))
    await db.with_tx(lambda tx: tx.run(ADD_CREDIT))
    assert isinstance(await refusal(db, a_query("delete from tenant")), ForeignKeyViolation)


@pytest.mark.parametrize(
    "sql",
    [
        "update feed set created_at = null",
        "update feed set link = null",
        "update shelf set status = 'asleep'",
        "insert into watch (host, next_check_at, created_at) values ('example.org', 0, 0)",
        "insert into tenant (public_id, name, anchor_at, created_at, updated_at) select :short, 't', 0, 0, 0",
    ],
)
async def test_a_value_that_the_schema_forbids_is_refused(db, sql):
    await stored_feed(db)
    await stored_shelf(db)
    params = {"short": b"short"} if ":short" in sql else {}
    assert isinstance(await refusal(db, a_query(sql), **params), CheckViolation)


async def test_invalid_sql_is_our_mistake(db):
    error = await refusal(db, q.broken)
    assert type(error) is DatabaseError
    assert "no_such_column" in str(error)


async def test_a_value_of_the_wrong_type_is_our_mistake(db):
    """Not a lost connection, although asyncpg's message holds the value."""
    await stored_feed(db)
    error = await refusal(db, a_query("update feed set created_at = :at"), at="connection is closed")
    assert isinstance(error, DatabaseError)
