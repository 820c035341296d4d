"""TSUZUKI_BILLING, written where transactions can see it."""

from tsuzuki.accounts.activity.nouns import Activity, ShelfSnapshot
from tsuzuki.accounts.activity.store import insert_activity_tx
from tsuzuki.accounts.deps import AccountDeps
from tsuzuki.billing.policy import period_at
from tsuzuki.billing.store import (
    desync_shelves_tx,
    list_accounts_tx,
    skip_periods_tx,
    turn_switch_tx,
    unlogged_shelves_tx,
)
from tsuzuki.db import Tx
from tsuzuki.model.times import Millis


async def turn(deps: AccountDeps, *, is_on: bool) -> bool:
    """At every start: what the setting says; True when that is news.

    Switched on: shelves that the log does not know are adopted, and what passed without billing is not charged.
    """

    async def turn(tx: Tx) -> tuple[bool, list[Activity]]:
        now = deps.clock()
        if not await turn_switch_tx(tx, is_on=is_on, now=now):
            return False, []
        adopted = await _take_up_tx(tx, now) if is_on else []  # accounts are held before shelves, as everywhere
        await desync_shelves_tx(tx)
        return True, adopted

    changed, adopted = await deps.db.with_tx(turn)
    await deps.publisher.publish(*adopted)
    return changed


async def _take_up_tx(tx: Tx, now: Millis) -> list[Activity]:
    for account in await list_accounts_tx(tx):
        start = period_at(account.anchor_at, now).start
        if start > (account.renewed_at or account.anchor_at):
            await skip_periods_tx(tx, account.id, start, now=now)
    return [
        await insert_activity_tx(
            tx, shelf.id, "shelf.adopted", ShelfSnapshot(shelf.name, shelf.plan, shelf.status), now=now
        )
        for shelf in await unlogged_shelves_tx(tx)
    ]
