"""Crawl jobs and the audit log under retention, what is shown before, and feeds that move."""

import pytest

from tests.builders import NOON, a_public_id, stored_source
from tests.retention.builders import SimulatedServer
from tsuzuki.db import DatabaseOptions, open_database
from tsuzuki.db.errors import DatabaseError
from tsuzuki.db.migrate import migrate
from tsuzuki.db.migration_steps import available
from tsuzuki.db.queries import parse_queries
from tsuzuki.http.metrics import Metrics
from tsuzuki.model.times import DAY, Millis
from tsuzuki.polling.moved_feeds import merge_moved_tx
from tsuzuki.retention.policy import NEWEST_KEPT, RetentionRules
from tsuzuki.retention.preview import MOST_SHOWN
from tsuzuki.shelves.types import SubscriptionChange
from tsuzuki.transfer.archive.store import archived_gone_tx

MONTH = Millis(30 * DAY)
A = "https://a.example/feed"
B = "https://b.example/feed"

q = parse_queries(
    "tests",
    """
-- name: add_job
insert into crawl_job (
  public_id, kind, source_id, source_name, source_slug, status, scheduled_at, finished_at, task_id, created_at,
  updated_at
)
values (:public_id, 'targeted', :source_id, 'Source', 'source', 'failed', :at, :at, 1, :at, :at)
returning id;
-- name: jobs
select id from crawl_job order by id;
-- name: disable_by
update source set disabled_by_job = :job where id = :id;
-- name: add_log
insert into crawl_log (id, job_id, level, message, created_at) values (:id, :job, 'info', 'A line', :at);
-- name: add_audit
insert into audit (at, actor, action, entity_type, entity_id) values (:at, 'system', 'x', 'feed', '1');
-- name: audited
select at from audit order by at;
-- name: drop_audit
delete from audit where at = :at;
-- name: known_to
select key from entry_tombstone where shelf_id = :shelf_id and feed_id = :feed_id order by key;
-- name: watch_of
select watch.id from watch join feed on feed.id = watch.feed_id where feed.link = :link;
-- name: add_tenant
insert into tenant (public_id, name, anchor_at, created_at, updated_at) values (:public_id, 'A', 0, 0, 0);
-- name: add_shelf
insert into shelf (public_id, tenant_id, name, plan, created_at, updated_at)
select :public_id, id, 'Shelf', 'self-hosted', 0, 0 from tenant;
-- name: add_group
insert into shelf_group (public_id, shelf_id, name, is_default, created_at, updated_at)
select :public_id, id, 'Default', true, 0, 0 from shelf;
-- name: add_feed
insert into feed (link, title, created_at, updated_at) values (:link, 'A feed', 5, 6);
-- name: add_subscriptions
insert into subscription (public_id, shelf_id, feed_id, group_id, retention, created_at, updated_at)
select :public_id, shelf_group.shelf_id, feed.id, shelf_group.id, cast(:retention as bigint), 0, 0
from feed cross join shelf_group where feed.link = :link;
-- name: retentions
select coalesce(retention, -1) as retention from subscription order by id;
-- name: keep_for_ever
update subscription set retention = 0;
""",
)


@pytest.fixture
async def server(db):
    rules = RetentionRules(keep_read=MONTH, keep_jobs=MONTH, keep_audit=MONTH)
    return SimulatedServer(db, rules)


async def a_job(db, source, age, *, logged=False):
    at = Millis(NOON - age)
    job = await db.with_tx(lambda tx: tx.one(int, q.add_job, public_id=a_public_id(), source_id=source, at=at))
    if logged:
        await db.with_tx(lambda tx: tx.run(q.add_log, id=a_public_id(), job=job, at=at))
    return job


