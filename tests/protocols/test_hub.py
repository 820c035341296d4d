"""The WebSub hub of the feeds out, with subscribers on loopback."""

import asyncio
import hashlib
import hmac
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from tests.api.people import RunningApp, a_running_app
from tests.app import in_settings
from tests.protocols.people import AppReader, an_app_reader
from tests.protocols.subscribers import Subscriber, a_subscriber, ask_hub, until_quiet, working
from tests.waiting import eventually
from tests.web.sample_shelf import an_item, release_items
from tsuzuki.connectors.feed.parser import parse_fast
from tsuzuki.db.queries import parse_queries
from tsuzuki.inbox.feeds_out.policy import MOST_OF_HOST, USUAL_LEASE, granted_lease
from tsuzuki.inbox.feeds_out.types import FeedOut, NewFeedOut
from tsuzuki.inbox.sync import SyncFilter
from tsuzuki.model.ids import FeedId
from tsuzuki.model.times import DAY, HOUR, MINUTE, Millis

SECRET = "hushcanary"

_q = parse_queries(
    "tests",
    """-- name: count
select count(*) as total from hub_subscription where lease_until is not null;
-- name: count_all
select count(*) as total from hub_subscription;
-- name: add
insert into hub_subscription (feed_out_id, format, topic, callback, callback_hash, host, asked_at, created_at)
values (:feed_out_id, 'rss', '', '', :hash, :host, 1, 1);""",
)


class Published:
    """Ann's feed out, one feed that it shows, and a subscriber."""

    def __init__(self, app: RunningApp, ann: AppReader, feed_id: FeedId, feed: FeedOut, subscriber: Subscriber) -> None:
        self.app = app
        self.ann = ann
        self.feed_id = feed_id
        self.feed = feed
        self.subscriber = subscriber

    async def subscribed(self, **over: str) -> None:
        """The subscriber asks, and has confirmed."""
        answer = await ask_hub(self.app, self.feed, self.subscriber.callback, **over)  # type: ignore[arg-type]
        assert answer.status == 202, answer.text
        await until_quiet(self.app)

    async def subscriptions(self, *, confirmed: bool = True) -> int:
        query = _q.count if confirmed else _q.count_all
        count: int = await self.app.db.read(lambda tx: tx.one(int, query))
        return count

    async def release(self, title: str) -> None:
        """Something new."""
        await release_items(self.app, self.feed_id, [an_item(title, at=self.app.time(), title=title)])


@pytest.fixture
async def published(tmp_path: Path, empty_database_url: str) -> AsyncIterator[Published]:
    async with (
        a_subscriber() as subscriber,
        opened(tmp_path, empty_database_url, subscriber) as found,
        working(found.app),
    ):
        yield found


def a_server(folder: Path, url: str) -> AbstractAsyncContextManager[RunningApp]:
    return a_running_app(folder, database_url=in_settings(url), allow_private_networks="127.0.0.0/8")


@asynccontextmanager
async def opened(folder: Path, url: str, subscriber: Subscriber) -> AsyncIterator[Published]:
    async with a_server(folder, url) as app:
        ann = await an_app_reader(app)
        feed_id = await ann.add_feed("The Gull Letters", items=2)
        feed = await app.feeds_out.add(ann.shelf, ann.user.id, NewFeedOut(name="Out"))
        yield Published(app, ann, feed_id, feed, subscriber)


@asynccontextmanager
async def again(before: Published, folder: Path, url: str) -> AsyncIterator[Published]:
    """The same after a restart."""
    async with a_server(folder, url) as app:
        yield Published(app, before.ann, before.feed_id, before.feed, before.subscriber)


async def a_worker(folder: Path, database_url: str) -> asyncio.subprocess.Process:
    """A process that works."""
    command = (sys.executable, "-m", "tests.protocols.hub_worker", str(folder), database_url)
    return await asyncio.create_subprocess_exec(*command, cwd=Path(__file__).parents[2])


