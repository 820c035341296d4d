"""Sharing a shelf with named people of the same tenant; renaming and deleting it (R91)."""

import msgspec

from tsuzuki.accounts.activity import ShelfSnapshot, insert_activity_tx, is_billed_tx
from tsuzuki.accounts.audit import record_tx
from tsuzuki.accounts.caller import Caller, get_user_tx
from tsuzuki.accounts.deps import AccountDeps
from tsuzuki.accounts.people import found
from tsuzuki.accounts.policy import LONGEST_SHELF_NAME, MOST_OWNED, plain_name
from tsuzuki.accounts.shelves import (
    add_own_shelf_tx,
    close_offer_tx,
    count_shelf_contents_tx,
    drop_shelf_tx,
    find_member_shelf_tx,
    list_member_shelves_tx,
    list_members_tx,
    list_old_shared_tx,
    list_others_tx,
    make_shelf_tx,
    on_shelf,
    put_member_tx,
    remove_member_tx,
    rename_shelf_tx,
    see_to_shelf_tx,
    set_retention_tx,
)
from tsuzuki.accounts.store import find_user_by_name_tx
from tsuzuki.accounts.types import Actor, Member, MemberShelf, OldShared, ShelfContents, ShelfRole, User
from tsuzuki.db import Tx
from tsuzuki.db.errors import UniqueViolation
from tsuzuki.db.locks import lock_people_tx
from tsuzuki.model.errors import Conflict, Forbidden, Invalid, LimitExceeded, NotFound, Problem
from tsuzuki.model.ids import PublicId, TenantId, UserId
from tsuzuki.model.structs import copied
from tsuzuki.model.times import Millis


class ShelfUser(msgspec.Struct, frozen=True):
    """The person whose shelves are meant, and who acts: on the command line, the operator acts for somebody else."""

    user_id: UserId
    tenant_id: TenantId
    actor: Actor


def shelf_user(person: Caller | User, actor: Actor | None = None) -> ShelfUser:
    """This person; `actor` is who is logged as acting for them."""
    if isinstance(person, Caller):
        return ShelfUser(person.user_id, person.tenant_id, actor or person.actor)
    return ShelfUser(person.id, person.tenant_id, actor or Actor(person.public_id, person.username))


