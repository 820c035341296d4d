"""Groups of feeds."""

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tsuzuki.accounts.types import Shelf
from tsuzuki.api.decoder import invalid
from tsuzuki.api.endpoints import Access, Body, declaring
from tsuzuki.api.ids import GroupPath
from tsuzuki.api.views import Time, view_of
from tsuzuki.model.errors import Conflict, NotFound, Problem
from tsuzuki.shelves.groups import Group, Groups

GroupName = Annotated[str, Meta(min_length=1, max_length=200)]


class GroupView(msgspec.Struct, frozen=True, kw_only=True):
    """A group; every shelf has a default group, which cannot be deleted."""

    id: str
    name: str
    is_default: bool
    position: int
    created_at: Time
    updated_at: Time


_group_view = view_of(GroupView, Group)


class GroupBody(Body, frozen=True, kw_only=True):
    """The name of a group."""

    name: GroupName


class GroupChangeBody(Body, frozen=True, kw_only=True):
    """The new name of a group, and its new position."""

    name: GroupName | UnsetType = UNSET
    position: Annotated[int, Meta(ge=0, le=1_000_000)] | UnsetType = UNSET


async def list_groups(shelf: Shelf, groups: Groups) -> list[GroupView]:
    """All groups in their order."""
    return [_group_view(one) for one in await groups.list(shelf.id)]


async def create_group(shelf: Shelf, body: GroupBody, groups: Groups) -> GroupView:
    """Adds a group at the end."""
    return _group_view(await groups.add(shelf.id, _name(body.name)))


async def show_group(group_id: GroupPath, shelf: Shelf, groups: Groups) -> GroupView:
    """One group."""
    return _group_view(await groups.get(shelf.id, group_id))


async def change_group(group_id: GroupPath, shelf: Shelf, body: GroupChangeBody, groups: Groups) -> GroupView:
    """Renames or moves a group."""
    name = None if isinstance(body.name, UnsetType) else _name(body.name)
    position = None if isinstance(body.position, UnsetType) else body.position
    return _group_view(await groups.change(shelf.id, group_id, name=name, position=position))


async def delete_group(group_id: GroupPath, shelf: Shelf, groups: Groups) -> None:
    """Moves its feeds to the default group, which cannot be deleted."""
    await groups.delete(shelf.id, group_id)


def _name(text: str) -> str:
    name = " ".join(text.split())
    if not name:
        raise invalid([Problem("name", "name must not be empty.")])
    return name


_read = declaring("groups", Access.READ)
_write = declaring("groups", Access.WRITE)

ENDPOINTS = (
    _read("GET", "/groups", list_groups, "List groups", errors=(NotFound,)),
    _write("POST", "/groups", create_group, "Add a group", status=201, errors=(NotFound, Conflict)),
    _read("GET", "/groups/{group_id}", show_group, "Show a group", errors=(NotFound,)),
    _write("PATCH", "/groups/{group_id}", change_group, "Rename or move a group", errors=(NotFound, Conflict)),
    _write("DELETE", "/groups/{group_id}", delete_group, "Delete a group", errors=(NotFound, Conflict)),
)
