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
    """What to change. `retention` is in days, 0 is for ever, null is the server's setting; only for owners."""

    proxy_images: bool | UnsetType = UNSET
    retention: Days | UnsetType | None = UNSET


async def show_shelf(shelf: MemberShelf) -> ShelfView:
    """The shelf named by `?shelf=`, or the default shelf."""
    return shelf_view(shelf)


async def change_shelf(
    *, shelf: MemberShelf, body: ShelfBody, caller: Caller, current_user: CurrentUser, sharing: Sharing
) -> ShelfView:
    """Changes the settings of the shelf named by `?shelf=`, or of the default shelf."""
    if not isinstance(body.retention, UnsetType):
        keep = None if body.retention is None else Millis(body.retention * DAY)
        shelf = await sharing.set_retention(shelf_user(caller), shelf.public_id, keep)
    if body.proxy_images is not UNSET:
        shelf = await current_user.proxy_images(shelf, wanted=body.proxy_images)
    return shelf_view(shelf)


class MemberView(msgspec.Struct, frozen=True):
    """A member of a shelf, with their role and since when."""

    username: str
    role: ShelfRole
    created_at: Time


_member_view = view_of(MemberView, Member)


class OwnShelfBody(Body, frozen=True, kw_only=True):
    """The name of a shelf."""

    name: ShelfName


class ShareBody(Body, frozen=True, kw_only=True):
    """A `reader` sees everything, an `editor` changes what is on it, an `owner` shares, renames and deletes it."""

    role: ShelfRole


async def make_shelf(caller: Caller, body: OwnShelfBody, sharing: Sharing) -> ShelfView:
    """Creates another shelf of your own. If the name is taken, a number is added to it.

    Returns 409 while billing is on: shelves are rented then.
    """
    return shelf_view(await sharing.make(shelf_user(caller), body.name))


async def rename_shelf(shelf_id: ShelfPath, caller: Caller, body: OwnShelfBody, sharing: Sharing) -> ShelfView:
    """Renames a shelf; only for its owners."""
    return shelf_view(await sharing.rename(shelf_user(caller), shelf_id, body.name))


async def show_shelf_contents(shelf_id: ShelfPath, caller: Caller, sharing: Sharing) -> ShelfContents:
    """What would be deleted with this shelf; only for its owners."""
    return await sharing.contents(shelf_user(caller), shelf_id)


async def delete_shelf(shelf_id: ShelfPath, caller: Caller, sharing: Sharing) -> None:
    """Deletes a shelf with everything on it, for all its members; only for its owners.

    A shelf that is the only one of a member cannot be deleted.
    """
    await sharing.delete(shelf_user(caller), shelf_id)


async def list_shelf_people(shelf_id: ShelfPath, caller: Caller, sharing: Sharing) -> list[MemberView]:
    """The members of this shelf, owners first."""
    return [_member_view(one) for one in await sharing.people(shelf_user(caller), shelf_id)]


async def share_shelf(
    *, shelf_id: ShelfPath, person_name: PersonName, caller: Caller, body: ShareBody, sharing: Sharing
) -> MemberView:
    """Shares a shelf with a user of the same tenant, or changes their role; only for its owners."""
    return _member_view(await sharing.share(shelf_user(caller), shelf_id, person_name, body.role))


async def unshare_shelf(shelf_id: ShelfPath, person_name: PersonName, caller: Caller, sharing: Sharing) -> None:
    """Removes a member from a shelf, with their channels for it; only for its owners.

    With your own name, you leave the shelf.
    """
    await sharing.remove(shelf_user(caller), shelf_id, person_name)


async def take_offered_shelf(caller: Caller, sharing: Sharing) -> ShelfView:
    """For users who shared a shelf before everyone had their own: creates one. The shared shelf does not change."""
    return shelf_view(await sharing.take_offer(shelf_user(caller)))


async def decline_offered_shelf(caller: Caller, sharing: Sharing) -> None:
    """Keeps only the shared shelf; the offer is not made again."""
    await sharing.decline_offer(shelf_user(caller))


_read = declaring("me", Access.READ)
_write = declaring("me", Access.WRITE)
_ONE = "/me/shelves/{shelf_id}"
_PERSON = f"{_ONE}/people/{{person_name}}"

ENDPOINTS = (
    _read("GET", "/shelf", show_shelf, "Show a shelf", errors=(NotFound,)),
    _write("PATCH", "/shelf", change_shelf, "Change a shelf", errors=(NotFound,)),
    _write("POST", "/me/shelves", make_shelf, "Create a shelf", status=201, errors=(Conflict, LimitExceeded)),
    _write("PATCH", _ONE, rename_shelf, "Rename a shelf", errors=(NotFound, Conflict)),
    _write("DELETE", _ONE, delete_shelf, "Delete a shelf", errors=(NotFound, Conflict)),
    _read("GET", f"{_ONE}/contents", show_shelf_contents, "Preview deleting a shelf", errors=(NotFound,)),
    _read("GET", f"{_ONE}/people", list_shelf_people, "List the members of a shelf", errors=(NotFound,)),
    _write("PUT", _PERSON, share_shelf, "Share a shelf", errors=(NotFound, Conflict)),
    _write("DELETE", _PERSON, unshare_shelf, "Stop sharing a shelf, or leave it", errors=(NotFound, Conflict)),
    _write("POST", "/me/shelf-offer", take_offered_shelf, "Accept a shelf of my own", status=201, errors=(Conflict,)),
    _write("DELETE", "/me/shelf-offer", decline_offered_shelf, "Decline a shelf of my own"),
)