class Sharing:
    """Every method takes a shelf that the person has: NotFound for any other (I8), Forbidden beyond their role.

    All of them that change who has what wait for one another, so that a shelf always has an owner and a person a shelf.
    """

    def __init__(self, deps: AccountDeps) -> None:
        self._deps = deps

    # -- looking

    async def shelf(self, who: ShelfUser, shelf_id: PublicId) -> MemberShelf:
        """The shelf; NotFound if this person has no access to it."""
        return await self._deps.db.read(lambda tx: _mine_tx(tx, who, shelf_id))

    async def people(self, who: ShelfUser, shelf_id: PublicId) -> list[Member]:
        """Who has this shelf, owners first; whoever has it may ask."""

        async def read(tx: Tx) -> list[Member]:
            return await list_members_tx(tx, (await _mine_tx(tx, who, shelf_id)).id)

        return await self._deps.db.read(read)

    async def others(self, who: ShelfUser, shelf_id: PublicId) -> list[str]:
        """The names of those it could be shared with; for an owner."""

        async def read(tx: Tx) -> list[str]:
            return await list_others_tx(tx, who.tenant_id, (await _owned_tx(tx, who, shelf_id)).id)

        return await self._deps.db.read(read)

    async def contents(self, who: ShelfUser, shelf_id: PublicId) -> ShelfContents:
        """What deleting it would take along; for an owner."""

        async def read(tx: Tx) -> ShelfContents:
            return await count_shelf_contents_tx(tx, (await _owned_tx(tx, who, shelf_id)).id)

        return await self._deps.db.read(read)

    async def old_shared(self) -> list[OldShared]:
        """Shelves shared since before each person could have their own."""
        return await self._deps.db.read(list_old_shared_tx)

    # -- with whom

    async def share(self, who: ShelfUser, shelf_id: PublicId, username: str, role: ShelfRole) -> Member:
        """From now on this person has the shelf too, or has it in another role.

        NotFound for a name that nobody of the tenant has, Conflict where no owner would be left.
        """

        async def share(tx: Tx) -> Member:
            await lock_people_tx(tx)
            shelf = await _owned_tx(tx, who, shelf_id)
            person = await _person_tx(tx, who, username)
            members = await list_members_tx(tx, shelf.id)
            before = next((one for one in members if one.user_id == person.id), None)
            if before is not None and before.role == role:
                return before
            if role != "owner":
                _require_an_owner(members, person.id)
            now = self._deps.clock()
            await put_member_tx(tx, shelf.id, person.id, role, now=now)
            was = None if before is None else {"person": before.username, "role": before.role}
            audit_event = on_shelf("shelf.share", shelf, before=was, after={"person": person.username, "role": role})
            await record_tx(tx, who.actor, audit_event, now=now)
            return Member(person.id, person.public_id, person.username, role, before.created_at if before else now)

        return await self._deps.db.with_tx(share)

    async def remove(self, who: ShelfUser, shelf_id: PublicId, username: str) -> None:
        """Take the shelf from somebody, with their channels of it; everyone may leave by themselves.

        Conflict for the last owner. Who has no other shelf gets one of their own.
        """

        async def remove(tx: Tx) -> None:
            await lock_people_tx(tx)
            shelf = await _mine_tx(tx, who, shelf_id)
            members = await list_members_tx(tx, shelf.id)
            gone = next((one for one in members if one.username == plain_name(username)), None)
            if gone is None or gone.user_id != who.user_id:
                must_own(shelf)
            if gone is None:
                raise NotFound(f"{username} does not have this shelf.")
            member = gone
            _require_an_owner(members, member.user_id)
            now = self._deps.clock()
            await remove_member_tx(tx, shelf.id, member.user_id, now=now)
            action = "shelf.leave" if member.user_id == who.user_id else "shelf.unshare"
            audit_event = on_shelf(action, shelf, before={"person": member.username, "role": member.role})
            await record_tx(tx, who.actor, audit_event, now=now)
            await see_to_shelf_tx(tx, self._deps, member.user_id, actor=who.actor)

        await self._deps.db.with_tx(remove)

    # -- the shelf itself

    async def make(self, who: ShelfUser, name: str) -> MemberShelf:
        """Another shelf of this person. With billing on, Conflict: it is rented then."""

        async def make(tx: Tx) -> MemberShelf:
            await lock_people_tx(tx)
            if await is_billed_tx(tx):
                raise Conflict("Shelves are billed here. Add one under Plan and billing.")
            owned = [one for one in await list_member_shelves_tx(tx, who.user_id) if one.role == "owner"]
            if len(owned) >= MOST_OWNED:
                raise LimitExceeded(f"A user can own at most {MOST_OWNED} shelves.")
            user = await get_user_tx(tx, who.user_id)
            made = await make_shelf_tx(tx, self._deps, user, actor=who.actor, wanted=_name(name))
            return await _mine_tx(tx, who, made.public_id)

        return await self._deps.db.with_tx(make)

    async def rename(self, who: ShelfUser, shelf_id: PublicId, name: str) -> MemberShelf:
        """Rename it; Conflict when the tenant has a shelf of that name."""
        wanted = _name(name)

        async def rename(tx: Tx) -> MemberShelf:
            shelf = await _owned_tx(tx, who, shelf_id)
            if shelf.name == wanted:
                return shelf
            now = self._deps.clock()
            try:
                renamed = await rename_shelf_tx(tx, shelf.id, wanted, now=now)
            except UniqueViolation as error:
                raise Conflict(f"A shelf named {wanted} already exists.") from error
            audit_event = on_shelf("shelf.rename", shelf, before={"name": shelf.name}, after={"name": wanted})
            await record_tx(tx, who.actor, audit_event, now=now)
            if await is_billed_tx(tx):
                await insert_activity_tx(tx, shelf.id, "shelf.renamed", copied(ShelfSnapshot, renamed), now=now)
            return msgspec.structs.replace(shelf, name=wanted)

        return await self._deps.db.with_tx(rename)

    async def set_retention(self, who: ShelfUser, shelf_id: PublicId, retention: Millis | None) -> MemberShelf:
        """How long the shelf keeps read articles: None for the server's setting, 0 for ever."""

        async def change(tx: Tx) -> MemberShelf:
            shelf = await _owned_tx(tx, who, shelf_id)
            if shelf.own_retention == retention:
                return shelf
            now = self._deps.clock()
            await set_retention_tx(tx, shelf.id, retention, now=now)
            before, after = {"retention": shelf.own_retention}, {"retention": retention}
            await record_tx(tx, who.actor, on_shelf("shelf.retention", shelf, before=before, after=after), now=now)
            return msgspec.structs.replace(shelf, own_retention=retention)

        return await self._deps.db.with_tx(change)

    async def delete(self, who: ShelfUser, shelf_id: PublicId) -> None:
        """Delete it with what `contents` names; Conflict for the only shelf of this person."""

        async def delete(tx: Tx) -> None:
            await lock_people_tx(tx)
            shelf = await _owned_tx(tx, who, shelf_id)
            if len(await list_member_shelves_tx(tx, who.user_id)) == 1:
                raise Conflict("This is your only shelf; create another one first.")
            await drop_shelf_tx(tx, self._deps, shelf, actor=who.actor)

        await self._deps.db.with_tx(delete)

    # -- people who shared a shelf before there was a choice

    async def take_offer(self, who: ShelfUser) -> MemberShelf:
        """A shelf of their own, empty, which is meant from now on; nothing is taken from the shared one.

        Conflict for somebody to whom none is offered.
        """

        async def take(tx: Tx) -> MemberShelf:
            await lock_people_tx(tx)
            user = await get_user_tx(tx, who.user_id)
            if not user.is_offered_shelf:
                raise Conflict("You already have a shelf of your own.")
            made = await add_own_shelf_tx(tx, self._deps, user, who.actor)
            await close_offer_tx(tx, user.id, now=self._deps.clock())
            return await _mine_tx(tx, who, made.public_id)

        return await self._deps.db.with_tx(take)

    async def decline_offer(self, who: ShelfUser) -> None:
        """Keep the shared shelf, and do not ask again."""
        await self._deps.db.with_tx(lambda tx: close_offer_tx(tx, who.user_id, now=self._deps.clock()))


