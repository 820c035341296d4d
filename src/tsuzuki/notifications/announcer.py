"""The first step of a notification: from a notice to the channels that it concerns."""

from collections.abc import Callable, Sequence

import msgspec

from tsuzuki.coord.wakeup import Wakeup
from tsuzuki.db import Database, Tx, load_queries
from tsuzuki.db.deadlines import with_tx_again
from tsuzuki.model.ids import PublicId, TenantId, show_id
from tsuzuki.model.times import Millis
from tsuzuki.model.titles import title_of
from tsuzuki.notifications.kinds.base import ChannelId
from tsuzuki.notifications.policy import news
from tsuzuki.notifications.tasks import SENDS, Message, Notice, Send, delivery_id
from tsuzuki.queue.tasks import Task, enqueue_many_tx, finish_tx, skip_tx

q = load_queries("tsuzuki.notifications")


class Recipient(msgspec.Struct, frozen=True):
    """A channel to notify, and what its reader calls the thing."""

    channel_id: ChannelId
    channel_public_id: PublicId
    name: str


class NoticeSubject(msgspec.Struct, frozen=True):
    """What a notice is about."""

    title: str
    url: str | None
    number: str | None
    series_public_id: PublicId | None
    """Set for a chapter or a series."""
    beginning: str
    """The beginning of the text, for an item without a title."""


async def notify_tx(
    tx: Tx, recipients: Sequence[Recipient], about: str, word: Callable[[str], Message], *, now: Millis
) -> tuple[str, ...]:
    """A send for each channel, under an id made from `about`; whom to wake after the commit."""
    sends = [
        Send(
            channel_id=recipient.channel_id,
            channel=show_id(recipient.channel_public_id),
            delivery_id=delivery_id(recipient.channel_public_id, about),
            message=word(recipient.name),
        )
        for recipient in recipients
    ]
    if not sends:
        return ()
    await enqueue_many_tx(tx, SENDS, [send.task() for send in sends], now=now)
    return (SENDS.name,)


class Announcer:
    """Handles `notifications`: a send for each channel, and the end of the task, in one transaction (I4).

    So we send each notice to a channel once; only on the way out can it be repeated, under the same id.
    """

    def __init__(self, db: Database, wakeup: Wakeup, clock: Callable[[], Millis]) -> None:
        self._db = db
        self._wakeup = wakeup
        self._clock = clock

    async def handle_all(self, tasks: Sequence[Task[Notice]]) -> None:
        """See `BatchHandler`."""
        now = self._clock()

        async def announce(tx: Tx) -> int:
            # By what they are of, as those who deliver lock its surge.
            in_order = sorted(tasks, key=lambda task: (task.payload.kind, task.payload.of_id))
            return sum([await _announce_tx(tx, task, now) for task in in_order])

        if await with_tx_again(self._db, announce):
            self._wakeup.wake(SENDS.name)


async def _announce_tx(tx: Tx, task: Task[Notice], now: Millis) -> int:
    notice = task.payload
    subject = await subject_tx(tx, notice)
    if subject is None:
        await skip_tx(tx, task, now=now, why="What it is about no longer exists.")
        return 0
    if notice.installment_id is None:
        notice = msgspec.structs.replace(notice, count=await close_burst_tx(tx, notice, now))
    sends = [_send(notice, subject, recipient) for recipient in await recipients_tx(tx, notice)]
    if sends:
        await enqueue_many_tx(tx, SENDS, [send.task() for send in sends], now=now)
    await finish_tx(tx, task, now=now)
    return len(sends)


def _send(notice: Notice, subject: NoticeSubject, recipient: Recipient) -> Send:
    return Send(
        channel_id=recipient.channel_id,
        channel=show_id(recipient.channel_public_id),
        delivery_id=delivery_id(recipient.channel_public_id, notice.key),
        message=msgspec.structs.replace(
            news(
                notice,
                name=recipient.name,
                title=title_of(subject.title, subject.beginning),
                url=subject.url,
                number=subject.number,
            ),
            page=_page(notice, subject),
        ),
    )


def _page(notice: Notice, subject: NoticeSubject) -> str:
    """Where a reader finds it here: the installment; for a flood its series, or the inbox."""
    if subject.series_public_id is None:
        return "/" if notice.installment_id is None else f"/items/{notice.installment_id}"
    series = f"/series/{show_id(subject.series_public_id)}"
    return series if notice.installment_id is None else f"{series}/chapters/{notice.installment_id}"


async def recipients_tx(tx: Tx, notice: Notice) -> list[Recipient]:
    """The channels of those who got an entry in that delivery and want notices."""
    if notice.installment_id is None:
        if notice.kind == "item":
            return await tx.many(Recipient, q.items_recipients, id=notice.of_id, at=notice.at)
        return await tx.many(Recipient, q.chapters_recipients, id=notice.of_id, at=notice.at)
    if notice.kind == "item":
        return await tx.many(Recipient, q.item_recipients, id=notice.installment_id, at=notice.at)
    return await tx.many(Recipient, q.chapter_recipients, id=notice.installment_id, at=notice.at)


async def tenant_recipients_tx(tx: Tx, tenant_id: TenantId) -> list[Recipient]:
    """Every channel of a tenant's shelves that is on."""
    return await tx.many(Recipient, q.tenant_recipients, tenant_id=tenant_id)


async def subject_tx(tx: Tx, notice: Notice) -> NoticeSubject | None:
    """The installment, or for a flood what brought it; None when it is gone."""
    if notice.installment_id is None:
        if notice.kind == "item":
            return await tx.maybe(NoticeSubject, q.feed_subject, id=notice.of_id)
        return await tx.maybe(NoticeSubject, q.series_subject, id=notice.of_id)
    if notice.kind == "item":
        return await tx.maybe(NoticeSubject, q.item_subject, id=notice.installment_id)
    return await tx.maybe(NoticeSubject, q.chapter_subject, id=notice.installment_id)


async def close_burst_tx(tx: Tx, notice: Notice, now: Millis) -> int:
    """End the burst's notice; how much came in all by now."""
    count = await tx.maybe(int, q.close_burst, kind=notice.kind, of_id=notice.of_id, at=notice.at, now=now)
    return notice.count if count is None else count
