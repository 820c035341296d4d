"""Whoever wants to be told is told, once for each installment, and a channel that fails neither loses nor floods."""

import asyncio
import base64
import hashlib
import hmac
import re

import pytest

from tests.builders import NOON, a_new_item, store_items_tx, stored_feed, stored_series
from tests.crawler.builders import given_up
from tests.delivery.builders import (
    a_followed_feed,
    a_followed_series,
    a_reader,
    deliver_items_tx,
    entry_ids,
    follow,
    publish,
    release,
    subscribe,
    subscribe_tx,
    task_keys,
)
from tests.notifications.receivers import Receiver, a_notifier, a_receiver
from tests.waiting import eventually
from tsuzuki.accounts.types import SYSTEM
from tsuzuki.crawler.dead_letters import DeadLetters
from tsuzuki.db import Tx
from tsuzuki.delivery.fanout import AT_ONCE, SETTLING
from tsuzuki.model.ids import show_id
from tsuzuki.model.times import DAY, HOUR, MINUTE, SECOND, Millis, iso
from tsuzuki.net.guard import AddressGuard
from tsuzuki.notifications.channels import ChannelChange
from tsuzuki.notifications.kinds.base import ChannelId
from tsuzuki.notifications.policy import FAILURES, LONGEST_REST, NEWS_UNTIL, breaker_pause, is_stale
from tsuzuki.notifications.sender import Sender
from tsuzuki.notifications.store import channel_failed_tx, channel_worked_tx
from tsuzuki.notifications.tasks import NOTICES, SENDS, Message, Send
from tsuzuki.shelves.backfill import deliver_known_items_tx


def titles(receiver: Receiver) -> list[tuple[str, str]]:
    return sorted((got.document["type"], got.document["data"]["text"]) for got in receiver.got)


# -- who is told of what


async def test_a_new_chapter_is_sent_once_to_every_channel(db, notifier, receiver):
    series, readers = await a_followed_series(db, readers=3)
    for reader in readers[:2]:
        await notifier.webhook(reader, receiver.url)
    async with notifier.open():
        notifier.wakeup.wake(*(await release(db, series, [45])).wakeups)
        await notifier.until_idle()
    assert titles(receiver) == [("chapter.new", "Chapter 45")] * 2
    assert len({got.id for got in receiver.got}) == 2


async def test_a_notice_uses_the_readers_own_feed_name(db, notifier, receiver):
    feed, reader = await stored_feed(db), await a_reader(db)
    await subscribe(db, reader, feed, name="My paper")
    await notifier.webhook(reader, receiver.url)
    await publish(db, feed, "ab")
    async with notifier.open():
        await notifier.until_idle()
    assert titles(receiver) == [("item.new", "Item a"), ("item.new", "Item b")]
    assert {got.document["data"]["title"] for got in receiver.got} == {"My paper"}


async def test_a_notice_without_title_uses_words_or_day(db, notifier, receiver):
    """R103."""
    feed, [reader] = await a_followed_feed(db)
    await notifier.webhook(reader, receiver.url)
    new = [a_new_item("a", title="", content="<p>First words</p>"), a_new_item("b", title="", content="")]

    async def ingest(tx):
        stored = await store_items_tx(tx, feed, new, NOON)
        await deliver_items_tx(tx, feed, [one.id for one in stored], is_first_harvest=False, now=NOON)

    await db.with_tx(ingest)
    async with notifier.open():
        await notifier.until_idle()
    assert titles(receiver) == [("item.new", "First words"), ("item.new", f"New on {iso(NOON)[:10]}")]


async def test_nothing_is_enqueued_where_nobody_has_a_channel(db, notifier):
    feed, _ = await a_followed_feed(db)
    await publish(db, feed, "a")
    assert await task_keys(db, NOTICES.name) == []


async def test_the_keys_of_notices_name_what_is_new(db, notifier, receiver):
    series, [reader] = await a_followed_series(db)
    await notifier.webhook(reader, receiver.url)
    delivered = await release(db, series, [1, 2])
    assert NOTICES.name in delivered.wakeups
    keys = await task_keys(db, NOTICES.name)
    assert [key.rpartition("-")[0] for key in keys] == [f"notify-chapter-{series}"] * 2