async def test_old_jobs_go_but_the_last_and_the_logged(db, server):
    """R52: none goes before its log. The one that disabled its source stays too."""
    busy, resting = await stored_source(db), await stored_source(db)
    old = [await a_job(db, busy, 40 * DAY) for _ in range(3)]
    logged = await a_job(db, busy, 39 * DAY, logged=True)
    disabling = await a_job(db, busy, 38 * DAY)
    young = await a_job(db, busy, DAY)
    await a_job(db, resting, 60 * DAY)
    last = await a_job(db, resting, 50 * DAY)
    gone = await a_job(db, 999_999, 50 * DAY)
    await db.with_tx(lambda tx: tx.run(q.disable_by, id=busy, job=disabling))
    assert (await server.preview.removable())[2].rows == 5
    assert await server.pruner.prune() == {"jobs": 5}
    assert await db.read(lambda tx: tx.many(int, q.jobs)) == [logged, disabling, young, last]
    assert gone not in old


async def test_old_audit_rows_go_and_no_others_can(db, server):
    """The schema still refuses to delete what is younger than the setting."""
    for age in (0, 29, 31, 60):
        await db.with_tx(lambda tx, at=NOON - age * DAY: tx.run(q.add_audit, at=at))
    with pytest.raises(DatabaseError, match="append-only"):
        await db.with_tx(lambda tx: tx.run(q.drop_audit, at=NOON - 60 * DAY))
    assert await server.pruner.prune() == {"audit": 2}
    assert await db.read(lambda tx: tx.many(int, q.audited)) == [NOON - 29 * DAY, NOON]
    with pytest.raises(DatabaseError, match="append-only"):
        await db.with_tx(lambda tx: tx.run(q.drop_audit, at=NOON - 29 * DAY))


async def test_settings_of_0_keep_jobs_and_audit_for_ever(db):
    server = SimulatedServer(db, RetentionRules(keep_read=Millis(0), keep_jobs=Millis(0), keep_audit=Millis(0)))
    for _ in range(2):
        await a_job(db, 1, 4000 * DAY)
    await db.with_tx(lambda tx: tx.run(q.add_audit, at=1))
    assert [each.rows for each in await server.preview.removable()] == [0, 0, 0, 0]
    assert await server.pruner.prune() == {}


# -- what is shown before


async def test_what_is_shown_before_is_what_goes(server):
    """Items are counted as if their entries had gone already. Counting ends in time and says so."""
    server.publish(A, *(f"{number:03}" for number in range(NEWEST_KEPT + 7)), words="Words " * 50)
    shelf, _other = await server.reader(A), await server.reader(B)
    await server.poll()
    await server.read(shelf)
    server.clock.turn(2 * MONTH)
    server.publish(A, "new")
    server.publish(B, "other")
    await server.poll()
    shown = {each.what: each for each in await server.preview.removable()}
    assert (shown["entries"].rows, shown["items"].rows) == (NEWEST_KEPT + 7, 8)
    assert 8 * 1000 < shown["items"].bytes < 8 * 5000
    assert not shown["items"].is_more
    hurried = await server.preview.removable(patience=0)
    assert [(each.rows, each.is_more) for each in hurried[:2]] == [(0, True), (0, True)]
    assert await server.pruner.prune() == {"entries": NEWEST_KEPT + 7, "items": 8}


async def test_forms_are_told_what_each_choice_removes(server):
    server.publish(A, "1", "2", "3")
    server.publish(B, "4", "5")
    shelf = await server.reader(A, B)
    await server.poll()
    rows = await server.rows(shelf)
    await server.read(shelf, [row.id for row in rows if row.key in "14"])
    server.clock.turn(10 * DAY)
    await server.read(shelf, [row.id for row in rows if row.key in "25"])
    server.clock.turn(10 * DAY)
    first, second = await server.subscriptions.list(shelf)
    spans = [Millis(days * DAY) for days in (5, 15, 25, 0)]
    of_feed = await server.preview.of_feed(shelf, first.feed_id, spans)
    assert [each.entries for each in of_feed] == [2, 1, 0, 0]
    of_shelf = await server.preview.of_shelf(shelf, spans)
    assert [each.entries for each in of_shelf] == [4, 2, 0, 0]
    await server.subscriptions.change(shelf, second.public_id, SubscriptionChange(retention=Millis(0)))
    assert (await server.preview.of_shelf(shelf, spans))[0].entries == 2
    assert MOST_SHOWN > 1000


def test_what_was_removed_is_a_metric():
    metrics = Metrics(version="1", engine="sqlite")
    metrics.pruned("entries", 7)
    assert b'tsuzuki_pruned_rows_total{what="entries"} 7.0' in metrics.render()


