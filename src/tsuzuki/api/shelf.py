"""Which shelf a request means; the caller's shelves: another one, sharing, leaving, renaming, deleting (R91)."""

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.current_user import CurrentUser
from tsuzuki.accounts.sharing import Sharing, shelf_user
from tsuzuki.accounts.types import Member, MemberShelf, ShelfContents, ShelfRole
from tsuzuki.api.endpoints import Access, Body, QueryParameters, declaring
from tsuzuki.api.ids import IdText, ShelfPath
from tsuzuki.api.me import ShelfView, shelf_view
from tsuzuki.api.views import Time, view_of
from tsuzuki.model.errors import Conflict, LimitExceeded, NotFound
from tsuzuki.model.times import DAY, Millis

Days = Annotated[int, Meta(ge=0, le=36_500)]
"""How long articles stay after they were read; 0 is for ever."""
ShelfName = Annotated[str, Meta(min_length=1, max_length=200)]
PersonName = Annotated[str, Meta(min_length=1, max_length=64)]


class ShelfQuery(QueryParameters, frozen=True, kw_only=True):
    """`shelf` picks one of the caller's; without it the caller's default is meant. A handler takes it as a `Shelf`."""

    shelf: IdText | None = None


class ShelfBody(Body, frozen=True, kw_only=True):
    """What to change. `retention` is in days, 0 for ever, null as the server keeps articles; for owners."""

    proxy_images: bool | UnsetType = UNSET
    retention: Days | UnsetType | None = UNSET


async def show_shelf(shelf: MemberShelf) -> ShelfView:
    """The shelf that requests with this query mean."""
    return shelf_view(shelf)


async def change_shelf(
    *, shelf: MemberShelf, body: ShelfBody, caller: Caller, current_user: CurrentUser, sharing: Sharing
) -> ShelfView:
    """Changes what readers may change of a shelf."""
    if not isinstance(body.retention, UnsetType):
        keep = None if body.retention is None else Millis(body.retention * DAY)
        shelf = await sharing.set_retention(shelf_user(caller), shelf.public_id, keep)
    if body.proxy_images is not UNSET:
        shelf = await current_user.proxy_images(shelf, wanted=body.proxy_images)
    return shelf_view(shelf)


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


async def rename_shelf(shelf_id: ShelfPath, caller: Caller, body: OwnShelfBody, sharing: Sharing) -> ShelfView:
    """Gives a shelf another name; for its owners."""
    return shelf_view(await sharing.rename(shelf_user(caller), shelf_id, body.name))


async def show_shelf_contents(shelf_id: ShelfPath, caller: Caller, sharing: Sharing) -> ShelfContents:
    """What deleting this shelf would take along; for its owners."""
    return await sharing.contents(shelf_user(caller), shelf_id)


async def delete_shelf(shelf_id: ShelfPath, caller: Caller, sharing: Sharing) -> None:
    """Deletes a shelf with all that is on it, for everybody who has it; for its owners. Nobody's only shelf goes."""
    await sharing.delete(shelf_user(caller), shelf_id)


async def list_shelf_people(shelf_id: ShelfPath, caller: Caller, sharing: Sharing) -> list[MemberView]:
    """Who has this shelf, owners first."""
    return [_member_view(one) for one in await sharing.people(shelf_user(caller), shelf_id)]


async def share_shelf(
    *, shelf_id: ShelfPath, person_name: PersonName, caller: Caller, body: ShareBody, sharing: Sharing
) -> MemberView:
    """Shares a shelf with somebody of the same tenant, or changes their role; for its owners."""
    return _member_view(await sharing.share(shelf_user(caller), shelf_id, person_name, body.role))


async def unshare_shelf(shelf_id: ShelfPath, person_name: PersonName, caller: Caller, sharing: Sharing) -> None:
    """Takes a shelf from somebody, with their channels of it; for its owners. With one's own name: leaves it."""
    await sharing.remove(shelf_user(caller), shelf_id, person_name)


async def take_offered_shelf(caller: Caller, sharing: Sharing) -> ShelfView:
    """A shelf of one's own, for who shared one before there was a choice; nothing is taken from the shared one."""
    return shelf_view(await sharing.take_offer(shelf_user(caller)))


async def decline_offered_shelf(caller: Caller, sharing: Sharing) -> None:
    """Keeps to the shared shelf; it is not offered again."""
    await sharing.decline_offer(shelf_user(caller))


_read = declaring("me", Access.READ)
_write = declaring("me", Access.WRITE)
_ONE = "/me/shelves/{shelf_id}"
_PERSON = f"{_ONE}/people/{{person_name}}"

ENDPOINTS = (
    _read("GET", "/shelf", show_shelf, "The shelf that is meant", errors=(NotFound,)),
    _write("PATCH", "/shelf", change_shelf, "Change the shelf that is meant", errors=(NotFound,)),
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
