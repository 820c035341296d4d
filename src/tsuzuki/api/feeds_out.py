"""Feeds out: what of a shelf is published as feeds at secret addresses."""

from typing import Annotated

import msgspec
from msgspec import Meta

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.types import Shelf
from tsuzuki.api.endpoints import Access, Body, declaring
from tsuzuki.api.ids import FeedOutPath, IdText, id_in_field
from tsuzuki.api.views import Time, copied, view_of
from tsuzuki.inbox.feeds_out.service import LONGEST_NAME, LONGEST_SEARCH, FeedsOut
from tsuzuki.inbox.feeds_out.types import FORMATS, FeedOut, NewFeedOut, State
from tsuzuki.model.errors import LimitExceeded, NotFound
from tsuzuki.model.harvest import Kind
from tsuzuki.model.ids import PublicId, show_id


class FeedOutView(msgspec.Struct, frozen=True, kw_only=True):
    """A feed out: what it shows, and its secret paths by format, which come after the server's address.

    There are no paths where they were stored with another secret key: replace the address then.
    """

    id: str
    name: str
    kind: Kind | None
    state: State
    feed_id: str | None
    group_id: str | None
    series_id: str | None
    tag_id: str | None
    search: str | None
    is_full: bool
    paths: dict[str, str]
    created_at: Time
    updated_at: Time
    fetched_at: Time | None


def _shown(public_id: PublicId | None) -> str | None:
    return None if public_id is None else show_id(public_id)


_feed_view = view_of(
    FeedOutView,
    FeedOut,
    feed_id=lambda feed: _shown(feed.of_feed),
    group_id=lambda feed: _shown(feed.of_group),
    series_id=lambda feed: _shown(feed.of_series),
    tag_id=lambda feed: _shown(feed.of_tag),
    paths=lambda feed: {form: path for form in FORMATS if (path := feed.path(form)) is not None},
)


class FeedOutBody(Body, frozen=True, kw_only=True):
    """What the feed shows: everything, or only articles (`item`) or chapters; all, unread or saved entries; those of
    one feed, group, series or tag; articles with these words. Without `is_full` it has summaries only.
    """

    name: Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME)]
    kind: Kind | None = None
    state: State = "all"
    feed_id: IdText | None = None
    group_id: IdText | None = None
    series_id: IdText | None = None
    tag_id: IdText | None = None
    search: Annotated[str, Meta(max_length=LONGEST_SEARCH)] | None = None
    is_full: bool = True


async def list_feeds_out(shelf: Shelf, caller: Caller, feeds: FeedsOut) -> list[FeedOutView]:
    """Your own on this shelf, newest first. Whoever knows a path can read the feed."""
    return [_feed_view(feed) for feed in await feeds.list(shelf.id, caller.user_id)]


async def create_feed_out(shelf: Shelf, body: FeedOutBody, caller: Caller, feeds: FeedsOut) -> FeedOutView:
    """Publishes a view of the shelf at a new secret address."""
    new = copied(
        NewFeedOut,
        body,
        of_feed=id_in_field(body.feed_id, "feed_id"),
        of_group=id_in_field(body.group_id, "group_id"),
        of_series=id_in_field(body.series_id, "series_id"),
        of_tag=id_in_field(body.tag_id, "tag_id"),
    )
    return _feed_view(await feeds.add(shelf.id, caller.user_id, new))


async def replace_feed_out(feed_out_id: FeedOutPath, shelf: Shelf, caller: Caller, feeds: FeedsOut) -> FeedOutView:
    """Gives the feed a new address; the old one stops working immediately."""
    return _feed_view(await feeds.replace(shelf.id, caller.user_id, feed_out_id))


async def delete_feed_out(feed_out_id: FeedOutPath, shelf: Shelf, caller: Caller, feeds: FeedsOut) -> None:
    """Its address stops working immediately."""
    await feeds.remove(shelf.id, caller.user_id, feed_out_id)


_read = declaring("feeds out", Access.READ)
_write = declaring("feeds out", Access.WRITE)

ENDPOINTS = (
    _read("GET", "/feeds-out", list_feeds_out, "List feeds out", errors=(NotFound,)),
    _write("POST", "/feeds-out", create_feed_out, "Add a feed out", status=201, errors=(NotFound, LimitExceeded)),
    _write("POST", "/feeds-out/{feed_out_id}/replace", replace_feed_out, "Replace its address", errors=(NotFound,)),
    _write("DELETE", "/feeds-out/{feed_out_id}", delete_feed_out, "Remove a feed out", errors=(NotFound,)),
)