async def test_a_subscriber_confirms_and_is_sent_what_is_new_signed(published):
    subscriber, topic = published.subscriber, f"{published.app.client.base}{published.feed.path('atom')}"
    await published.subscribed(secret=SECRET, lease_seconds="86400")
    [asked] = subscriber.asked
    assert (asked["hub.mode"], asked["hub.topic"], asked["hub.lease_seconds"]) == ("subscribe", topic, "86400")
    assert (asked["mine"], len(asked["hub.challenge"]) >= 20) == ("1", True)
    await published.release("A heron")
    await subscriber.has(1)
    await published.release("A second heron")
    await subscriber.has(2)
    for push, title in zip(subscriber.got, ("A heron", "A second heron"), strict=True):
        assert push.headers["content-type"] == "application/atom+xml; charset=utf-8"
        assert push.headers["link"] == f'<{published.app.client.base}/websub>; rel="hub", <{topic}>; rel="self"'
        signature = hmac.new(SECRET.encode(), push.body, hashlib.sha256).hexdigest()
        assert push.headers["x-hub-signature"] == f"sha256={signature}"
        harvest = parse_fast(push.body, topic)
        assert harvest is not None
        assert [item.title for item in harvest.items] == [title]  # not what it knows already


async def test_saved_and_corrected_entries_are_news_too(published):
    """What the feed shows anew counts, not what is new on the shelf; without a secret nothing is signed."""
    app, ann = published.app, published.ann
    saved = await app.feeds_out.add(ann.shelf, ann.user.id, NewFeedOut(name="Saved", state="saved"))
    assert (await ask_hub(app, saved, published.subscriber.callback, form="json")).status == 202
    await until_quiet(app)
    await published.release("A heron")
    [old] = [ref.id for ref in await app.sync.refs(ann.shelf, SyncFilter(), most=1)]
    await app.sync.mark(ann.shelf, [old], None, saved=True)
    await published.subscriber.has(1)
    [push] = published.subscriber.got
    assert ("x-hub-signature" in push.headers, b'"rel":' in push.body) == (False, False)
    app.time.pass_(MINUTE)
    [feed_item] = await app.sync.entries(ann.shelf, [old], None)
    changed = an_item(str(feed_item.entry.key), at=app.time(), title="Corrected")
    await release_items(app, published.feed_id, [changed])
    app.time.pass_(HOUR)  # a correction is no event: it is found when all feeds are looked at
    app.wakeup.wake("events")
    await published.subscriber.has(2)
    assert b"Corrected" in published.subscriber.got[1].body


@pytest.mark.parametrize("trouble", ["wrong challenge", "404", "redirect"])
async def test_whoever_does_not_confirm_is_sent_nothing(published, trouble):
    subscriber = published.subscriber
    subscriber.challenge = "something else" if trouble == "wrong challenge" else None
    subscriber.confirms = {"wrong challenge": 200, "404": 404, "redirect": 302}[trouble]
    await published.subscribed()
    assert (len(subscriber.asked), await published.subscriptions(confirmed=False)) == (1, 0)
    await published.release("A heron")
    await published.app.hub.look()
    await until_quiet(published.app)
    assert subscriber.got == []
    assert await published.app.pipeline.tasks.letters() == []


async def test_a_subscriber_leaves_when_it_confirms_that(published):
    subscriber = published.subscriber
    await published.subscribed()
    subscriber.challenge = "no"  # somebody else asked for it
    await published.subscribed(mode="unsubscribe")
    assert await published.subscriptions() == 1
    subscriber.challenge = None
    await published.subscribed(mode="unsubscribe")
    assert (subscriber.asked[-1]["hub.mode"], await published.subscriptions()) == ("unsubscribe", 0)
    again = await ask_hub(published.app, published.feed, subscriber.callback, mode="unsubscribe")
    assert again.status == 404


async def test_a_renewal_counts_when_it_is_confirmed(published):
    """A new secret too; the old lease and secret stay until then."""
    subscriber = published.subscriber
    await published.subscribed(secret="first")
    subscriber.challenge = "no"
    await published.subscribed(secret="second")
    assert await published.subscriptions() == 1
    await published.release("A heron")
    await subscriber.has(1)
    subscriber.challenge = None
    await published.subscribed(secret="third")
    await published.release("A second heron")
    await subscriber.has(2)
    for push, secret in zip(subscriber.got, (b"first", b"third"), strict=True):
        expected = hmac.new(secret, push.body, hashlib.sha256).hexdigest()
        assert push.headers["x-hub-signature"] == f"sha256={expected}"