async def test_a_muted_follow_gets_its_entry_and_no_notice(db, notifier, receiver):
    series, feed, reader = await stored_series(db), await stored_feed(db), await a_reader(db)
    await follow(db, reader, series, notify=False)
    await subscribe(db, reader, feed, notify=False)
    other = await a_reader(db, feeds=[feed], series=[series])
    await notifier.webhook(reader, f"{receiver.url}/muted")
    await notifier.webhook(other, f"{receiver.url}/told")
    assert (await release(db, series, [1])).entries == 2
    assert (await publish(db, feed, "a")).entries == 2
    async with notifier.open():
        await notifier.until_idle()
    assert [got.path for got in receiver.got] == ["/told", "/told"]


async def test_r8_a_first_harvest_and_a_new_subscription_notify_nobody(db, notifier, receiver):
    feed, [reader] = await a_followed_feed(db)
    series, [fan] = await a_followed_series(db)
    late = await a_reader(db)
    for shelf in (reader, fan, late):
        await notifier.webhook(shelf, receiver.url)
    await publish(db, feed, range(5), first=True)
    await release(db, series, range(1, 6), first=True)

    async def join(tx: Tx) -> None:
        await subscribe_tx(tx, late, feed)
        await deliver_known_items_tx(tx, late, feed, now=NOON)

    await db.with_tx(join)
    async with notifier.open():
        await notifier.until_idle()
    assert receiver.got == []


async def test_subscribing_before_expansion_gives_no_notice_of_older_items(db, notifier, receiver):
    feed, [reader] = await a_followed_feed(db)
    await notifier.webhook(reader, f"{receiver.url}/first")
    await publish(db, feed, "a")
    late = await a_reader(db)
    await notifier.webhook(late, f"{receiver.url}/late")

    async def join(tx: Tx) -> None:
        await subscribe_tx(tx, late, feed)
        await deliver_known_items_tx(tx, late, feed, now=Millis(NOON + 1))

    await db.with_tx(join)
    async with notifier.open():
        await notifier.until_idle()
    assert [got.path for got in receiver.got] == ["/first"]


async def test_rel_29_a_flood_is_stored_and_told_once(db, notifier, receiver):
    feed, [reader] = await a_followed_feed(db)
    await notifier.webhook(reader, receiver.url)
    delivered = [await publish(db, feed, range(start, start + 200)) for start in range(0, 5_000, 200)]
    async with notifier.open():
        notifier.later(SETTLING)
        await notifier.until_idle()
    assert sum(each.entries for each in delivered) == 5_000
    assert titles(receiver) == [("items.new", "5,000 new items")]
    assert receiver.got[0].document["data"]["count"] == 5_000


async def test_rel_29_a_flood_stored_by_many_is_announced_once(db, notifier, receiver):
    series, [reader] = await a_followed_series(db)
    await notifier.webhook(reader, receiver.url)
    batches = [range(start, start + 7) for start in range(1, 71, 7)]
    await asyncio.gather(*(release(db, series, batch) for batch in batches))
    async with notifier.open():
        notifier.later(SETTLING)
        await notifier.until_idle()
    floods = [text for kind, text in titles(receiver) if kind == "chapters.new"]
    assert floods == ["70 new chapters"]
    # Those of the first two batches were told one by one before it was seen to be a flood.
    assert len(receiver.got) == 1 + 14


async def test_what_comes_later_is_no_part_of_the_flood(db, notifier, receiver):
    series, [reader] = await a_followed_series(db)
    await notifier.webhook(reader, receiver.url)
    await release(db, series, range(1, 22))
    await release(db, series, [22], now=Millis(NOON + AT_ONCE))
    async with notifier.open():
        notifier.later(AT_ONCE + SETTLING)
        await notifier.until_idle()
    assert titles(receiver) == [("chapter.new", "Chapter 22"), ("chapters.new", "21 new chapters")]


async def test_what_comes_after_the_flood_was_told_is_told_too(db, notifier, receiver):
    """Half a minute later, well within what would have counted as at once."""
    series, [reader] = await a_followed_series(db)
    await notifier.webhook(reader, receiver.url)
    await release(db, series, range(1, 31))
    async with notifier.open():
        notifier.later(SETTLING)
        await notifier.until_idle()
        assert titles(receiver) == [("chapters.new", "30 new chapters")]
        notifier.later(30 * SECOND)
        await release(db, series, [31], now=Millis(NOON + SETTLING + 30 * SECOND))
        await notifier.until_idle()
        assert titles(receiver) == [("chapter.new", "Chapter 31"), ("chapters.new", "30 new chapters")]
    assert len(await entry_ids(db, reader)) == 31


