"""`/bookmarks`: what was saved, with notes; each is a copy that outlives where it came from."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.types import MemberShelf
from tsuzuki.connectors.html.safe import SafeHtml
from tsuzuki.http.routing import Resource, page
from tsuzuki.model.errors import Conflict, SourceError
from tsuzuki.model.ids import show_id
from tsuzuki.model.pages import FROM_THE_TOP, PageCursor
from tsuzuki.model.titles import title_of
from tsuzuki.shelves.bookmarks import Bookmark, NewBookmark
from tsuzuki.web.article.content import prepare
from tsuzuki.web.asking import Asks, ask_first
from tsuzuki.web.forms import BLANK, Form, Rules, Sheet, fill, problem, read_form, see
from tsuzuki.web.frame import framing_of
from tsuzuki.web.ids import id_of
from tsuzuki.web.inbox.rows import plain_beginning
from tsuzuki.web.labels import done_text
from tsuzuki.web.locale import Locale
from tsuzuki.web.pictures import pictures_of
from tsuzuki.web.site import Site, with_query
from tsuzuki.web.texts import gettext as _

PATH = "/bookmarks"
PAGE = 50
LONGEST_NOTE = 10_000
_RULES = Rules(keep=("link", "title"), beside={Conflict: "link", SourceError: "link"})


def bookmark_pages(site: Site) -> tuple[Resource, ...]:
    """The list, where a page is saved by its address, and one of them."""
    framing = framing_of(site)
    bookmarks = site.reading.bookmarks

    async def show(request: Request, caller: Caller, sheet: Sheet = BLANK) -> Response:
        frame = await framing.frame(request, caller, "bookmarks")
        after = PageCursor.read(request.query_params.get("before", "")) or FROM_THE_TOP
        part = await bookmarks.list(frame.shelf.id, feed=None, group=None, after=after, most=PAGE)
        older = None if part.next_cursor is None else with_query(PATH, before=str(part.next_cursor))
        done = done_text(request)
        values = {
            "rows": part.rows,
            "older": older,
            "done": done,
            "show_id": show_id,
            "beginning": plain_beginning,
            "shown_title": _title,
        }
        return framing.show(frame, "bookmarks.html", sheet, **values)

    async def show_list(request: Request, caller: Caller) -> Response:
        return await show(request, caller)

    async def add(request: Request, caller: Caller) -> Response:
        async def act(form: Form) -> Response:
            title = form.one("title").strip()[:2000]
            if not title:
                raise problem("title", _("Enter a title."))
            shelf = await site.accounts.current_user.shelf_of(caller)
            await bookmarks.add(shelf.id, NewBookmark(link=form.one("link").strip(), title=title))
            return see(with_query(PATH, done="bookmarked"))

        return await fill(request, act, lambda sheet: show(request, caller, sheet), rules=_RULES)

    return (Resource(PATH, {"GET": site.signed_in(show_list), "POST": site.signed_in(add, PATH)}), *_one(site))


def _one(site: Site) -> tuple[Resource, ...]:
    framing = framing_of(site)
    bookmarks = site.reading.bookmarks
    pictures, parsers = pictures_of(site), site.parsers

    async def show_bookmark(request: Request, caller: Caller) -> Response:
        frame = await framing.frame(request, caller, "bookmarks")
        found = await bookmarks.get(frame.shelf.id, id_of(request, "bookmark_id"))
        done = done_text(request)
        content = await prepare(parsers, SafeHtml(found.content), pictures)
        title = _title(found, frame.locale)
        values: dict[str, Any] = {"bookmark": found, "id": show_id(found.public_id), "content": content, "done": done}
        return framing.show(frame, "bookmark.html", shown_title=title, **values)

    async def write(request: Request, shelf: MemberShelf) -> Response:
        form = await read_form(request)
        await bookmarks.set_note(shelf.id, id_of(request, "bookmark_id"), form.one("note").strip()[:LONGEST_NOTE])
        return see(with_query(f"{PATH}/{request.path_params['bookmark_id']}", done="note"))

    async def ask_delete(request: Request, caller: Caller) -> Response:
        frame = await framing.frame(request, caller, "bookmarks")
        found = await bookmarks.get(frame.shelf.id, id_of(request, "bookmark_id"))
        path = f"{PATH}/{show_id(found.public_id)}"
        asks = Asks(
            title=_("Delete the bookmark “%(title)s”?", title=_title(found, frame.locale)),
            text=_("This deletes the saved copy and your note. It cannot be undone.")
            if found.note
            else _("This deletes the saved copy. It cannot be undone."),
            yes=_("Delete"),
            no=_("Cancel"),
            path=f"{path}/delete",
            back=path,
        )
        return ask_first(framing, frame, asks)

    async def delete(request: Request, shelf: MemberShelf) -> Response:
        await bookmarks.delete(shelf.id, id_of(request, "bookmark_id"))
        return see(with_query(PATH, done="bookmark_deleted"))

    one = f"{PATH}/{{bookmark_id}}"
    return (
        page(one, site.signed_in(show_bookmark)),
        Resource(f"{one}/note", {"POST": site.on_shelf(write, PATH)}),
        Resource(f"{one}/delete", {"GET": site.signed_in(ask_delete), "POST": site.on_shelf(delete, PATH)}),
    )


def _title(bookmark: Bookmark, locale: Locale) -> str:
    """As an item's (R103)."""
    return title_of(bookmark.title, bookmark.content) or locale.moment(bookmark.published_at or bookmark.created_at)
