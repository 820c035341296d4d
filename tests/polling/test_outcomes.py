"""Answers that are saved together: each as if it were saved alone."""

import asyncio

import asyncpg
import msgspec
import pytest

from tests.builders import NOON, a_hash, stored_feed, stored_watch
from tests.net.builders import answer
from tests.polling.builders import PACE, Clock, a_feed, a_poller, a_publisher, item_batches, state
from tsuzuki.db.measured import MeasuredDatabase
from tsuzuki.db.queries import parse_queries
from tsuzuki.ingest.items import ItemBatch
from tsuzuki.model.times import HOUR, MINUTE, SECOND, Millis
from tsuzuki.polling.outcomes import (
    EndedPoll,
    FeedMetadata,
    Outcomes,
    PollAnswer,
    PollContext,
    describe_feeds_tx,
    save_answers_tx,
)
from tsuzuki.polling.service import PollResult
from tsuzuki.polling.store import claim_watch_tx
from tsuzuki.queue.tasks import NewTask

LEASE = Millis(30 * SECOND)
LATER = Millis(NOON + SECOND)

q = parse_queries(
    "tests",
    """
-- name: fill
update watch set last_full_at = 1, first_harvest_at = 2, consecutive_failures = 3, last_error = 'no', gone_since = 4
where id = :id;
-- name: whole
select json_object('lease', lease_until, 'next', next_check_at, 'why', next_check_why, 'class', priority, 'etag', etag,
  'modified', last_modified, 'cache', cache_control, 'expires', expires_at, 'retry', retry_after_until,
  'hash', hex(body_hash), 'checked', last_checked_at, 'full', last_full_at, 'status', last_http_status,
  'success', last_success_at, 'error', last_error, 'failures', consecutive_failures, 'first', first_harvest_at,
  'moved', moved_to, 'times', moved_count, 'since', moved_since, 'gone', gone_since, 'suspended', suspended_at,
  'reason', suspended_reason) from watch where id = :id;
-- name: feed_metadata
select title, description, has_unstable_keys from feed where id = :id;
""",
    """
-- name: whole
select cast(to_jsonb(watch) - 'id' - 'feed_id' as text) from watch where id = :id;
""",
)


class MetadataRow(msgspec.Struct, frozen=True):
    title: str
    description: str | None
    has_unstable_keys: bool


PLAIN = PollAnswer(next_check_at=Millis(NOON + HOUR), why="the pull interval", priority=1, status=304, etag='"a"')
FULL = PollAnswer(
    next_check_at=Millis(NOON + HOUR),
    why="いつか",
    priority=3,
    status=200,
    etag='W/"\\"',
    last_modified="Tue",
    cache_control="max-age=60",
    expires_at=Millis(NOON + MINUTE),
    retry_after_until=Millis(2**52),
    body_hash=a_hash("body"),
    last_full_at=LATER,
    harvested_at=LATER,
    as_of=NOON,
    moved_to="https://example.org/new",
    moved_count=2,
    moved_since=NOON,
    suspended_at=LATER,
    suspended_reason="complete",
)


def outcomes_of(db):
    return Outcomes(db, PollContext(PACE, Clock(), lambda: 0.0))


async def claimed(db, count):
    made = [await stored_watch(db, await stored_feed(db)) for _ in range(count)]
    return [await db.with_tx(lambda tx, each=each: claim_watch_tx(tx, each, now=NOON, lease=LEASE)) for each in made]


async def saved(outcomes, watches, answers=PLAIN):
    answers = answers if isinstance(answers, list) else [answers] * len(watches)
    return await asyncio.gather(
        *(
            outcomes.save_batched(EndedPoll(watch, answer, LATER))
            for watch, answer in zip(watches, answers, strict=True)
        )
    )


@pytest.mark.parametrize("answer", [PLAIN, FULL], ids=["plain", "full"])
async def test_an_answer_saved_with_others_equals_one_alone(db, answer):
    together, other, alone = await claimed(db, 3)
    for watch in (together, alone):
        await db.with_tx(lambda tx, watch=watch: tx.run(q.fill, id=watch.id))
    assert await saved(outcomes_of(db), [together, other], [answer, PLAIN]) == [True, True]
    assert await db.with_tx(lambda tx: save_answers_tx(tx, [EndedPoll(alone, answer, LATER)], waits=True))
    rows = [await db.read(lambda tx, watch=watch: tx.one(str, q.whole, id=watch.id)) for watch in (together, alone)]
    assert rows[0] == rows[1]


