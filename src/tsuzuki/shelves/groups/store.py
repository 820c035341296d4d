"""Groups, remembered."""

from tsuzuki.db import Tx, load_queries
from tsuzuki.model.ids import GroupId, PublicId, ShelfId
from tsuzuki.model.times import Millis
from tsuzuki.shelves.groups.nouns import Group

q = load_queries("tsuzuki.shelves.groups")


async def list_groups_tx(tx: Tx, shelf_id: ShelfId) -> list[Group]:
    """The shelf's groups in their order."""
    found = await tx.many(Group, q.list_groups, shelf_id=shelf_id)
    return sorted(found, key=lambda group: (group.position, group.id))


async def find_group_tx(tx: Tx, shelf_id: ShelfId, public_id: PublicId) -> Group | None:
    """The shelf's group with this id; None for another shelf's."""
    return await tx.maybe(Group, q.find_group, shelf_id=shelf_id, public_id=public_id)


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


async def delete_group_tx(tx: Tx, group_id: GroupId) -> None:
    """Delete an empty group."""
    await tx.run(q.delete_group, id=group_id)
