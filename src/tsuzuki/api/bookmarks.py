"""Bookmarks: what a reader keeps."""

from typing import Annotated

import msgspec
from msgspec import Meta

from tsuzuki.accounts.types import Shelf
from tsuzuki.api.endpoints import Access, Body, Moment, declaring
from tsuzuki.api.ids import BookmarkPath, IdText, Number, id_in_field, number_in_path
from tsuzuki.api.items import NO_ITEM
from tsuzuki.api.paging import CursorQuery, listing
from tsuzuki.api.views import CursorMeta, ListAnswer, Time, copied, display_title, read_time, view_of
from tsuzuki.images.articles import ArticleImages
from tsuzuki.model.errors import Conflict, NotFound
from tsuzuki.model.ids import ItemId
from tsuzuki.model.pages import Page
from tsuzuki.shelves.bookmarks import Bookmark, Bookmarks, NewBookmark

Note = Annotated[str, Meta(max_length=10_000)]


class BookmarkQuery(CursorQuery, frozen=True, kw_only=True):
    """Of a feed or a group."""

    feed_id: IdText | None = None
    group_id: IdText | None = None


class BookmarkView(msgspec.Struct, frozen=True, kw_only=True):
    """A snapshot; `item_id` is null once the item is no longer on the shelf."""

    id: str
    item_id: str | None
    feed_id: str | None
    link: str
    title: str
    display_title: str
    """As an item's (R103)."""
    content: str
    pub_date: Time | None
    feed_name: str
    note: str
    created_at: Time


bookmark_view = view_of(
    BookmarkView,
    Bookmark,
    display_title=lambda kept: display_title(kept.title, kept.content, kept.published_at or kept.created_at),
    pub_date="published_at",
)


class BookmarkBody(Body, frozen=True, kw_only=True):
    """An item of the shelf; or a page, with at least its link and title."""

    item_id: Number | None = None
    link: Annotated[str, Meta(min_length=1, max_length=8192)] | None = None
    title: Annotated[str, Meta(min_length=1, max_length=2000)] | None = None
    content: Annotated[str, Meta(max_length=500_000)] = ""
    feed_name: Annotated[str, Meta(max_length=500)] = ""
    pub_date: Moment | None = None
    note: Note = ""

    def __post_init__(self) -> None:
        if (self.item_id is None) == (self.link is None):
            raise ValueError("Send either item_id, or link and title.")
        if self.link is not None and self.title is None:
            raise ValueError("title is required with link.")
        if self.item_id is not None and (self.title or self.content or self.feed_name or self.pub_date):
            raise ValueError("Send no title, content, feed_name or pub_date with item_id: the item has them.")


class BookmarkNoteBody(Body, frozen=True, kw_only=True):
    """The note of a bookmark."""

    note: Note


async def list_bookmarks(
    query: BookmarkQuery, shelf: Shelf, bookmarks: Bookmarks, pictures: ArticleImages
) -> ListAnswer[BookmarkView, CursorMeta]:
    """Newest first."""
    feed, group = id_in_field(query.feed_id, "feed_id"), id_in_field(query.group_id, "group_id")
    page = await bookmarks.list(shelf.id, feed=feed, group=group, after=query.after, most=query.limit)
    views = await _for(shelf, [bookmark_view(bookmark) for bookmark in page.rows], pictures)
    return listing(Page(views, page.total, page.next_cursor), lambda view: view)


async def create_bookmark(shelf: Shelf, body: BookmarkBody, bookmarks: Bookmarks) -> BookmarkView:
    """Saves a snapshot of an item, or of a page that you send."""
    if body.item_id is not None:
        return bookmark_view(
            await bookmarks.add_item(shelf.id, ItemId(number_in_path(body.item_id, NO_ITEM)), body.note)
        )
    link, published_at = (body.link or "").strip(), read_time(body.pub_date)
    new = copied(NewBookmark, body, link=link, title=body.title or "", published_at=published_at)
    return bookmark_view(await bookmarks.add(shelf.id, new))


async def show_bookmark(
    bookmark_id: BookmarkPath, shelf: Shelf, bookmarks: Bookmarks, pictures: ArticleImages
) -> BookmarkView:
    """One bookmark."""
    bookmark = await bookmarks.get(shelf.id, bookmark_id)
    [view] = await _for(shelf, [bookmark_view(bookmark)], pictures)
    return view


async def change_bookmark(
    bookmark_id: BookmarkPath, shelf: Shelf, body: BookmarkNoteBody, bookmarks: Bookmarks
) -> BookmarkView:
    """Changes the note of a bookmark."""
    return bookmark_view(await bookmarks.set_note(shelf.id, bookmark_id, body.note))


async def delete_bookmark(bookmark_id: BookmarkPath, shelf: Shelf, bookmarks: Bookmarks) -> None:
    """Deletes a bookmark."""
    await bookmarks.delete(shelf.id, bookmark_id)


async def _for(shelf: Shelf, views: list[BookmarkView], pictures: ArticleImages) -> list[BookmarkView]:
    """With their images by way of this server, where the shelf wants that."""
    if not shelf.proxy_images:
        return views
    contents = await pictures.shown_in([view.content for view in views])
    return [msgspec.structs.replace(view, content=content) for view, content in zip(views, contents, strict=True)]


_read = declaring("bookmarks", Access.READ)
_write = declaring("bookmarks", Access.WRITE)

ENDPOINTS = (
    _read("GET", "/bookmarks", list_bookmarks, "List bookmarks", errors=(NotFound,)),
    _write("POST", "/bookmarks", create_bookmark, "Add a bookmark", status=201, errors=(NotFound, Conflict)),
    _read("GET", "/bookmarks/{bookmark_id}", show_bookmark, "Show a bookmark", errors=(NotFound,)),
    _write("PATCH", "/bookmarks/{bookmark_id}", change_bookmark, "Change the note of a bookmark", errors=(NotFound,)),
    _write("DELETE", "/bookmarks/{bookmark_id}", delete_bookmark, "Delete a bookmark", errors=(NotFound,)),
)
