"""Shelves and their members: created with each account, shared, deleted with their last owner."""

from collections.abc import Mapping

from tsuzuki.accounts.activity import ShelfSnapshot, insert_activity_tx, is_billed_tx, lock_account_tx
from tsuzuki.accounts.audit import AuditEvent, record_tx
from tsuzuki.accounts.caller import get_user_tx
from tsuzuki.accounts.deps import AccountDeps
from tsuzuki.accounts.policy import free_name
from tsuzuki.accounts.types import Actor, Member, MemberShelf, OldShared, Shelf, ShelfContents, ShelfRole, User
from tsuzuki.db import Tx, load_queries
from tsuzuki.model.ids import PublicId, ShelfId, TenantId, UserId, show_id
from tsuzuki.model.plans import FREE, SELF_HOSTED, get_plan
from tsuzuki.model.structs import copied
from tsuzuki.model.times import Millis

q = load_queries("tsuzuki.accounts.shelves")

_RANKS: dict[ShelfRole, int] = {"owner": 0, "editor": 1, "reader": 2}

# -- shelves


async def add_shelf_tx(
    tx: Tx, tenant_id: TenantId, public_ids: tuple[PublicId, PublicId], *, name: str, plan: str, now: Millis
) -> Shelf:
    """A shelf with its default group, which takes the second id."""
    of_shelf, of_group = public_ids
    shelf = await tx.one(Shelf, q.add_shelf, public_id=of_shelf, tenant_id=tenant_id, name=name, plan=plan, now=now)
    await tx.run(q.add_default_group, public_id=of_group, shelf_id=shelf.id, now=now)
    return shelf


async def list_member_shelves_tx(tx: Tx, user_id: UserId) -> list[MemberShelf]:
    """A person's, their own first, then the oldest: the first is meant when they have chosen none."""
    found = await tx.many(MemberShelf, q.list_member_shelves, user_id=user_id)
    return sorted(found, key=lambda shelf: (shelf.role != "owner", shelf.id))


async def find_member_shelf_tx(tx: Tx, user_id: UserId, public_id: PublicId) -> MemberShelf | None:
    """One of a person's; any other is as unknown as one that is not there (I8)."""
    return await tx.maybe(MemberShelf, q.find_member_shelf, user_id=user_id, public_id=public_id)


async def set_proxy_images_tx(tx: Tx, shelf_id: ShelfId, *, proxy_images: bool, now: Millis) -> Shelf:
    """The shelf, with its articles' images through us or not."""
    return await tx.one(Shelf, q.set_proxy_images, id=shelf_id, proxy_images=proxy_images, now=now)


async def set_retention_tx(tx: Tx, shelf_id: ShelfId, retention: Millis | None, *, now: Millis) -> None:
    """How long the shelf keeps articles after they were read."""
    await tx.run(q.set_retention, id=shelf_id, retention=retention, now=now)


async def rename_shelf_tx(tx: Tx, shelf_id: ShelfId, name: str, *, now: Millis) -> Shelf:
    """The shelf under its new name; UniqueViolation when the tenant has one of that name."""
    return await tx.one(Shelf, q.rename_shelf, id=shelf_id, name=name, now=now)


async def unclaimed_shelf_tx(tx: Tx, tenant_id: TenantId) -> Shelf | None:
    """A shelf that nobody has yet, awake."""
    return await tx.maybe(Shelf, q.unclaimed_shelf, tenant_id=tenant_id)


# -- who has them


async def put_member_tx(tx: Tx, shelf_id: ShelfId, user_id: UserId, role: ShelfRole, *, now: Millis) -> None:
    """Add the person to the shelf, or change their role; only within the tenant (I8)."""
    await tx.run(q.put_member, shelf_id=shelf_id, user_id=user_id, role=role, now=now)