async def test_concurrent_answers_share_one_transaction_and_later_ones_another(db):
    watches = await claimed(db, 30)
    transactions = []
    outcomes = outcomes_of(MeasuredDatabase(db, lambda *_: transactions.append(1)))
    first = asyncio.ensure_future(saved(outcomes, watches[:10]))
    for _ in range(3):  # until the first transaction is on its way
        await asyncio.sleep(0)
    assert await saved(outcomes, watches[10:]) == [True] * 20
    assert await first == [True] * 10
    assert len(transactions) == 2
    assert {(await state(db, watch.id)).next_check_at for watch in watches} == {NOON + HOUR}
    assert await saved(outcomes, watches[:1]) == [True]  # and once more after a rest


async def test_i4_whoever_lost_the_lease_writes_nothing_and_blocks_nobody(db):
    first, late, last = await claimed(db, 3)
    async with a_poller(db, Clock(Millis(NOON + LEASE))) as poller:
        taken = await poller.lease(late.id)
    before = await state(db, late.id)
    assert await saved(outcomes_of(db), [first, late, last]) == [True, False, True]
    assert await state(db, late.id) == before
    assert await saved(outcomes_of(db), [taken]) == [True]


async def test_i4_of_two_polls_only_the_leaseholder_writes(db):
    """In one process, after it stood still for longer than the lease."""
    (late,) = await claimed(db, 1)
    async with a_poller(db, Clock(Millis(NOON + LEASE))) as poller:
        taken = await poller.lease(late.id)
    newer = msgspec.structs.replace(PLAIN, etag='"b"')
    assert await saved(outcomes_of(db), [late, taken], [PLAIN, newer]) == [False, True]
    assert (await state(db, late.id)).etag == '"b"'


async def test_an_unsavable_answer_leaves_the_others_to_retry_alone(db):
    watches = await claimed(db, 3)
    poison = msgspec.structs.replace(PLAIN, priority=9)
    assert await saved(outcomes_of(db), watches, [PLAIN, poison, PLAIN]) == [False] * 3
    assert {(await state(db, watch.id)).last_http_status for watch in watches} == {None}
    for watch in (watches[0], watches[2]):
        assert await db.with_tx(
            lambda tx, watch=watch: save_answers_tx(tx, [EndedPoll(watch, PLAIN, LATER)], waits=True)
        )