async def test_a_request_that_is_wrong_is_told_why(published):
    app, feed, callback = published.app, published.feed, published.subscriber.callback
    forged = feed.path("atom").replace("a", "b").replace("0", "1")
    answers = {
        "mode": await ask_hub(app, feed, callback, mode="publish"),
        "topic": await ask_hub(app, feed, callback, topic=f"{app.client.base}{forged}"),
        "other host": await ask_hub(app, feed, callback, topic=f"https://elsewhere.example{feed.path('atom')}"),
        "callback": await ask_hub(app, feed, "nowhere"),
        "refused": await ask_hub(app, feed, "http://10.0.0.1/websub"),
        "secret": await ask_hub(app, feed, callback, secret="x" * 200),
        "lease": await ask_hub(app, feed, callback, lease_seconds="-1"),
    }
    found = {name: answer.status for name, answer in answers.items()}
    wrong = {"mode": 400, "topic": 404, "other host": 404, "callback": 400, "refused": 400, "secret": 400, "lease": 400}
    assert found == wrong
    assert answers["topic"].headers["content-type"] == "text/plain; charset=utf-8"
    assert published.subscriber.asked == []
    assert await published.subscriptions(confirmed=False) == 0


async def test_a_feed_a_host_and_an_address_have_limits(published):
    callbacks = [f"{published.subscriber.url}/websub/{number}" for number in range(61)]
    statuses = [(await ask_hub(published.app, published.feed, one)).status for one in callbacks]
    assert statuses == [202] * 20 + [422] * 40 + [429]
    assert int((await ask_hub(published.app, published.feed, callbacks[0])).headers["retry-after"]) > 0