async def remove_member_tx(tx: Tx, shelf_id: ShelfId, user_id: UserId, *, now: Millis) -> None:
    """Remove the person from the shelf, with their channels on it."""
    await tx.run(q.remove_member, shelf_id=shelf_id, user_id=user_id)
    await tx.run(q.forget_default_shelf, shelf_id=shelf_id, user_id=user_id, now=now)


async def list_members_tx(tx: Tx, shelf_id: ShelfId) -> list[Member]:
    """The shelf's members, owners first, then by name."""
    return sorted(await tx.many(Member, q.list_members, shelf_id=shelf_id), key=lambda member: _RANKS[member.role])


async def list_others_tx(tx: Tx, tenant_id: TenantId, shelf_id: ShelfId) -> list[str]:
    """The names of the tenant's people who do not have this shelf."""
    return await tx.many(str, q.list_others, tenant_id=tenant_id, shelf_id=shelf_id)


async def first_person_tx(tx: Tx, tenant_id: TenantId) -> UserId | None:
    """Who has been in this tenant for longest."""
    return await tx.maybe(UserId, q.first_person, tenant_id=tenant_id)


async def set_default_shelf_tx(tx: Tx, user_id: UserId, shelf_id: ShelfId, *, now: Millis) -> None:
    """Set the shelf that is used when this person names none."""
    await tx.run(q.set_default_shelf, user_id=user_id, shelf_id=shelf_id, now=now)


async def close_offer_tx(tx: Tx, user_id: UserId, *, now: Millis) -> None:
    """Do not ask this person again whether they want a shelf of their own."""
    await tx.run(q.close_offer, user_id=user_id, now=now)


async def list_old_shared_tx(tx: Tx) -> list[OldShared]:
    """Shelves whose people have not been asked, or have not answered."""
    return await tx.many(OldShared, q.list_old_shared)


# -- deleting


async def list_sole_shelves_tx(tx: Tx, user_id: UserId) -> list[MemberShelf]:
    """Those that have no other owner than this person."""
    return await tx.many(MemberShelf, q.list_sole_shelves, user_id=user_id)


async def count_shelf_contents_tx(tx: Tx, shelf_id: ShelfId) -> ShelfContents:
    """What would be deleted with the shelf."""
    return await tx.one(ShelfContents, q.count_shelf_contents, id=shelf_id)


async def delete_shelf_tx(tx: Tx, shelf_id: ShelfId) -> None:
    """Delete the shelf and what is on it; items and chapters that were fetched for it stay."""
    await _delete_follows_tx(tx, shelf_id)
    await tx.run(q.delete_activities, shelf_id=shelf_id)
    await tx.run(q.delete_shelf, id=shelf_id)


async def empty_shelf_tx(tx: Tx, shelf_id: ShelfId, *, now: Millis) -> Shelf:
    """Put the shelf to sleep, without content and without members."""
    await _delete_follows_tx(tx, shelf_id)
    await tx.run(q.delete_former_subscriptions, shelf_id=shelf_id)
    await tx.run(q.delete_former_follows, shelf_id=shelf_id)
    await tx.run(q.delete_groups, shelf_id=shelf_id)
    await tx.run(q.delete_tags, shelf_id=shelf_id)
    await tx.run(q.delete_entries, shelf_id=shelf_id)
    await tx.run(q.delete_tombstones, shelf_id=shelf_id)
    await tx.run(q.delete_progress, shelf_id=shelf_id)
    await tx.run(q.delete_kept_chapters, shelf_id=shelf_id)
    await tx.run(q.delete_bookmarks, shelf_id=shelf_id)
    await tx.run(q.delete_events, shelf_id=shelf_id)
    await tx.run(q.delete_channels, shelf_id=shelf_id)
    await tx.run(q.delete_members, shelf_id=shelf_id)
    return await tx.one(Shelf, q.put_to_sleep, id=shelf_id, now=now)