async def test_whoever_is_cancelled_before_it_is_written_is_left_out(db):
    one, other = await claimed(db, 2)
    outcomes = outcomes_of(db)
    waiting = [asyncio.ensure_future(outcomes.save_batched(EndedPoll(watch, PLAIN, LATER))) for watch in (one, other)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    assert await asyncio.gather(*waiting, return_exceptions=True) != [True, True]
    assert waiting[1].result()
    assert (await state(db, one.id)).last_http_status is None


@pytest.mark.parametrize("engine", ["postgres"])
async def test_one_that_somebody_else_holds_is_not_waited_for(db, database_url):
    """So that it can be part of no deadlock: it holds the others meanwhile."""
    one, held, other = await claimed(db, 3)
    stranger = await asyncpg.connect(database_url)
    try:
        async with stranger.transaction():
            await stranger.execute("update watch set refresh_at = 1 where id = $1", held.id)
            assert await saved(outcomes_of(db), [one, held, other]) == [True, False, True]
    finally:
        await stranger.close()
    assert await saved(outcomes_of(db), [held]) == [True]


def news_of(watches):
    """A feed's metadata and one item each, as a poll would hand them on."""
    return [
        (
            FeedMetadata(
                id=watch.feed_id,
                now=LATER,
                title=f"Title {watch.id}",
                site_url=None,
                description="いつか",
                language=None,
                icon_url=None,
                hub_url=None,
                has_unstable_keys=True,
            ),
            (NewTask(f"ingest-{watch.id}-1-0", a_batch(watch), watch.priority),),
        )
        for watch in watches
    ]


def a_batch(watch):
    return ItemBatch(watch_id=watch.id, feed_id=watch.feed_id, items=(), is_first_harvest=False)


async def saved_with_news(db, watches, answers):
    outcomes, news = outcomes_of(db), news_of(watches)
    ended = [EndedPoll(watch, answers[place], LATER, *news[place]) for place, watch in enumerate(watches)]
    return await asyncio.gather(*map(outcomes.save_batched, ended))


async def stored_metadata(db, watches):
    return [
        await db.read(lambda tx, feed=watch.feed_id: tx.one(MetadataRow, q.feed_metadata, id=feed)) for watch in watches
    ]


async def test_i4_tasks_are_enqueued_with_answers_only_under_a_lease(db):
    watches = await claimed(db, 3)
    async with a_poller(db, Clock(Millis(NOON + LEASE))) as poller:
        await poller.lease(watches[1].id)
    before = (await stored_metadata(db, watches))[1]
    assert await saved_with_news(db, watches, [PLAIN] * 3) == [True, False, True]
    first, lost, last = await stored_metadata(db, watches)
    assert lost == before
    assert first == MetadataRow(f"Title {watches[0].id}", "いつか", has_unstable_keys=True)
    assert last.title == f"Title {watches[2].id}"
    batches = await item_batches(db)
    assert sorted(batch.watch_id for batch in batches) == [watches[0].id, watches[2].id]


async def test_enqueued_tasks_wait_while_an_answer_is_unsavable(db):
    watches = await claimed(db, 2)
    before = await stored_metadata(db, watches)
    poison = msgspec.structs.replace(PLAIN, priority=9)
    assert await saved_with_news(db, watches, [PLAIN, poison]) == [False, False]
    assert await item_batches(db) == []
    assert await stored_metadata(db, watches) == before


async def test_polls_with_news_that_end_together_share_their_transactions(db):
    clock, transactions = Clock(), []
    measured = MeasuredDatabase(db, lambda *_: transactions.append(1))
    async with a_publisher() as publisher, a_poller(measured, clock, per_host=9) as poller:
        feeds = [await stored_feed(db, f"{publisher.url}/{number}") for number in range(8)]
        watches = [await stored_watch(db, feed, host="127.0.0.1") for feed in feeds]
        publisher.response = answer(200, a_feed("1", "2", title="Harbour"), etag='"a"')
        publisher.delay = 0.05
        polls = await poller.claim(8, {})
        transactions.clear()
        assert await asyncio.gather(*map(poller.poll, polls)) == [PollResult("changed", 2)] * 8
    compared = 8
    assert len(transactions) < compared + 8
    batches = await item_batches(db)
    assert sorted(batch.watch_id for batch in batches) == sorted(watches)
    assert {len(batch.items) for batch in batches} == {2}
    assert {each.title for each in await stored_metadata(db, polls)} == {"Harbour"}


async def test_polls_that_end_together_each_say_what_became_of_them(db):
    """I4: of three that have nothing new, one lost its lease while it called."""
    clock, transactions = Clock(), []
    measured = MeasuredDatabase(db, lambda *_: transactions.append(1))
    async with a_publisher() as publisher, a_poller(measured, clock, per_host=9) as poller:
        feeds = [await stored_feed(db, f"{publisher.url}/{number}") for number in range(3)]
        watches = [await stored_watch(db, feed, host="127.0.0.1") for feed in feeds]
        publisher.response = answer(200, a_feed("1"), etag='"a"')
        await asyncio.gather(*(poller.poll(watch) for watch in await poller.claim(3, {})))
        publisher.response = answer(304, b"")
        publisher.delay = 0.05
        clock.turn(HOUR)
        polls = await poller.claim(3, {})
        transactions.clear()
        polling = [asyncio.ensure_future(poller.poll(watch)) for watch in polls]
        clock.turn(LEASE)
        taken = await poller.lease(polls[1].id)
        assert taken is not None
        assert [await each for each in polling] == [
            PollResult("unchanged"),
            PollResult("lost"),
            PollResult("unchanged"),
        ]
        assert len(transactions) <= 5  # the lease, at most three that save, and one alone
        publisher.delay = 0
        assert await poller.poll(taken) == PollResult("unchanged")
    assert {(await state(db, watch)).last_http_status for watch in watches} == {304}


async def test_only_changed_feed_metadata_is_written(db):
    (watch,) = await claimed(db, 1)
    ((metadata, _),) = news_of([watch])
    before = msgspec.structs.replace(metadata, title="Title")

    async def written(**over):
        told = msgspec.structs.replace(before, **over)
        return await db.with_tx(lambda tx: describe_feeds_tx(tx, [told]))

    assert [await written(), await written()] == [1, 0]
    for over in ({"title": "Other"}, {"site_url": "https://example.org/"}, {"description": "x"}, {"language": "en"}):
        assert await written(**over) == 1, over
    for over in ({"icon_url": "https://example.org/i"}, {"hub_url": "https://example.org/h"}):
        assert await written(**over) == 1, over
    assert await written(title="", description=None, has_unstable_keys=False) == 1
    assert await written(title="", description=None, has_unstable_keys=False) == 0
