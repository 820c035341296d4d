"""Which shelf a request means."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.current_user import CurrentUser
from tsuzuki.accounts.sharing import Sharing, shelf_user
from tsuzuki.accounts.types import MemberShelf
from tsuzuki.api.endpoints import Access, Body, QueryParameters, declaring
from tsuzuki.api.ids import IdText
from tsuzuki.api.me import ShelfView, shelf_view
from tsuzuki.model.errors import NotFound
from tsuzuki.model.times import DAY, Millis

Days = Annotated[int, Meta(ge=0, le=36_500)]
"""How long articles stay after they were read; 0 is for ever."""


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
        shelf = await sharing.keep(shelf_user(caller), shelf.public_id, keep)
    if body.proxy_images is not UNSET:
        shelf = await current_user.proxy_images(shelf, wanted=body.proxy_images)
    return shelf_view(shelf)


_read = declaring("me", Access.READ)
_write = declaring("me", Access.WRITE)

ENDPOINTS = (
    _read("GET", "/shelf", show_shelf, "The shelf that is meant", errors=(NotFound,)),
    _write("PATCH", "/shelf", change_shelf, "Change the shelf that is meant", errors=(NotFound,)),
)