async def test_the_flood_notice_counts_what_came_before_it(db, notifier, receiver):
    series, [reader] = await a_followed_series(db)
    await notifier.webhook(reader, receiver.url)
    await release(db, series, range(1, 31))
    await release(db, series, [31], now=Millis(NOON + SETTLING - 1))
    async with notifier.open():
        notifier.later(SETTLING)
        await notifier.until_idle()
    assert titles(receiver) == [("chapters.new", "31 new chapters")]


async def test_r8_the_rest_of_an_announced_flood_is_silent(db, notifier, receiver):
    """Of the same poll: a batch that is stored late. Another poll's is news."""
    series, [reader] = await a_followed_series(db)
    await notifier.webhook(reader, receiver.url)
    await release(db, series, range(1, 31), harvest="7-1")
    async with notifier.open():
        notifier.later(SETTLING)
        await notifier.until_idle()
        later = Millis(NOON + SETTLING + SECOND)
        notifier.later(SECOND)
        await release(db, series, [31], harvest="7-1", now=later)
        await release(db, series, [32], harvest="7-2", now=later)
        await notifier.until_idle()
    assert titles(receiver) == [("chapter.new", "Chapter 32"), ("chapters.new", "30 new chapters")]


async def test_a_surge_of_a_clock_that_was_wrong_silences_nobody(db, notifier, receiver):
    series, [reader] = await a_followed_series(db)
    await notifier.webhook(reader, receiver.url)
    await release(db, series, range(1, 31), now=Millis(NOON + 9 * HOUR))
    await release(db, series, [31])
    async with notifier.open():
        notifier.later(10 * HOUR)
        await notifier.until_idle()
    assert ("chapter.new", "Chapter 31") in titles(receiver)


async def test_whoever_follows_after_a_flood_gets_no_notice(db, notifier, receiver):
    feed, [reader] = await a_followed_feed(db)
    await notifier.webhook(reader, f"{receiver.url}/first")
    await publish(db, feed, range(30))
    late = await a_reader(db)
    await notifier.webhook(late, f"{receiver.url}/late")

    async def join(tx: Tx) -> None:
        await subscribe_tx(tx, late, feed, now=Millis(NOON + 1))
        await deliver_known_items_tx(tx, late, feed, now=Millis(NOON + 1))

    await db.with_tx(join)
    async with notifier.open():
        notifier.later(SETTLING)
        await notifier.until_idle()
    assert [got.path for got in receiver.got] == ["/first"]


async def test_rel_02_the_same_chapter_from_two_sources_is_told_once(db, notifier, receiver):
    series, [reader] = await a_followed_series(db)
    await notifier.webhook(reader, receiver.url)
    await asyncio.gather(*(release(db, series, [45]) for _ in range(6)))
    async with notifier.open():
        await notifier.until_idle()
    assert titles(receiver) == [("chapter.new", "Chapter 45")]


async def test_a_channel_that_is_gone_or_asleep_is_not_told(db, notifier, receiver):
    feed, readers = await a_followed_feed(db, readers=2)
    added = [await notifier.webhook(reader, receiver.url) for reader in readers]
    await publish(db, feed, "a")
    async with notifier.open(sending=False):
        await eventually(lambda: has_sends(db, 2))
    await notifier.channels.remove(readers[0], added[0].channel.id)
    await notifier.channels.change(readers[1], added[1].channel.id, ChannelChange(is_enabled=False))
    async with notifier.open():
        await notifier.until_idle()
    assert receiver.got == []
    assert await notifier.tasks.letters() == []


async def has_sends(db, count):
    return len(await task_keys(db, SENDS.name)) == count


# -- what a webhook gets


