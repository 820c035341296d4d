"""Which shelf a request means."""

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.nouns import Shelf
from tsuzuki.accounts.oneself import Oneself
from tsuzuki.api.declaring import declaring
from tsuzuki.api.endpoints import Access
from tsuzuki.api.forms import Query
from tsuzuki.api.ids import IdText, id_in_field
from tsuzuki.api.me import ShelfView, shelf_view
from tsuzuki.model.errors import NotFound


class ShelfQuery(Query, frozen=True, kw_only=True):
    """`shelf` picks one of the tenant's; without it the caller's default is meant. Forms of readers build on this."""

    shelf: IdText | None = None

    async def pick(self, caller: Caller, oneself: Oneself) -> Shelf:
        """The shelf that is meant; NotFound for another tenant's (I8)."""
        return await oneself.pick_shelf(caller, id_in_field(self.shelf, "shelf"))


async def show_shelf(query: ShelfQuery, caller: Caller, oneself: Oneself) -> ShelfView:
    """The shelf that requests with this query mean."""
    return shelf_view(await query.pick(caller, oneself))


_read = declaring("me", Access.READ)

ENDPOINTS = (_read("GET", "/shelf", show_shelf, "The shelf that is meant", errors=(NotFound,)),)
