"""`/bookmarks`: what was saved, with notes; each is a copy that outlives where it came from."""

from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.types import MemberShelf
from tsuzuki.connectors.html.sanitiser import SafeHtml
from tsuzuki.http.routing import Resource, page
from tsuzuki.model.errors import Conflict, SourceError
from tsuzuki.model.ids import show_id
from tsuzuki.model.pages import FROM_THE_TOP, PageCursor
from tsuzuki.model.titles import title_of
from tsuzuki.shelves.bookmarks import Bookmark, NewBookmark
from tsuzuki.web.article.content import prepare
from tsuzuki.web.forms import BLANK, Form, FormState, Rules, problem, read_form, see
from tsuzuki.web.ids import id_of
from tsuzuki.web.inbox.rows import plain_beginning
from tsuzuki.web.locale import Locale
from tsuzuki.web.site import Site, with_query
from tsuzuki.web.texts import gettext as _

PATH = "/bookmarks"
PAGE = 50
LONGEST_NOTE = 10_000
_RULES = Rules(keep=("link", "title"), beside={Conflict: "link", SourceError: "link"})


def bookmark_pages(site: Site) -> tuple[Resource, ...]:
    """The list, where a page is saved by its address, and one of them."""
    bookmarks = site.reading.bookmarks

    async def show(request: Request, caller: Caller, form_state: FormState = BLANK) -> Response:
        frame = await site.frame(request, caller, "bookmarks")
        after = PageCursor.read(request.query_params.get("before", "")) or FROM_THE_TOP
        part = await bookmarks.list(frame.shelf.id, feed=None, group=None, after=after, most=PAGE)
        older = None if part.next_cursor is None else with_query(PATH, before=str(part.next_cursor))
        shown = {"beginning": plain_beginning, "shown_title": _title}
        return site.show(frame, "bookmarks.html", form_state, rows=part.rows, older=older, **shown)

    async def add(_request: Request, caller: Caller, form: Form) -> Response:
        title = form.one("title").strip()[:2000]
        if not title:
            raise problem("title", _("Enter a title."))
        await bookmarks.add(await site.shelf_id(caller), NewBookmark(link=form.one("link").strip(), title=title))
        return see(with_query(PATH, done="bookmarked"))

    async def show_bookmark(request: Request, caller: Caller) -> Response:
        frame = await site.frame(request, caller, "bookmarks")
        found = await bookmarks.get(frame.shelf.id, id_of(request, "bookmark_id"))
        content = await prepare(site.parsers, SafeHtml(found.content), site.picture)
        title = _title(found, frame.locale)
        bookmark_id = show_id(found.public_id)
        return site.show(frame, "bookmark.html", shown_title=title, bookmark=found, id=bookmark_id, content=content)

    async def write(request: Request, shelf: MemberShelf) -> Response:
        form = await read_form(request)
        await bookmarks.set_note(shelf.id, id_of(request, "bookmark_id"), form.one("note").strip()[:LONGEST_NOTE])
        return see(with_query(f"{PATH}/{request.path_params['bookmark_id']}", done="note"))

    async def ask_delete(request: Request, caller: Caller) -> Response:
        frame = await site.frame(request, caller, "bookmarks")
        found = await bookmarks.get(frame.shelf.id, id_of(request, "bookmark_id"))
        path = f"{PATH}/{show_id(found.public_id)}"
        return site.ask(
            frame,
            title=_("Delete the bookmark “%(title)s”?", title=_title(found, frame.locale)),
            text=_("This deletes the saved copy and your note. It cannot be undone.")
            if found.note
            else _("This deletes the saved copy. It cannot be undone."),
            yes=_("Delete"),
            path=f"{path}/delete",
            back=path,
        )

    async def delete(request: Request, shelf: MemberShelf) -> Response:
        await bookmarks.delete(shelf.id, id_of(request, "bookmark_id"))
        return see(with_query(PATH, done="bookmark_deleted"))

    one = f"{PATH}/{{bookmark_id}}"
    return (
        site.form_page(PATH, show, add, rules=_RULES),
        page(one, site.signed_in(show_bookmark)),
        Resource(f"{one}/note", {"POST": site.on_shelf(write, PATH)}),
        Resource(f"{one}/delete", {"GET": site.signed_in(ask_delete), "POST": site.on_shelf(delete, PATH)}),
    )


def _title(bookmark: Bookmark, locale: Locale) -> str:
    """The title, made as an item's is (R103)."""
    return title_of(bookmark.title, bookmark.content) or locale.moment(bookmark.published_at or bookmark.created_at)
