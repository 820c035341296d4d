"""Groups of feeds and series on a shelf."""

import msgspec

from tsuzuki.db import Tx, load_queries
from tsuzuki.db.errors import UniqueViolation
from tsuzuki.model.errors import Conflict, NotFound
from tsuzuki.model.ids import GroupId, PublicId, ShelfId
from tsuzuki.model.times import Millis
from tsuzuki.shelves.deps import ShelfDeps


class Group(msgspec.Struct, frozen=True):
    """A group of a shelf."""

    id: GroupId
    public_id: PublicId
    name: str
    position: int
    is_default: bool
    created_at: Millis
    updated_at: Millis


q = load_queries("tsuzuki.shelves.groups")


async def list_groups_tx(tx: Tx, shelf_id: ShelfId) -> list[Group]:
    """The shelf's groups in their order."""
    found = await tx.many(Group, q.list_groups, shelf_id=shelf_id)
    return sorted(found, key=lambda group: (group.position, group.id))


async def find_group_named_tx(tx: Tx, shelf_id: ShelfId, name: str) -> Group | None:
    """The shelf's group of this name."""
    return await tx.maybe(Group, q.find_group_named, shelf_id=shelf_id, name=name)


async def default_group_tx(tx: Tx, shelf_id: ShelfId) -> Group:
    """The group for what is in no other."""
    return await tx.one(Group, q.default_group, shelf_id=shelf_id)


async def add_group_tx(tx: Tx, shelf_id: ShelfId, public_id: PublicId, *, name: str, now: Millis) -> Group:
    """A new group at the end; UniqueViolation when the name is taken."""
    return await tx.one(Group, q.add_group, public_id=public_id, shelf_id=shelf_id, name=name, now=now)


async def change_group_tx(tx: Tx, group: Group, now: Millis) -> Group:
    """Store the name and place that `group` says; UniqueViolation when the name is taken."""
    return await tx.one(Group, q.change_group, id=group.id, name=group.name, position=group.position, now=now)


async def empty_group_tx(tx: Tx, group_id: GroupId, *, into: GroupId, now: Millis) -> None:
    """Move all that is in one group into another."""
    await tx.run(q.move_subscriptions, from_id=group_id, to_id=into, now=now)
    await tx.run(q.move_follows, from_id=group_id, to_id=into, now=now)


class Groups:
    """The groups of a shelf. Each shelf has a default group, which stays."""

    def __init__(self, deps: ShelfDeps) -> None:
        self._deps = deps

    async def list(self, shelf_id: ShelfId) -> list[Group]:
        """All of the shelf's, in their order."""
        return await self._deps.db.read(lambda tx: list_groups_tx(tx, shelf_id))

    async def get(self, shelf_id: ShelfId, public_id: PublicId) -> Group:
        """One of the shelf's, or NotFound."""
        return await self._deps.db.read(lambda tx: own_group_tx(tx, shelf_id, public_id))

    async def add(self, shelf_id: ShelfId, name: str) -> Group:
        """A new one at the end; Conflict when the name is taken (R75)."""
        now, public_id = self._deps.clock(), self._deps.new_id()
        try:
            return await self._deps.db.with_tx(lambda tx: add_group_tx(tx, shelf_id, public_id, name=name, now=now))
        except UniqueViolation as error:
            raise _taken(name) from error

    async def change(
        self, shelf_id: ShelfId, public_id: PublicId, *, name: str | None = None, position: int | None = None
    ) -> Group:
        """Rename or move it; None leaves as it is. Conflict when the name is taken."""

        async def change(tx: Tx) -> Group:
            group = await own_group_tx(tx, shelf_id, public_id)
            wanted = msgspec.structs.replace(
                group,
                name=group.name if name is None else name,
                position=group.position if position is None else position,
            )
            return await change_group_tx(tx, wanted, self._deps.clock())

        try:
            return await self._deps.db.with_tx(change)
        except UniqueViolation as error:
            raise _taken(name or "") from error

    async def delete(self, shelf_id: ShelfId, public_id: PublicId) -> None:
        """What is in it moves to the default group, which itself cannot be deleted (Conflict)."""

        async def delete(tx: Tx) -> None:
            group = await own_group_tx(tx, shelf_id, public_id)
            if group.is_default:
                raise Conflict("The default group cannot be deleted.")
            default = await default_group_tx(tx, shelf_id)
            await empty_group_tx(tx, group.id, into=default.id, now=self._deps.clock())
            await tx.run(q.delete_group, id=group.id)

        await self._deps.db.with_tx(delete)


async def own_group_tx(tx: Tx, shelf_id: ShelfId, public_id: PublicId) -> Group:
    """The shelf's group with this id; NotFound for anything else (I8)."""
    group = await tx.maybe(Group, q.find_group, shelf_id=shelf_id, public_id=public_id)
    if group is None:
        raise NotFound("There is no such group.")
    return group


def _taken(name: str) -> Conflict:
    return Conflict(f"A group named {name!r} already exists.")