async def test_a_webhook_signature_can_be_verified_with_the_secret(db, notifier, receiver):
    series, [reader] = await a_followed_series(db)
    secret = (await notifier.webhook(reader, f"{receiver.url}/hook?x=1")).made["secret"]
    await release(db, series, [45])
    async with notifier.open():
        await notifier.until_idle()
    [got] = receiver.got
    # Computed here by hand, from the document of Standard Webhooks and not from our code.
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = b".".join([got.headers["webhook-id"].encode(), got.headers["webhook-timestamp"].encode(), got.body])
    expected = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert got.headers["webhook-signature"] == expected
    assert len(key) == 32
    assert abs(int(got.headers["webhook-timestamp"]) - NOON // 1000) < 60
    assert got.headers["content-type"] == "application/json"
    assert got.document == {
        "type": "chapter.new",
        "timestamp": "2026-02-22T12:00:00.000Z",
        "data": {"title": "One", "text": "Chapter 45", "url": None, "page": None, "number": "45", "count": 1},
    }


async def test_a_server_with_a_public_address_links_to_itself(db, notifier, receiver):
    series, [reader] = await a_followed_series(db)
    await notifier.webhook(reader, receiver.url)
    await notifier.ntfy(reader, f"{receiver.url}/ntfy")
    notifier.sender = Sender(
        db, notifier.client, notifier.clock, jitter=lambda: 0.0, public_url="https://reader.example.org"
    )
    await release(db, series, [45])
    async with notifier.open():
        await notifier.until_idle()
    [hook] = [got.document for got in receiver.got if "data" in got.document]
    [ntfy] = [got.document for got in receiver.got if "topic" in got.document]
    assert re.fullmatch(r"https://reader\.example\.org/series/[0-9a-f-]{36}/chapters/\d+", hook["data"]["page"])
    assert ntfy["click"] == hook["data"]["page"]


async def test_an_ntfy_topic_gets_a_message_with_its_token(db, notifier, receiver):
    series, [reader] = await a_followed_series(db)
    await notifier.ntfy(reader, receiver.url, token="tk_secret", priority=4)
    await release(db, series, [45])
    async with notifier.open():
        await notifier.until_idle()
    [got] = receiver.got
    assert got.headers["authorization"] == "Bearer tk_secret"
    document = got.document
    assert document.pop("sequence_id").startswith("msg_")
    expected = {"topic": "news", "title": "One", "message": "Chapter 45", "priority": 4, "tags": ["books"]}
    assert (got.path, document) == ("/", expected)


# -- when it fails


async def test_a_try_that_fails_is_repeated_under_the_same_id(db, notifier, receiver):
    series, [reader] = await a_followed_series(db)
    await notifier.webhook(reader, receiver.url)
    receiver.answers = [500, 502]
    await release(db, series, [1])
    async with notifier.open():
        await notifier.until_idle()
    assert len(receiver.got) == 3
    assert len({(got.id, got.body) for got in receiver.got}) == 1
    channel = await notifier.only_channel(reader)
    assert (channel.consecutive_failures, channel.last_error) == (0, None)


@pytest.mark.parametrize("status", [401, 404, 410])
async def test_r56_what_will_never_work_is_a_dead_letter_at_once(db, notifier, receiver, status):
    series, [reader] = await a_followed_series(db)
    await notifier.webhook(reader, receiver.url)
    receiver.always = status
    await release(db, series, [1])
    async with notifier.open():
        await notifier.until_idle()
    [letter] = await notifier.tasks.letters()
    assert (letter.queue, letter.attempts, len(receiver.got)) == (SENDS.name, 1, 1)
    assert str(status) in letter.error


async def test_r55_a_dead_letter_that_is_replayed_keeps_its_delivery_id(db, notifier, receiver):
    series, [reader] = await a_followed_series(db)
    await notifier.webhook(reader, receiver.url)
    receiver.answers = [404]
    await release(db, series, [1])
    async with notifier.open():
        await notifier.until_idle()
        assert await notifier.tasks.replay_all() == 1
        await notifier.until_idle()
    first, second = receiver.got
    assert first.id == second.id


async def test_an_address_that_is_refused_later_is_named_nowhere(db, notifier, receiver):
    series, [reader] = await a_followed_series(db)
    await notifier.webhook(reader, f"{receiver.url}/a-long-key")
    await release(db, series, [1])
    async with a_notifier(db, guard=AddressGuard()) as stricter, stricter.open():
        await stricter.until_idle()
    [letter] = await notifier.tasks.letters()
    assert letter.error_code == "refused_address"
    said = repr(letter) + repr(await notifier.only_channel(reader))
    assert "a-long-key" not in said
    assert receiver.got == []


async def test_a_redirect_is_not_followed(db, notifier, receiver):
    series, [reader] = await a_followed_series(db)
    await notifier.webhook(reader, receiver.url)
    receiver.answers = [307]
    await release(db, series, [1])
    async with notifier.open():
        await notifier.until_idle()
    assert [got.path for got in receiver.got] == ["/", "/"]


async def test_a_failing_channel_rests_and_others_do_not(db, notifier, receiver):
    series, [reader, other] = await a_followed_series(db, readers=2)
    await notifier.webhook(reader, f"{receiver.url}/bad")
    async with a_receiver() as good:
        await notifier.webhook(other, good.url)
        receiver.always = 500
        await release(db, series, range(1, 11))
        async with notifier.open():
            await notifier.until_quiet()
        assert len(good.got) == 10
        tried = len(receiver.got)
        # At most those that were under way together when the breaker opened.
        assert FAILURES <= tried <= FAILURES + 4
        channel = await notifier.only_channel(reader)
        assert channel.rests_until is not None
        assert channel.rests_until > notifier.clock()

        # Its rest is over: one tries it, it works, and then all that waited are told.
        receiver.always = 200
        notifier.later(2 * MINUTE)
        async with notifier.open():
            await notifier.until_quiet()
            notifier.later(2 * MINUTE)
            await notifier.until_quiet()
            await notifier.until_idle()
    assert await notifier.tasks.letters() == []
    assert len({got.id for got in receiver.got}) == 10
    assert (await notifier.only_channel(reader)).rests_until is None


async def test_after_a_day_a_resting_channels_notice_dead_letters(db, notifier, receiver):
    series, [reader] = await a_followed_series(db)
    await notifier.webhook(reader, receiver.url)
    receiver.always = 500
    await release(db, series, range(1, 11))
    async with notifier.open():
        await notifier.until_quiet()
        for _ in range(4):
            notifier.later(8 * HOUR)
            await notifier.until_quiet()
        await notifier.until_idle()
    letters = await notifier.tasks.letters()
    assert len(letters) == 10
    assert {letter.queue for letter in letters} == {SENDS.name}


async def test_replaying_to_a_resting_channel_says_when_it_is_sent(db, notifier, receiver):
    """Also what is older than news are: somebody wants it told."""
    _, [reader] = await a_followed_series(db)
    await notifier.webhook(reader, receiver.url)
    only = ChannelId(1)
    await db.with_tx(lambda tx: channel_worked_tx(tx, only, notifier.clock()))
    for _ in range(FAILURES):
        await db.with_tx(lambda tx: channel_failed_tx(tx, only, error="It is down.", now=notifier.clock()))
    channel = await notifier.only_channel(reader)
    message = Message(type="item.new", title="A feed", text="An item", at=Millis(notifier.clock() - 3 * DAY))
    send = Send(channel_id=only, delivery_id="1", message=message, channel=show_id(channel.id))
    letters = DeadLetters(db, notifier.tasks, notifier.clock)
    _, not_before = await letters.replay(SYSTEM, await given_up(db, SENDS, send, notifier.clock()))
    assert not_before == channel.rests_until is not None
    async with notifier.open():
        await notifier.until_quiet()
        assert receiver.got == []
        notifier.later(MINUTE)
        await notifier.until_idle()
    assert [got.id for got in receiver.got] == ["1"]
    _, at_once = await letters.replay(SYSTEM, await given_up(db, SENDS, send, notifier.clock()))
    assert at_once is None


@pytest.mark.parametrize(
    ("failures", "expected"),
    [(0, None), (4, None), (5, MINUTE), (6, 2 * MINUTE), (8, 8 * MINUTE), (9, LONGEST_REST), (10**6, LONGEST_REST)],
)
def test_how_long_a_channel_rests(failures, expected):
    assert breaker_pause(failures) == expected


def test_news_are_news_for_a_day():
    assert not is_stale(NOON, Millis(NOON + NEWS_UNTIL))
    assert is_stale(NOON, Millis(NOON + NEWS_UNTIL + 1))
