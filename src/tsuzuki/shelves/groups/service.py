"""The verbs about groups."""

import msgspec

from tsuzuki.db import Tx
from tsuzuki.db.errors import UniqueViolation
from tsuzuki.model.errors import Conflict, NotFound
from tsuzuki.model.ids import PublicId, ShelfId
from tsuzuki.shelves.deps import ShelfDeps
from tsuzuki.shelves.groups.nouns import Group
from tsuzuki.shelves.groups.store import (
    add_group_tx,
    change_group_tx,
    default_group_tx,
    delete_group_tx,
    empty_group_tx,
    find_group_tx,
    list_groups_tx,
)


class Groups:
    """How a shelf is sorted. Every shelf has a default group, which stays."""

    def __init__(self, deps: ShelfDeps) -> None:
        self._deps = deps

    async def list(self, shelf_id: ShelfId) -> list[Group]:
        """All of the shelf's, in their order."""
        return await self._deps.db.read(lambda tx: list_groups_tx(tx, shelf_id))

    async def get(self, shelf_id: ShelfId, public_id: PublicId) -> Group:
        """One of the shelf's; NotFound otherwise."""
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
            await delete_group_tx(tx, group.id)

        await self._deps.db.with_tx(delete)


async def own_group_tx(tx: Tx, shelf_id: ShelfId, public_id: PublicId) -> Group:
    """The shelf's group with this id; NotFound for anything else (I8)."""
    group = await find_group_tx(tx, shelf_id, public_id)
    if group is None:
        raise NotFound("There is no such group.")
    return group


def _taken(name: str) -> Conflict:
    return Conflict(f"There is a group called {name!r} already.")
