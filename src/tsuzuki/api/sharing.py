"""The caller's shelves: another one, sharing with people of the same tenant, leaving, renaming, deleting (R91)."""

from typing import Annotated

import msgspec
from msgspec import Meta

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.sharing import Sharing, shelf_user
from tsuzuki.accounts.types import Member, ShelfContents, ShelfRole
from tsuzuki.api.endpoints import Access, Body, declaring
from tsuzuki.api.ids import IdText, id_in_path
from tsuzuki.api.me import ShelfView, shelf_view
from tsuzuki.api.views import Time, view_of
from tsuzuki.model.errors import Conflict, LimitExceeded, NotFound
from tsuzuki.model.ids import PublicId

ShelfName = Annotated[str, Meta(min_length=1, max_length=200)]
PersonName = Annotated[str, Meta(min_length=1, max_length=64)]


class MemberView(msgspec.Struct, frozen=True):
    """Somebody who has a shelf, and in which role since when."""

    username: str
    role: ShelfRole
    created_at: Time


_member_view = view_of(MemberView, Member)


class OwnShelfBody(Body, frozen=True, kw_only=True):
    """What a shelf is called."""

    name: ShelfName


class ShareBody(Body, frozen=True, kw_only=True):
    """A `reader` sees all of it, an `editor` changes what is on it, an `owner` shares, renames and deletes it."""

    role: ShelfRole


async def make_shelf(caller: Caller, body: OwnShelfBody, sharing: Sharing) -> ShelfView:
    """Another shelf of the caller's own; where the name is taken, with a number behind it.

    A 409 while billing is on: there shelves are rented.
    """
    return shelf_view(await sharing.make(shelf_user(caller), body.name))


async def rename_shelf(shelf_id: IdText, caller: Caller, body: OwnShelfBody, sharing: Sharing) -> ShelfView:
    """Gives a shelf another name; for its owners."""
    return shelf_view(await sharing.rename(shelf_user(caller), _id(shelf_id), body.name))


async def show_shelf_contents(shelf_id: IdText, caller: Caller, sharing: Sharing) -> ShelfContents:
    """What deleting this shelf would take along; for its owners."""
    return await sharing.contents(shelf_user(caller), _id(shelf_id))


async def delete_shelf(shelf_id: IdText, caller: Caller, sharing: Sharing) -> None:
    """Deletes a shelf with all that is on it, for everybody who has it; for its owners. Nobody's only shelf goes."""
    await sharing.delete(shelf_user(caller), _id(shelf_id))


async def list_shelf_people(shelf_id: IdText, caller: Caller, sharing: Sharing) -> list[MemberView]:
    """Who has this shelf, owners first."""
    return [_member_view(one) for one in await sharing.people(shelf_user(caller), _id(shelf_id))]


async def share_shelf(
    *, shelf_id: IdText, person_name: PersonName, caller: Caller, body: ShareBody, sharing: Sharing
) -> MemberView:
    """Shares a shelf with somebody of the same tenant, or changes their role; for its owners."""
    return _member_view(await sharing.share(shelf_user(caller), _id(shelf_id), person_name, body.role))


async def unshare_shelf(shelf_id: IdText, person_name: PersonName, caller: Caller, sharing: Sharing) -> None:
    """Takes a shelf from somebody, with their channels of it; for its owners. With one's own name: leaves it."""
    await sharing.remove(shelf_user(caller), _id(shelf_id), person_name)


async def take_offered_shelf(caller: Caller, sharing: Sharing) -> ShelfView:
    """A shelf of one's own, for who shared one before there was a choice; nothing is taken from the shared one."""
    return shelf_view(await sharing.take_offer(shelf_user(caller)))


async def decline_offered_shelf(caller: Caller, sharing: Sharing) -> None:
    """Keeps to the shared shelf; it is not offered again."""
    await sharing.decline_offer(shelf_user(caller))


def _id(text: str) -> PublicId:
    return id_in_path(text, "shelf")


_read = declaring("me", Access.READ)
_write = declaring("me", Access.WRITE)
_ONE = "/me/shelves/{shelf_id}"
_PERSON = f"{_ONE}/people/{{person_name}}"

ENDPOINTS = (
    _write("POST", "/me/shelves", make_shelf, "Make a shelf", status=201, errors=(Conflict, LimitExceeded)),
    _write("PATCH", _ONE, rename_shelf, "Rename a shelf", errors=(NotFound, Conflict)),
    _write("DELETE", _ONE, delete_shelf, "Delete a shelf", errors=(NotFound, Conflict)),
    _read("GET", f"{_ONE}/contents", show_shelf_contents, "What goes with a shelf", errors=(NotFound,)),
    _read("GET", f"{_ONE}/people", list_shelf_people, "Who has a shelf", errors=(NotFound,)),
    _write("PUT", _PERSON, share_shelf, "Share a shelf", errors=(NotFound, Conflict)),
    _write("DELETE", _PERSON, unshare_shelf, "Take a shelf from someone, or leave it", errors=(NotFound, Conflict)),
    _write("POST", "/me/shelf-offer", take_offered_shelf, "Take a shelf of my own", status=201, errors=(Conflict,)),
    _write("DELETE", "/me/shelf-offer", decline_offered_shelf, "Keep to the shared shelf"),
)
