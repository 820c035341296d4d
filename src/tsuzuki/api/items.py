"""Items of a shelf's feeds: listed, opened, marked."""

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType
from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.types import Shelf
from tsuzuki.api.decoder import invalid
from tsuzuki.api.endpoints import Access, Body, Moment, declaring
from tsuzuki.api.ids import IdText, Number, id_in_field, number_id
from tsuzuki.api.paging import CursorQuery, listing
from tsuzuki.api.shelf import ShelfQuery
from tsuzuki.api.views import CursorMeta, ListAnswer, Time, copied, display_title, read_time, show_time, view_of
from tsuzuki.books.articles import ArticleFiles
from tsuzuki.http.books import answer_articles, answer_item
from tsuzuki.images.articles import ArticleImages
from tsuzuki.images.service import Images
from tsuzuki.inbox.entries import Entry, EntryFilter, MarkedEntries, MarkScope
from tsuzuki.inbox.service import Inbox
from tsuzuki.model.errors import NotFound, Problem, Unavailable
from tsuzuki.model.harvest import Enclosure
from tsuzuki.model.ids import ItemId, read_number, show_id
from tsuzuki.model.pages import Page
from tsuzuki.model.times import Millis, from_datetime
from tsuzuki.polling.articles import Articles
from tsuzuki.shelves.types import MarkedChapters

MOST_AT_ONCE = 1_000
NO_ITEM = "There is no such item."
ItemPath = Annotated[ItemId, number_id(NO_ITEM)]


class ItemQuery(CursorQuery, frozen=True, kw_only=True):
    """Which items: of a feed, a group or a tag, unread or not, saved or not; `content=true` brings their content along.

    `since` is compared with what `order_by` sorts by. `search` takes words, "phrases", `-word` and `pre*`.
    """

    feed_id: IdText | None = None
    group_id: IdText | None = None
    tag_id: IdText | None = None
    unread: bool | None = None
    saved: bool | None = None
    since: Moment | None = None
    search: Annotated[str, Meta(min_length=1, max_length=500)] | None = None
    order_by: Literal["pub_date", "created_at"] = "pub_date"
    content: bool = False


class DigestQuery(ShelfQuery, frozen=True, kw_only=True):
    """Until now, and a day back, if nothing else is said."""

    since: Moment | None = None
    until: Moment | None = None
    unread: bool | None = None


class OneItemQuery(ShelfQuery, frozen=True, kw_only=True):
    """`full_text=true` brings the whole text of the item's page; without it the feed's own setting counts."""

    full_text: bool | None = None


class ItemView(msgspec.Struct, frozen=True, kw_only=True):
    """An item. `content` is sanitised HTML; `page_urls` are the images of an item that is mostly images."""

    id: str
    feed_id: str
    guid: str
    title: str
    display_title: str
    """The title; else the first words, what stands for the picture, or the date (R103)."""
    link: str | None
    author: str | None
    content: str | UnsetType = UNSET
    is_full_text: bool = False
    """Whether `content` is the text of the page instead of the feed's."""
    full_text_error: str | None = None
    summary: str | None
    pub_date: Time | None
    categories: list[str]
    enclosures: list[Enclosure]
    page_urls: list[str]
    image_url: str | None
    comments_url: str | None
    unread: bool
    saved: bool
    created_at: Time
    updated_at: Time


item_view = view_of(
    ItemView,
    Entry,
    "is_full_text",
    "full_text_error",
    id=lambda entry: str(entry.item_id),
    feed_id=lambda entry: entry.feed_id and show_id(entry.feed_id),
    guid=lambda entry: entry.key or "",
    display_title=lambda entry: display_title(entry.title, entry.beginning, entry.published_at or entry.sort_at),
    content=lambda entry: UNSET if entry.content is None else entry.content,
    pub_date="published_at",
    categories=lambda entry: entry.categories or [],
    enclosures=lambda entry: entry.enclosures or [],
    page_urls=lambda entry: entry.page_urls or [],
    updated_at=lambda entry: show_time(entry.updated_at or entry.created_at),
)


class MarkBody(Body, frozen=True, kw_only=True):
    """Items by id; or all items of a feed, a group or the shelf, optionally only those before a time."""

    ids: Annotated[tuple[Number, ...], Meta(min_length=1, max_length=MOST_AT_ONCE)] | None = None
    feed_id: IdText | None = None
    group_id: IdText | None = None
    all: Literal[True] | None = None
    before: Moment | None = None

    def __post_init__(self) -> None:
        named = [one for one in (self.ids, self.feed_id, self.group_id, self.all) if one is not None]
        if len(named) != 1:
            raise ValueError("Send exactly one of ids, feed_id, group_id and all.")
        if self.ids is not None and self.before is not None:
            raise ValueError("before can only be sent with feed_id, group_id or all.")


class UndoBody(Body, frozen=True, kw_only=True):
    """The `undo` of the response to a mark."""

    undo: Number


class MarkedView(msgspec.Struct, frozen=True):
    """How many changed. Send `undo` to `/items/-/undo` to mark those unread again."""

    changed: int
    undo: str | None = None


def marked_view(marked: MarkedEntries | MarkedChapters) -> MarkedView:
    """What became read, and how to undo it."""
    return MarkedView(marked.changed, str(marked.at) if marked.changed else None)


