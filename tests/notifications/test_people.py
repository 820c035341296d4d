"""R91: a channel tells whom it belongs to, for as long as they are let in, and nobody else."""

from tests.builders import a_public_id, stored_feed
from tests.delivery.builders import a_reader, publish, task_keys
from tests.waiting import eventually
from tsuzuki.db.queries import parse_queries
from tsuzuki.delivery.outages import operator_recipients_tx
from tsuzuki.model.ids import ShelfId, UserId
from tsuzuki.notifications.tasks import SENDS

q = parse_queries(
    "test",
    """
-- name: add_user
insert into user_account (public_id, tenant_id, username, role, created_at, updated_at)
select :public_id, tenant_id, :username, :role, 0, 0 from shelf where id = :shelf_id
returning id;
-- name: add_member
insert into shelf_member (shelf_id, user_id, role, created_at) values (:shelf_id, :user_id, 'editor', 0);
-- name: lock_out
update user_account set disabled_at = 1 where id = :id;
-- name: let_in
update user_account set disabled_at = null where id = :id;
""",
)


async def a_member(db, shelf: ShelfId, name: str, role: str = "reader") -> UserId:
    said = {"public_id": a_public_id(), "username": name, "role": role, "shelf_id": shelf}
    user: UserId = await db.with_tx(lambda tx: tx.one(UserId, q.add_user, **said))
    await db.with_tx(lambda tx: tx.run(q.add_member, shelf_id=shelf, user_id=user))
    return user


async def test_a_channel_of_somebody_locked_out_is_silent(db, notifier, receiver):
    feed = await stored_feed(db)
    shelf = await a_reader(db, feeds=[feed])
    user = await a_member(db, shelf, "member")
    await notifier.channels.add(shelf, "webhook", name="Hook", config={"url": receiver.url}, user_id=user)
    await publish(db, feed, "a")
    await db.with_tx(lambda tx: tx.run(q.lock_out, id=user))
    async with notifier.open():
        await notifier.until_idle()
    assert receiver.got == []
    await db.with_tx(lambda tx: tx.run(q.let_in, id=user))
    await publish(db, feed, "b")
    async with notifier.open():
        await notifier.until_idle()
    assert len(receiver.got) == 1


async def test_news_of_a_channel_that_is_gone_reach_no_other(db, notifier, receiver):
    """SQLite gives its number to the next channel, which may be somebody else's."""
    feed = await stored_feed(db)
    shelf, other = await a_reader(db, feeds=[feed]), await a_reader(db)
    gone = await notifier.webhook(shelf, receiver.url)
    await publish(db, feed, "a")

    async def is_queued() -> bool:
        return len(await task_keys(db, SENDS.name)) == 1

    async with notifier.open(sending=False):
        await eventually(is_queued)
    await notifier.channels.remove(shelf, gone.channel.id)
    await notifier.webhook(other, receiver.url)
    async with notifier.open():
        await notifier.until_idle()
    assert receiver.got == []


async def test_what_concerns_the_server_is_told_to_its_operators_alone(db, notifier, receiver):
    """On the shelf that they read from, by their own channels: not by those of people whom they share it with."""
    shelf = await a_reader(db)
    admin, reader = await a_member(db, shelf, "admin", "admin"), await a_member(db, shelf, "reader")
    for user, name in ((admin, "Operator"), (reader, "Reader")):
        await notifier.channels.add(shelf, "webhook", name=name, config={"url": receiver.url}, user_id=user)
    [mine] = await notifier.channels.list(shelf, admin)
    recipients = await db.read(lambda tx: operator_recipients_tx(tx, "Disk"))
    assert [recipient.channel_public_id for recipient in recipients] == [mine.id]
