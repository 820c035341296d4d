"""REL-47: a request with an idempotency key is done once, and repeats are answered alike."""

import hashlib
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec

from tsuzuki.billing.store import add_answer_tx, find_answer_tx, set_answer_tx
from tsuzuki.db import Tx
from tsuzuki.model.errors import Conflict, KeyReused
from tsuzuki.model.ids import TenantId
from tsuzuki.model.times import DAY, Millis

T = TypeVar("T")

KEPT = Millis(DAY)
"""How long a key is remembered."""


class IdempotentRequest(msgspec.Struct, frozen=True):
    """What is asked for, under a key of the caller's tenant; without a key every time counts."""

    tenant_id: TenantId
    key: str | None
    content: Any
    """Whatever makes another request of it."""

    @property
    def hash(self) -> bytes:
        return hashlib.sha256(msgspec.json.encode(self.content)).digest()


async def once_tx(
    tx: Tx, request: IdempotentRequest, answer: type[T], work: Callable[[], Awaitable[T]], *, now: Millis
) -> T:
    """What `work` answers, or answered the first time; KeyReused when the key came with something else.

    The claim, the work and the answer are one transaction: a failure leaves the key free.
    """
    if request.key is None:
        return await work()
    if await add_answer_tx(tx, request.tenant_id, request.key, request_hash=request.hash, now=now):
        done = await work()
        await set_answer_tx(tx, request.tenant_id, request.key, msgspec.json.encode(done).decode())
        return done
    known = await find_answer_tx(tx, request.tenant_id, request.key)
    if known is None:
        raise Conflict("A request with this idempotency key is being answered; try again.")
    if known.request_hash != request.hash:
        raise KeyReused("This idempotency key came with another request before; take a new one.")
    return msgspec.json.decode(known.answer, type=answer)
