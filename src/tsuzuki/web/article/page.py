"""`/items/{id}`: the article, and its neighbours in the list from which it was opened."""

import msgspec
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.connectors.html.sanitiser import SafeHtml
from tsuzuki.http.middleware import WITH_PLAYERS
from tsuzuki.http.routing import Resource, page
from tsuzuki.inbox.entries import Entry
from tsuzuki.inbox.pictures import pictures_in
from tsuzuki.model.errors import NotFound
from tsuzuki.model.ids import ItemId, show_id
from tsuzuki.model.titles import title_of
from tsuzuki.web.article.content import Players, media_of, prepare
from tsuzuki.web.ids import number_of
from tsuzuki.web.inbox.rows import item_title
from tsuzuki.web.inbox.view import read_view
from tsuzuki.web.links import chapter_path, item_path
from tsuzuki.web.locale import Locale
from tsuzuki.web.site import Site
from tsuzuki.web.texts import chapter_name


class ArticleStep(msgspec.Struct, frozen=True):
    """A neighbour."""

    title: str
    path: str


class ArticleText(msgspec.Struct, frozen=True):
    """What is read: the feed's text or the page's."""

    content: Markup
    source: str
    """The text before it was prepared for the page."""
    is_full: bool = False
    error: str | None = None


def article_page(site: Site) -> Resource:
    """The page of an article."""
    inbox, feeds, players = site.inbox, site.reading.subscriptions, Players(site.media_links)

    async def show_article(request: Request, caller: Caller) -> Response:
        view = read_view(request.query_params)
        frame = await site.frame(request, caller, view.place)
        item_id = number_of(request.path_params["item_id"])
        if item_id is None:
            raise NotFound("There is no such article.")
        item = await inbox.get_item(frame.shelf.id, ItemId(item_id))
        assert item.feed_id is not None
        feed = await feeds.get(frame.shelf.id, item.feed_id)
        wanted = view.wanted
        near = await inbox.neighbours(frame.shelf.id, wanted, item.place(wanted))
        if view.show == "unread" and view.since is None:
            view = msgspec.structs.replace(view, since=frame.now)  # what is read from here on stays a neighbour
        query = view.fields | ({} if view.since is None else {"since": str(view.since)})
        text = await _text(site, players, item, request.query_params.get("text"))
        shown = site.show(
            frame,
            "article.html",
            item=item,
            shown_title=title_of(item.title, item.beginning) or frame.locale.moment(item.published_at or item.sort_at),
            feed=feed,
            feed_id=show_id(feed.public_id),
            text=text,
            pictures=pictures_in(item, text.source, site.picture),
            media=media_of(item.enclosures or (), text.source, players),
            newer=_step(near.newer, query, frame.locale),
            older=_step(near.older, query, frame.locale),
            view=view,
            tags=(await site.reading.tags.of_entries(frame.shelf.id, [item.id])).get(item.id, ()),
            known_tags=await site.reading.tags.list(frame.shelf.id),
            here=item_path(item_id, **query),
            query=query,
        )
        shown.headers["content-security-policy"] = WITH_PLAYERS
        return shown

    return page("/items/{item_id}", site.signed_in(show_article))


async def _text(site: Site, players: Players, item: Entry, asked: str | None) -> ArticleText:
    """What the reader asked for, else what the feed's setting says."""
    content, is_full, error = item.content or "", False, None
    if item.item_id is not None and (asked == "full" or (asked is None and item.wants_full_text)):
        whole = await site.articles.full_text(item.item_id, item.link)
        content, is_full, error = (whole.content, True, None) if whole.content else (content, False, whole.error)
    shown = await prepare(site.parsers, SafeHtml(content), site.picture, players, title=item.title)
    return ArticleText(shown, content, is_full=is_full, error=error)


def _step(line: Entry | None, query: dict[str, str], locale: Locale) -> ArticleStep | None:
    if line is None:
        return None
    if line.item_id is not None:
        return ArticleStep(item_title(line, locale), item_path(line.item_id, **query))
    assert line.series_public_id is not None
    assert line.chapter_id is not None
    name = chapter_name(line.number, line.volume, line.title)
    return ArticleStep(f"{line.series_title}: {name}", chapter_path(show_id(line.series_public_id), line.chapter_id))
