"""How a shelf comes and goes inside somebody's transaction, so that nobody is ever without one."""

from collections.abc import Mapping

from tsuzuki.accounts.activity.nouns import ShelfSnapshot
from tsuzuki.accounts.activity.store import insert_activity_tx, is_billed_tx, lock_account_tx
from tsuzuki.accounts.audit.recording import AuditEvent, record_tx
from tsuzuki.accounts.deps import AccountDeps
from tsuzuki.accounts.nouns import Actor, Shelf, User
from tsuzuki.accounts.shelves.policy import free_name
from tsuzuki.accounts.shelves.store import (
    add_shelf_tx,
    delete_shelf_tx,
    empty_shelf_tx,
    list_member_shelves_tx,
    list_members_tx,
    put_member_tx,
    set_default_shelf_tx,
    shelf_names_tx,
    unclaimed_shelf_tx,
    was_charged_tx,
)
from tsuzuki.accounts.store import get_user_tx
from tsuzuki.db import Tx
from tsuzuki.model.ids import UserId, show_id
from tsuzuki.model.plans import FREE, SELF_HOSTED, get_plan


async def give_shelf_tx(tx: Tx, deps: AccountDeps, user: User, actor: Actor) -> Shelf:
    """A shelf of their own, from now on the one that is meant when they name none (R91).

    Whoever comes first to a tenant has the shelf that it began with; everyone after that gets a new one.
    """
    now = deps.clock()
    shelf = await unclaimed_shelf_tx(tx, user.tenant_id)
    if shelf is None:
        shelf = await make_shelf_tx(tx, deps, user, actor=actor, wish=user.username)
    else:
        await put_member_tx(tx, shelf.id, user.id, "owner", now=now)
    await set_default_shelf_tx(tx, user.id, shelf.id, now=now)
    return shelf


async def make_shelf_tx(tx: Tx, deps: AccountDeps, user: User, *, actor: Actor, wish: str) -> Shelf:
    """A new shelf of this person, named as wished or with a number behind it.

    Free with billing on, unlimited without, as a tenant's first one. The ledger's listeners find it by its row (R89).
    """
    now = deps.clock()
    is_billed = await is_billed_tx(tx)
    if is_billed:
        await lock_account_tx(tx, user.tenant_id)  # before any shelf of it
    name = free_name(wish, await shelf_names_tx(tx, user.tenant_id))
    plan = FREE.id if is_billed else SELF_HOSTED.id
    ids = deps.new_id(now), deps.new_id(now)
    shelf = await add_shelf_tx(tx, user.tenant_id, ids, name=name, plan=plan, now=now)
    await put_member_tx(tx, shelf.id, user.id, "owner", now=now)
    await record_tx(tx, actor, on_shelf("shelf.create", shelf, after={"name": name, "owner": user.username}), now=now)
    if is_billed:
        await insert_activity_tx(tx, shelf.id, "shelf.created", _snapshot(shelf), now=now)
    return shelf


async def drop_shelf_tx(tx: Tx, deps: AccountDeps, shelf: Shelf, *, actor: Actor, but: UserId | None = None) -> None:
    """Delete a shelf with all that is on it; whoever had no other one gets one of their own, `but` one who goes too.

    One that costs or has cost something is emptied and sleeps on: every cent of it stays accounted for (I10).
    """
    now = deps.clock()
    people = [member for member in await list_members_tx(tx, shelf.id) if member.user_id != but]
    if get_plan(shelf.plan).price_cents or await was_charged_tx(tx, shelf.id):
        asleep = await empty_shelf_tx(tx, shelf.id, now=now)
        if shelf.status != "inactive" and await is_billed_tx(tx):
            await insert_activity_tx(tx, shelf.id, "shelf.deactivated", _snapshot(asleep), now=now)
    else:
        await delete_shelf_tx(tx, shelf.id)
    before = {"name": shelf.name, "people": [member.username for member in people]}
    await record_tx(tx, actor, on_shelf("shelf.delete", shelf, before=before), now=now)
    for member in people:
        await see_to_shelf_tx(tx, deps, member.user_id, actor=actor)


async def see_to_shelf_tx(tx: Tx, deps: AccountDeps, user_id: UserId, *, actor: Actor) -> None:
    """Give this person a shelf of their own if they are left without any."""
    if not await list_member_shelves_tx(tx, user_id):
        await give_shelf_tx(tx, deps, await get_user_tx(tx, user_id), actor)


def on_shelf(
    action: str, shelf: Shelf, *, before: Mapping[str, object] | None = None, after: Mapping[str, object] | None = None
) -> AuditEvent:
    """Something that was done to a shelf."""
    return AuditEvent(action, "shelf", show_id(shelf.public_id), before=before, after=after)


def _snapshot(shelf: Shelf) -> ShelfSnapshot:
    return ShelfSnapshot(shelf.name, shelf.plan, shelf.status)