async def list_items(
    query: ItemQuery, shelf: Shelf, inbox: Inbox, pictures: ArticleImages
) -> ListAnswer[ItemView, CursorMeta]:
    """Newest first."""
    wanted = copied(
        EntryFilter,
        query,
        kind="item",
        feed=id_in_field(query.feed_id, "feed_id"),
        group=id_in_field(query.group_id, "group_id"),
        tag=id_in_field(query.tag_id, "tag_id"),
        since=Millis(max(read_time(query.since) or 0, 0)),
        by_published=query.order_by == "pub_date",
        detail="content" if query.content else "item",
    )
    page = await inbox.list(shelf.id, wanted, after=query.after, most=query.limit)
    views = [item_view(entry) for entry in page.rows if entry.feed_id is not None]
    return listing(Page(await _for(shelf, views, pictures), page.total, page.next_cursor), lambda view: view)


async def show_item(
    *, item_id: ItemPath, query: OneItemQuery, shelf: Shelf, inbox: Inbox, articles: Articles, pictures: ArticleImages
) -> ItemView:
    """One item with its content."""
    whole = await _whole(item_id, query, shelf, inbox=inbox, articles=articles)
    [view] = await _for(shelf, [whole], pictures)
    return view


async def _whole(item_id: ItemId, query: OneItemQuery, shelf: Shelf, *, inbox: Inbox, articles: Articles) -> ItemView:
    item = await inbox.get_item(shelf.id, item_id)
    shown_item = item_view(item)
    if not (item.wants_full_text if query.full_text is None else query.full_text):
        return shown_item
    text = await articles.full_text(item_id, item.link)
    if not text.content:
        return msgspec.structs.replace(shown_item, full_text_error=text.error)
    return msgspec.structs.replace(shown_item, content=text.content, is_full_text=True)


async def mark_read(shelf: Shelf, body: MarkBody, inbox: Inbox) -> MarkedView:
    """Marks items read."""
    return marked_view(await _mark(shelf, body, inbox, unread=False))


async def mark_unread(shelf: Shelf, body: MarkBody, inbox: Inbox) -> MarkedView:
    """Marks items unread."""
    return MarkedView((await _mark(shelf, body, inbox, unread=True)).changed)


async def undo_mark(shelf: Shelf, body: UndoBody, inbox: Inbox) -> MarkedView:
    """Marks the items unread again that one mark made read, and no others."""
    moment = read_number(body.undo)
    if moment is None:
        raise invalid([Problem("undo", "undo must be the undo that a mark returned.")])
    return MarkedView((await inbox.undo(shelf.id, Millis(moment))).changed)


async def _mark(shelf: Shelf, body: MarkBody, inbox: Inbox, *, unread: bool) -> MarkedEntries:
    if body.ids is not None:
        ids = [ItemId(number) for text in body.ids if (number := read_number(text)) is not None]
        return await inbox.mark_items(shelf.id, ids, unread=unread)
    scope = MarkScope(feed=id_in_field(body.feed_id, "feed_id"), group=id_in_field(body.group_id, "group_id"))
    if body.before is not None:
        scope = msgspec.structs.replace(scope, before=from_datetime(body.before))
    return await inbox.mark_scope(shelf.id, scope, unread=unread)


async def _for(shelf: Shelf, views: list[ItemView], pictures: ArticleImages) -> list[ItemView]:
    """The items as this shelf wants them: their images by way of this server, or from where they are."""
    if not shelf.proxy_images:
        return views
    contents = await pictures.shown_in([view.content or "" for view in views])
    return [
        msgspec.structs.replace(
            view,
            content=view.content if view.content is UNSET else content,
            page_urls=[pictures.url(address) for address in view.page_urls],
            image_url=None if view.image_url is None else pictures.url(view.image_url),
        )
        for view, content in zip(views, contents, strict=True)
    ]


async def fetch_item_file(
    *, item_id: ItemPath, request: Request, shelf: Shelf, article_files: ArticleFiles, images: Images
) -> Response:
    """The item as an EPUB, with its pictures."""
    return await answer_item(request, article_files, images, shelf_id=shelf.id, item_id=item_id)


async def fetch_digest(
    *, query: DigestQuery, request: Request, shelf: Shelf, article_files: ArticleFiles, images: Images
) -> Response:
    """The items that arrived in a time, a day at most unless you say otherwise, as one EPUB: the newest hundred."""
    since, until = [None if at is None else from_datetime(at) for at in (query.since, query.until)]
    file = await article_files.digest(shelf.id, since, until, unread=query.unread)
    return await answer_articles(request, file, article_files, images, shelf_id=shelf.id, otherwise="articles")


_read = declaring("items", Access.READ)
_write = declaring("items", Access.WRITE)

ENDPOINTS = (
    _read("GET", "/items", list_items, "List items", errors=(NotFound,)),
    _write("PATCH", "/items/-/read", mark_read, "Mark items read", errors=(NotFound,)),
    _write("PATCH", "/items/-/unread", mark_unread, "Mark items unread", errors=(NotFound,)),
    _write("PATCH", "/items/-/undo", undo_mark, "Undo a mark", errors=(NotFound,)),
    _read("GET", "/items/-/digest", fetch_digest, "Fetch a day's items as a file", errors=(NotFound, Unavailable)),
    _read("GET", "/items/{item_id}", show_item, "Show an item", errors=(NotFound,)),
    _read("GET", "/items/{item_id}/file", fetch_item_file, "Fetch an item as a file", errors=(NotFound, Unavailable)),
)
