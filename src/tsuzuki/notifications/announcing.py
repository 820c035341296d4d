"""From a notice to the channels that it concerns: the first of its two steps."""

from collections.abc import Callable, Sequence

import msgspec

from tsuzuki.coord.wakeup import Wakeup
from tsuzuki.db import Database, Tx
from tsuzuki.db.deadlines import with_tx_again
from tsuzuki.model.ids import show_id
from tsuzuki.model.times import Millis
from tsuzuki.model.titles import title_of
from tsuzuki.notifications.policy import news
from tsuzuki.notifications.store import NoticeSubject, Tellee, subject_tx, tell_surge_tx, tellees_tx
from tsuzuki.notifications.tasks import SENDS, Message, Notice, Send, delivery_id
from tsuzuki.queue.store import enqueue_many_tx, finish_tx, skip_tx
from tsuzuki.queue.tasks import Task


async def tell_tx(
    tx: Tx, tellees: Sequence[Tellee], about: str, word: Callable[[str], Message], *, now: Millis
) -> tuple[str, ...]:
    """A send for each channel, under an id that `about` makes stable; whom to wake after the commit."""
    sends = [
        Send(
            channel_id=tellee.channel_id,
            channel=show_id(tellee.channel_public_id),
            delivery_id=delivery_id(tellee.channel_public_id, about),
            message=word(tellee.name),
        )
        for tellee in tellees
    ]
    if not sends:
        return ()
    await enqueue_many_tx(tx, SENDS, [send.task() for send in sends], now=now)
    return (SENDS.name,)


class Announcer:
    """Handles `notifications`: a send for each channel, and the end of the task, in one transaction (I4).

    So a channel is told exactly once by us; only on the way out can a telling be repeated, under the same id.
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
        await skip_tx(tx, task, now=now, why="What it tells of is gone.")
        return 0
    if notice.installment_id is None:
        notice = msgspec.structs.replace(notice, count=await tell_surge_tx(tx, notice, now))
    sends = [_send(notice, subject, tellee) for tellee in await tellees_tx(tx, notice)]
    if sends:
        await enqueue_many_tx(tx, SENDS, [send.task() for send in sends], now=now)
    await finish_tx(tx, task, now=now)
    return len(sends)


def _send(notice: Notice, subject: NoticeSubject, tellee: Tellee) -> Send:
    return Send(
        channel_id=tellee.channel_id,
        channel=show_id(tellee.channel_public_id),
        delivery_id=delivery_id(tellee.channel_public_id, notice.key),
        message=msgspec.structs.replace(
            news(
                notice,
                name=tellee.name,
                title=title_of(subject.title, subject.beginning),
                url=subject.url,
                number=subject.number,
            ),
            page=_page(notice, subject),
        ),
    )


def _page(notice: Notice, subject: NoticeSubject) -> str:
    """Where a reader finds it here: the installment; for a flood its series, or the inbox."""
    if subject.series_id is None:
        return "/" if notice.installment_id is None else f"/items/{notice.installment_id}"
    series = f"/series/{show_id(subject.series_id)}"
    return series if notice.installment_id is None else f"{series}/chapters/{notice.installment_id}"
