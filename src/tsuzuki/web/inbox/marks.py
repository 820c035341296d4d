"""Marking entries read, unread or saved, one by one or all; each can be undone.

Forms post here and are led back to their list; scripts post the same and ask for JSON.
"""

import msgspec
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.policy import local_path
from tsuzuki.http.routing import Resource
from tsuzuki.inbox.entries import MarkedEntries
from tsuzuki.model.errors import Conflict, Invalid
from tsuzuki.model.ids import EntryId, ItemId, ShelfId, read_id
from tsuzuki.model.times import Millis
from tsuzuki.web.forms import Form, read_form, see
from tsuzuki.web.ids import number_of, numbers_of
from tsuzuki.web.inbox.view import read_view
from tsuzuki.web.scripts import data_of, wants_json
from tsuzuki.web.site import Site
from tsuzuki.web.texts import gettext as _

MOST_AT_ONCE = 1_000
LONGEST_NOTE = 10_000


class MarkResult(msgspec.Struct, frozen=True):
    """The answer to a script; `undo`, posted to `/inbox/undo`, takes the mark back.

    `note` is what was written beside something that is no longer saved: who saves it again sends it along.
    """

    changed: int = 0
    undo: str | None = None
    note: str = ""


def mark_pages(site: Site) -> tuple[Resource, ...]:
    """`/inbox/mark`, `/inbox/mark-all`, `/inbox/undo`, `/inbox/tags`."""

    async def mark(request: Request, caller: Caller) -> Response:
        form = await read_form(request, most=MOST_AT_ONCE)
        return _answer(request, form, await _mark(site, await site.shelf_id(caller), form))

    async def mark_all(request: Request, caller: Caller) -> Response:
        """All that is unread of the list that the form names, up to the newest entry when it was shown."""
        form = await read_form(request)
        # Of the shelf that the page shows, which in a tab from before need not be the one that is open now.
        shelf = await site.accounts.current_user.pick_shelf(caller, read_id(form.one("shelf")))
        view = read_view(
            QueryParams({name: form.one(name) for name in ("kind", "show", "group", "feed", "series", "tag")})
        )
        newest = _entries(form, "newest")
        if not newest:
            raise Invalid(_("The form could not be read."))
        done = _mark_result(await site.inbox.mark_list_read(shelf.id, view.wanted, newest[0], _made_at(form)))
        return _answer(request, form, done, marked=str(done.changed), undo=done.undo or "")

    async def undo(request: Request, caller: Caller) -> Response:
        """Make unread again what one mark made read."""
        form = await read_form(request)
        moments = numbers_of(form.several("undo"))
        if not moments:
            raise Invalid(_("The form could not be read."))
        done = MarkResult((await site.inbox.undo(await site.shelf_id(caller), Millis(moments[0]))).changed)
        return _answer(request, form, done, undone=str(done.changed))

    async def tag(request: Request, caller: Caller) -> Response:
        """Put tags on one entry, as `add` names them, and take others off, as `remove` does."""
        form = await read_form(request)
        names = [name for name in form.several("add") if name.strip()]
        entries = _entries(form, "entry")
        await site.reading.tags.tag_entries(
            await site.shelf_id(caller), entries, add=names, remove=form.several("remove")
        )
        return see(local_path(form.one("back") or "/"))

    return (
        Resource("/inbox/tags", {"POST": site.signed_in(tag)}),
        Resource("/inbox/mark", {"POST": site.signed_in(mark)}),
        Resource("/inbox/mark-all", {"POST": site.signed_in(mark_all)}),
        Resource("/inbox/undo", {"POST": site.signed_in(undo)}),
    )


async def _mark(site: Site, shelf_id: ShelfId, form: Form) -> MarkResult:
    """`read` and `unread` name entries, `save` (with a `note`) and `unsave` things; several kinds at once are fine.

    `at` says when, for marks that waited for a network.
    """
    done, at = MarkResult(), _made_at(form)
    if read := _entries(form, "read"):
        done = _mark_result(await site.inbox.mark_entries(shelf_id, read, unread=False, made_at=at))
    if unread := _entries(form, "unread"):
        done = MarkResult((await site.inbox.mark_entries(shelf_id, unread, unread=True, made_at=at)).changed)
    for value in form.several("save"):
        done = await _save(site, shelf_id, value, form.one("note")[:LONGEST_NOTE])
    for value in form.several("unsave"):
        done = await _unsave(site, shelf_id, value)
    return done


async def _save(site: Site, shelf_id: ShelfId, value: str, note: str) -> MarkResult:
    """`i12` is an item, which becomes a bookmark; `c34` the entry of a chapter."""
    number = number_of(value[1:]) or 0
    if value.startswith("c"):
        await site.inbox.save_chapter(shelf_id, EntryId(number), saved=True)
        return MarkResult(1)
    try:
        await site.reading.bookmarks.add_item(shelf_id, ItemId(number), note)
    except Conflict:
        return MarkResult()  # it is kept already, perhaps as another entry with the same link
    return MarkResult(1)


async def _unsave(site: Site, shelf_id: ShelfId, value: str) -> MarkResult:
    number = number_of(value[1:]) or 0
    if value.startswith("c"):
        await site.inbox.save_chapter(shelf_id, EntryId(number), saved=False)
        return MarkResult(1)
    gone = await site.reading.bookmarks.delete_of_item(shelf_id, ItemId(number))
    return MarkResult(1, note="" if gone is None else gone.note)


def _answer(request: Request, form: Form, done: MarkResult, **query_values: str) -> Response:
    if wants_json(request):
        return data_of(done)
    back = local_path(form.one("back") or "/")
    query = "&".join(f"{name}={value}" for name, value in query_values.items() if value)
    return see(f"{back}{'&' if '?' in back else '?'}{query}" if query else back)


def _made_at(form: Form) -> Millis | None:
    """When a mark was made that waited for a network."""
    return next((Millis(number) for number in numbers_of(form.several("at"))), None)


def _mark_result(marked: MarkedEntries) -> MarkResult:
    return MarkResult(marked.changed, str(marked.at) if marked.changed else None)


def _entries(form: Form, name: str) -> list[EntryId]:
    return [EntryId(number) for number in numbers_of(form.several(name))]
