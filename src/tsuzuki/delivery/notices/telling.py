"""Telling channels something that is no installment: an outage, an invoice."""

from collections.abc import Callable, Sequence

from tsuzuki.db import Tx
from tsuzuki.delivery.notices.store import Tellee
from tsuzuki.delivery.notices.tasks import SENDS, Message, Send, delivery_id
from tsuzuki.model.ids import show_id
from tsuzuki.model.times import Millis
from tsuzuki.queue.store import enqueue_many_tx


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