# -- feeds that move


async def pruned_of(server, link):
    """A shelf that read all of a feed, of which two items were removed then."""
    server.publish(link, *(f"{number:03}" for number in range(NEWEST_KEPT + 2)))
    shelf = await server.reader(link)
    await server.poll()
    await server.read(shelf)
    server.clock.turn(2 * MONTH)
    await server.pruner.prune()
    assert (await server.counts()).tombstones == 2
    return shelf


async def test_a_merge_keeps_what_was_removed_away(db, server):
    """Its followers had it: the other feed brings it to everybody else only."""
    shelf = await pruned_of(server, A)
    other = await server.reader(B)
    await server.poll()
    [old] = await server.subscriptions.list(shelf)
    watch = await server.poller.lease(await db.read(lambda tx: tx.one(int, q.watch_of, link=A)))
    await db.with_tx(lambda tx: merge_moved_tx(tx, watch, old.feed_id, B, proxy="", now=server.clock.now))
    server.publish(B, "000", "fresh")
    await server.poll()
    assert [row.key for row in await server.rows(shelf) if row.unread] == ["fresh"]
    assert [row.key for row in await server.rows(other) if row.unread] == ["000", "fresh"]


async def test_another_link_keeps_what_was_removed_away(server):
    shelf = await pruned_of(server, A)
    server.publish(B, "000", "fresh")
    [feed] = await server.subscriptions.list(shelf)
    moved = await server.subscriptions.change(shelf, feed.public_id, SubscriptionChange(link=B))
    assert moved.feed_id == feed.feed_id
    assert (await server.counts()).tombstones == 0
    await server.poll()
    assert [row.key for row in await server.rows(shelf) if row.unread] == ["fresh"]
    later = await server.reader(B)
    assert await server.keys(later) == ["000", "fresh"]


async def test_an_archive_tells_what_was_removed(db, server):
    """Else it would be news where the archive is read."""
    shelf = await pruned_of(server, A)
    [feed] = await server.subscriptions.list(shelf)
    gone = await db.read(lambda tx: archived_gone_tx(tx, shelf, feed.feed_id, after="", most=2))
    assert gone == ["000", "001"]


async def test_detached_articles_leave_a_tombstone_of_their_shelf(db, server):
    """REL-39d: no feed holds them, so no feed could know them."""
    server.publish(A, "1", "last")
    shelf = await server.reader(A)
    await server.poll()
    await server.read(shelf)
    [feed] = await server.subscriptions.list(shelf)
    server.publish(B, "other")
    await server.subscriptions.change(shelf, feed.public_id, SubscriptionChange(link=B))
    await server.poll()
    server.clock.turn(2 * MONTH)
    assert await server.pruner.prune() == {"entries": 2}
    known = await db.read(lambda tx: tx.many(str, q.known_to, shelf_id=shelf, feed_id=feed.feed_id))
    assert known == ["1", "last"]


# -- the migration


async def test_settings_of_before_stay_and_0_is_allowed_now(empty_database_url):
    options = DatabaseOptions(empty_database_url)
    steps = available("sqlite" if empty_database_url.startswith("sqlite") else "postgres")
    [number] = [step.version for step in steps if step.name == "retention"]
    await migrate(options, now=0, known=[step for step in steps if step.version < number])
    db = await open_database(options)

    async def fill(tx):
        for query in (q.add_tenant, q.add_shelf, q.add_group):
            await tx.run(query, public_id=a_public_id())
        for link, retention in ((A, 30 * DAY), (B, None)):
            await tx.run(q.add_feed, link=link)
            await tx.run(q.add_subscriptions, public_id=a_public_id(), link=link, retention=retention)

    await db.with_tx(fill)
    await db.close()
    await migrate(options, now=0)
    db = await open_database(options)
    assert await db.read(lambda tx: tx.many(int, q.retentions)) == [30 * DAY, -1]
    await db.with_tx(lambda tx: tx.run(q.keep_for_ever))
    assert await db.read(lambda tx: tx.many(int, q.retentions)) == [0, 0]
    await db.close()