async def _mine_tx(tx: Tx, who: ShelfUser, shelf_id: PublicId) -> MemberShelf:
    return found(await find_member_shelf_tx(tx, who.user_id, shelf_id), "shelf")


async def _owned_tx(tx: Tx, who: ShelfUser, shelf_id: PublicId) -> MemberShelf:
    shelf = await _mine_tx(tx, who, shelf_id)
    must_own(shelf)
    return shelf


async def _person_tx(tx: Tx, who: ShelfUser, username: str) -> User:
    """Somebody of the same tenant; people of others are as unknown as those who are not there (I8)."""
    user = await find_user_by_name_tx(tx, plain_name(username))
    return found(user if user is not None and user.tenant_id == who.tenant_id else None, "person here")


def must_own(shelf: MemberShelf) -> None:
    """Forbidden for whoever only reads or edits it."""
    if shelf.role != "owner":
        raise Forbidden("Only an owner of this shelf may do that.")


def _require_an_owner(members: list[Member], leaving: UserId) -> None:
    owners = {one.user_id for one in members if one.role == "owner"}
    if owners == {leaving}:
        raise Conflict("A shelf needs an owner; make somebody else an owner first, or delete it.")


def _name(text: str) -> str:
    name = " ".join(text.split())
    if not 1 <= len(name) <= LONGEST_SHELF_NAME:
        problem = Problem("name", f"The name must have 1 to {LONGEST_SHELF_NAME} characters.")
        raise Invalid(problem.message, (problem,))
    return name