async def _delete_follows_tx(tx: Tx, shelf_id: ShelfId) -> None:
    """Delete follows first: they refer to a group, and a cascade may meet shelf or groups in any order."""
    await tx.run(q.delete_subscriptions, shelf_id=shelf_id)
    await tx.run(q.delete_follows, shelf_id=shelf_id)


async def add_own_shelf_tx(tx: Tx, deps: AccountDeps, user: User, actor: Actor) -> Shelf:
    """A shelf of their own, from now on the one that is meant when they name none (R91).

    Whoever comes first to a tenant has the shelf that it began with; everyone after that gets a new one.
    """
    now = deps.clock()
    shelf = await unclaimed_shelf_tx(tx, user.tenant_id)
    if shelf is None:
        shelf = await make_shelf_tx(tx, deps, user, actor=actor, wanted=user.username)
    else:
        await put_member_tx(tx, shelf.id, user.id, "owner", now=now)
    await set_default_shelf_tx(tx, user.id, shelf.id, now=now)
    return shelf


async def make_shelf_tx(tx: Tx, deps: AccountDeps, user: User, *, actor: Actor, wanted: str) -> Shelf:
    """A new shelf of this person, named as wanted or with a number behind it.

    Free with billing on, unlimited without, as a tenant's first one. The ledger's listeners find it by its row (R89).
    """
    now = deps.clock()
    is_billed = await is_billed_tx(tx)
    if is_billed:
        await lock_account_tx(tx, user.tenant_id)  # before any shelf of it
    name = free_name(wanted, set(await tx.many(str, q.list_shelf_names, tenant_id=user.tenant_id)))
    plan = FREE.id if is_billed else SELF_HOSTED.id
    ids = deps.new_id(now), deps.new_id(now)
    shelf = await add_shelf_tx(tx, user.tenant_id, ids, name=name, plan=plan, now=now)
    await put_member_tx(tx, shelf.id, user.id, "owner", now=now)
    await record_tx(tx, actor, on_shelf("shelf.create", shelf, after={"name": name, "owner": user.username}), now=now)
    if is_billed:
        await insert_activity_tx(tx, shelf.id, "shelf.created", copied(ShelfSnapshot, shelf), now=now)
    return shelf


async def drop_shelf_tx(tx: Tx, deps: AccountDeps, shelf: Shelf, *, actor: Actor, but: UserId | None = None) -> None:
    """Delete a shelf with all that is on it; whoever had no other one gets one of their own, `but` one who goes too.

    One that costs or has cost something is emptied and sleeps on: every cent of it stays accounted for (I10).
    """
    now = deps.clock()
    people = [member for member in await list_members_tx(tx, shelf.id) if member.user_id != but]
    if get_plan(shelf.plan).price_cents or await tx.one(bool, q.was_charged, shelf_id=shelf.id):
        asleep = await empty_shelf_tx(tx, shelf.id, now=now)
        if shelf.status != "inactive" and await is_billed_tx(tx):
            await insert_activity_tx(tx, shelf.id, "shelf.deactivated", copied(ShelfSnapshot, asleep), now=now)
    else:
        await delete_shelf_tx(tx, shelf.id)
    before = {"name": shelf.name, "people": [member.username for member in people]}
    await record_tx(tx, actor, on_shelf("shelf.delete", shelf, before=before), now=now)
    for member in people:
        await see_to_shelf_tx(tx, deps, member.user_id, actor=actor)


async def see_to_shelf_tx(tx: Tx, deps: AccountDeps, user_id: UserId, *, actor: Actor) -> None:
    """Give this person a shelf of their own if they have none."""
    if not await list_member_shelves_tx(tx, user_id):
        await add_own_shelf_tx(tx, deps, await get_user_tx(tx, user_id), actor)


def on_shelf(
    action: str, shelf: Shelf, *, before: Mapping[str, object] | None = None, after: Mapping[str, object] | None = None
) -> AuditEvent:
    """The audit event for something done to a shelf."""
    return AuditEvent(action, "shelf", show_id(shelf.public_id), before=before, after=after)