async def test_other_tenants_use_up_nobodys_subscriptions_at_a_host(published):
    """I8: what the tenant's own feeds have at this host counts, and no other's."""
    app, callback = published.app, published.subscriber.callback
    bob = await app.add(tenant_id=app.other_tenant)
    shelf = await app.accounts.current_user.shelf_of(bob)
    feeds = [await app.feeds_out.add(shelf.id, bob.id, NewFeedOut(name=f"Out {n}")) for n in range(11)]
    for n in range(MOST_OF_HOST):
        said = {"host": "127.0.0.1", "feed_out_id": feeds[n // 20].id, "hash": n.to_bytes(32, "big")}
        await app.db.with_tx(lambda tx: tx.run(_q.add, **said))  # noqa: B023
    assert (await ask_hub(app, published.feed, callback)).status == 202
    refused = await ask_hub(app, feeds[10], callback)
    assert (refused.status, "200" in refused.text) == (422, True)


async def test_a_lease_is_bounded_and_ends(published):
    assert [granted_lease(one) // DAY for one in (None, 0, 10**11)] == [USUAL_LEASE // DAY, 0, 30]
    await published.subscribed(lease_seconds="60")
    assert published.subscriber.asked[0]["hub.lease_seconds"] == "300"
    published.app.time.pass_(HOUR)
    await published.release("A heron")
    await published.app.hub.look()
    await until_quiet(published.app)
    assert published.subscriber.got == []
    assert (await published.app.hub.tidy(), await published.subscriptions()) == (1, 0)


async def test_who_is_gone_is_sent_nothing_more(published):
    """410 ends the subscription at once, without a dead letter."""
    await published.subscribed()
    published.subscriber.answers = [410]
    await published.release("A heron")

    async def is_over() -> bool:
        return bool(await published.subscriptions() == 0)

    await eventually(is_over)
    await until_quiet(published.app)
    assert await published.app.pipeline.tasks.letters() == []


async def test_an_undeliverable_change_is_retried_and_dead_lettered(published):
    await published.subscribed(secret=SECRET)
    published.subscriber.answers = [503, 404]
    with capture_logs() as logs:
        await published.release("A heron")
        await published.subscriber.has(1)
        published.app.time.pass_(MINUTE)
        await published.subscriber.has(2)

        async def letters() -> bool:
            return bool(await published.app.pipeline.tasks.letters())

        await eventually(letters)
    [letter] = await published.app.pipeline.tasks.letters()
    assert letter.queue == "hub-pushes"
    everything = f"{letter} {logs}"
    for hidden in (SECRET, "canary5ecret", published.feed.secret):
        assert hidden not in everything, hidden
    assert await published.subscriptions() == 1
    await published.app.pipeline.tasks.replay(letter.id)
    await published.subscriber.has(3)


@pytest.mark.parametrize("how", ["replace", "remove", "leave"])
async def test_subscribers_of_a_feed_that_ends_are_told(published, how):
    app, ann, feed = published.app, published.ann, published.feed
    await published.subscribed()
    if how == "replace":
        await app.feeds_out.replace(ann.shelf, ann.user.id, feed.public_id)
    else:
        await app.feeds_out.remove(ann.shelf, ann.user.id, feed.public_id)
    await app.hub.look()

    async def is_told() -> bool:
        return bool(published.subscriber.asked[-1]["hub.mode"] == "denied")

    await eventually(is_told)
    await until_quiet(app)
    assert published.subscriber.asked[-1]["hub.topic"].endswith(str(feed.path("atom")))
    assert await published.subscriptions(confirmed=False) == 0
    await published.release("A heron")
    await app.hub.look()
    await until_quiet(app)
    assert published.subscriber.got == []


async def test_what_came_while_nobody_worked_is_sent_afterwards(tmp_path, empty_database_url):
    """Stopped between event and task, and between task and request."""
    async with a_subscriber() as subscriber:
        async with opened(tmp_path, empty_database_url, subscriber) as first, working(first.app):
            await first.subscribed()
        async with again(first, tmp_path, empty_database_url) as idle:
            await idle.release("A heron")  # an event, and no task yet
        async with again(first, tmp_path, empty_database_url) as second, working(second.app):
            await subscriber.has(1)
            await until_quiet(second.app)
        async with again(first, tmp_path, empty_database_url) as idle:
            await idle.release("A second heron")
            assert [await idle.app.hub.look() for _ in range(2)] == [1, 0]  # a task, and nobody who sends
        async with again(first, tmp_path, empty_database_url) as third, working(third.app):
            await subscriber.has(2)
            await until_quiet(third.app)
        assert [b"second" in push.body for push in subscriber.got] == [False, True]


async def test_whoever_is_killed_while_sending_sends_once_more(tmp_path, empty_database_url):
    """At least once: the subscriber knows what it has by the ids of the entries."""
    async with a_subscriber() as subscriber:
        async with opened(tmp_path, empty_database_url, subscriber) as first, working(first.app):
            await first.subscribed()
        async with again(first, tmp_path, empty_database_url) as idle:
            await idle.release("A heron")
        killed = await a_worker(tmp_path, in_settings(empty_database_url))
        subscriber.victim = killed.pid
        assert await killed.wait() == -signal.SIGKILL
        subscriber.victim = None
        child = await a_worker(tmp_path, in_settings(empty_database_url))
        await subscriber.has(2)
        async with again(first, tmp_path, empty_database_url) as looking:
            await until_quiet(looking.app)
        child.terminate()
        await child.wait()
        assert len({push.body for push in subscriber.got}) == 1
        assert len(subscriber.got) == 2


async def test_a_slow_subscriber_keeps_no_other_waiting(tmp_path, empty_database_url):
    settings = {"database_url": in_settings(empty_database_url), "allow_private_networks": "127.0.0.0/8"}
    async with (
        a_subscriber() as slow,
        a_subscriber() as quick,
        a_running_app(tmp_path, pull_timeout="1s", **settings) as app,
        working(app),
    ):
        ann = await an_app_reader(app)
        feed_id = await ann.add_feed("Gulls")
        feed = await app.feeds_out.add(ann.shelf, ann.user.id, NewFeedOut(name="Out"))
        for subscriber in (slow, quick):
            await Published(app, ann, feed_id, feed, subscriber).subscribed()
        slow.waits = 3.0
        await ann.release(feed_id, 1)
        await quick.has(1)
        await slow.has(1)  # it has begun to wait
        slow.waits = 0.0

        async def has_failed() -> bool:
            stats = await app.pipeline.tasks.stats()
            return any(one.queue == "hub-pushes" and one.scheduled for one in stats)

        await eventually(has_failed)
        app.time.pass_(MINUTE)
        await slow.has(2)
        assert len(quick.got) == 1


async def test_nothing_of_a_subscription_is_stored_as_it_is(published, empty_database_url):
    from tests.test_secrets_at_rest import everything

    await published.subscribed(secret=SECRET)
    stored = await everything(empty_database_url)
    for hidden in (SECRET, "canary5ecret", published.feed.secret):
        assert hidden.encode() not in stored, hidden
    assert published.feed.created_at <= Millis(published.app.time())
