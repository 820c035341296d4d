"""Limits of a shelf's plan, checked in the transaction that adds something, so that no race gets past."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Literal

import msgspec

from tsuzuki.db import Tx, load_queries
from tsuzuki.db.locks import lock_shelf_tx
from tsuzuki.model.errors import LimitExceeded
from tsuzuki.model.ids import ShelfId
from tsuzuki.model.plans import effective_plan, exceeded, is_over

q = load_queries("tsuzuki.shelves")


class ShelfTerms(msgspec.Struct, frozen=True):
    """The shelf's plan and status, and whether billing is on."""

    plan: str
    status: str
    is_billed: bool
    """False: TSUZUKI_BILLING is off, and neither plan nor status count."""


async def shelf_terms_tx(tx: Tx, shelf_id: ShelfId) -> ShelfTerms:
    """The shelf's terms, or NotFound."""
    return await tx.one(ShelfTerms, q.shelf_terms, shelf_id=shelf_id)


async def count_follows_tx(tx: Tx, shelf_id: ShelfId) -> int:
    """The feeds and series of a shelf."""
    return await tx.one(int, q.count_follows, shelf_id=shelf_id)


async def count_kept_chapters_tx(tx: Tx, shelf_id: ShelfId) -> int:
    """The chapters that a shelf keeps."""
    return await tx.one(int, q.count_kept_chapters, shelf_id=shelf_id)


async def desync_shelf_tx(tx: Tx, shelf_id: ShelfId) -> None:
    """Mark the shelf: its plan has to be applied to something new."""
    await tx.run(q.desync_shelf, shelf_id=shelf_id)


Counted = Literal["follows", "kept_chapters"]
"""The limits that are a shelf's own; its tenant's members are counted in accounts."""

_COUNTS: Mapping[Counted, Callable[[Tx, ShelfId], Awaitable[int]]] = {
    "follows": count_follows_tx,
    "kept_chapters": count_kept_chapters_tx,
}


async def check_shelf_limit_tx(tx: Tx, shelf_id: ShelfId, limit: Counted) -> None:
    """Room for one more until this transaction ends; LimitExceeded names the limit and the plan that lifts it.

    To be called before the rows are added, and before anything else is locked. A shelf that sleeps takes nothing.
    """
    if not (await shelf_terms_tx(tx, shelf_id)).is_billed:
        return
    await lock_shelf_tx(tx, shelf_id)
    terms = await shelf_terms_tx(tx, shelf_id)
    if terms.status != "active":
        raise LimitExceeded(why_asleep(terms.status))
    await desync_shelf_tx(tx, shelf_id)
    plan = effective_plan(terms.plan, is_billed=terms.is_billed)
    if plan.limits.room(limit) is None:
        return
    used = await _COUNTS[limit](tx, shelf_id)
    if is_over(plan, limit, used + 1):
        raise exceeded(plan, limit, used=used)


async def free_room_tx(tx: Tx, shelf_id: ShelfId) -> None:
    """Something is about to leave: let the plan's enforcer look again at what it held back. Before other locks."""
    if (await shelf_terms_tx(tx, shelf_id)).is_billed:
        await desync_shelf_tx(tx, shelf_id)


async def allow_waking_tx(tx: Tx, shelf_id: ShelfId, subscription_id: int) -> None:
    """A reader wakes a suspended feed, for good or for one look; LimitExceeded when the plan does not let it."""
    terms = await shelf_terms_tx(tx, shelf_id)
    if terms.is_billed and terms.status != "active":
        raise LimitExceeded(why_asleep(terms.status))
    if await tx.one(bool, q.is_held, id=subscription_id):
        raise LimitExceeded("The plan of this shelf allows no more feeds; unfollow others, or choose another plan.")


def why_asleep(status: str) -> str:
    """Why nothing can be added to a shelf of this status, in words."""
    if status == "delinquent":
        return "Invoices of this shelf are overdue, so nothing can be added to it; pay them to reactivate it."
    return "This shelf is deactivated, so nothing can be added to it; reactivate it first."
