"""Feeds of articles, which are had as EPUB: those that were saved, and those of a day."""

from typing import Final
from urllib.parse import quote

from starlette.responses import Response

from tsuzuki.books.articles import article_name, day_title
from tsuzuki.books.comic_info import ascii_name, file_name
from tsuzuki.books.epub import EPUB
from tsuzuki.http.books import answer_articles, answer_item
from tsuzuki.inbox.entries import Entry, EntryFilter
from tsuzuki.model.errors import NotFound
from tsuzuki.model.ids import ItemId
from tsuzuki.model.pages import PageCursor
from tsuzuki.model.times import DAY, Millis, from_iso, iso
from tsuzuki.model.titles import title_of
from tsuzuki.protocols.opds.feeds import (
    PAGE,
    OpdsFeed,
    Paging,
    Publication,
    cursor_of,
    list_feed,
    path_with,
    permanent_id,
)
from tsuzuki.protocols.opds.requests import NOTHING, OpdsRequest

DAYS: Final = 7
"""Whose articles are offered."""
_SAVED = "articles/saved"


async def saved_articles(asked: OpdsRequest) -> OpdsFeed:
    """What was saved, each as a book."""
    asked.must_show("item")
    wanted = EntryFilter(kind="item", saved=True, detail="preview")
    found = await asked.services.inbox.list(asked.shelf_id, wanted, after=cursor_of(asked), most=PAGE)
    start, following = asked.count("start"), None
    if found.next_cursor is not None:
        following = path_with(_SAVED, {"after": str(found.next_cursor), "start": str(start + PAGE)})
    return list_feed(
        asked,
        path_with(_SAVED, {"after": asked.params.one("after"), "start": str(start) if start else ""}),
        "Saved articles",
        [_article(asked, row) for row in found.rows],
        identity=_SAVED,
        paging=Paging(
            first=_SAVED,
            previous=_SAVED if 0 < start <= PAGE else None,
            next=following,
            total=found.total,
            start=min(start, found.total),
        ),
    )


def _article(asked: OpdsRequest, row: Entry) -> Publication:
    title = title_of(row.title, row.beginning) or iso(row.published_at or row.sort_at)[:10]
    name = ascii_name(file_name(title, ".epub"), article_name(row.item_id))
    return Publication(
        id=permanent_id(asked, f"item {row.item_id}"),
        title=title,
        updated=row.updated_at or row.created_at,
        file=f"articles/{row.item_id}/file/{quote(name)}",
        file_type=EPUB,
        about=row.feed_name or "",
        authors=[row.author] if row.author else [],
        issued=row.published_at,
    )


async def days(asked: OpdsRequest) -> OpdsFeed:
    """The last days on which articles arrived, by UTC."""
    asked.must_show("item")
    now = asked.deps.clock()
    books = []
    for start in (Millis(now - now % DAY - place * DAY) for place in range(DAYS)):
        wanted, end = EntryFilter(kind="item", since=start), PageCursor(Millis(start + DAY), 0)
        found = await asked.services.inbox.page(asked.shelf_id, wanted, after=end, most=1)
        if found.rows:
            day = iso(start)[:10]
            books.append(
                Publication(
                    id=permanent_id(asked, f"day {day}"),
                    title=day_title(day),
                    updated=found.rows[0].created_at,
                    file=f"articles/days/{day}/file/{quote(f'Tsuzuki {day}.epub')}",
                    file_type=EPUB,
                )
            )
    return list_feed(asked, "articles/days", "Articles by day", books)


async def answer_article(asked: OpdsRequest) -> Response:
    """An article as a book."""
    asked.must_show("item")
    files, images = asked.services.article_files, asked.services.pictures.images
    item_id = ItemId(asked.number("item_id"))
    return await answer_item(asked.request, files, images, shelf_id=asked.shelf_id, item_id=item_id)


async def answer_day(asked: OpdsRequest) -> Response:
    """The articles of a day as a book."""
    asked.must_show("item")
    text = asked.request.path_params["day"]
    try:
        start = from_iso(f"{text}T00:00:00Z")
    except ValueError:
        raise NotFound(NOTHING) from None
    end = Millis(start + DAY)
    files, images = asked.services.article_files, asked.services.pictures.images
    file = await files.digest(asked.shelf_id, start, end)
    return await answer_articles(asked.request, file, files, images, shelf_id=asked.shelf_id, otherwise="articles")
