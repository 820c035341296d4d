"""A shelf's feeds."""

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tsuzuki.accounts.sharing import must_own
from tsuzuki.accounts.types import MemberShelf, Shelf
from tsuzuki.api.endpoints import Access, Body, declaring
from tsuzuki.api.ids import FeedPath, IdText, id_in_field
from tsuzuki.api.shelf import Days, ShelfQuery
from tsuzuki.api.views import Time, copied, view_of
from tsuzuki.http.errors import failure_of
from tsuzuki.model.errors import (
    Conflict,
    Invalid,
    LimitExceeded,
    NotFound,
    RefusedAddress,
    SourceError,
    TooManyRequests,
)
from tsuzuki.model.ids import PublicId, show_id
from tsuzuki.model.secrets import mask_text
from tsuzuki.model.times import DAY, SECOND, Millis
from tsuzuki.polling.addresses import Trier
from tsuzuki.shelves.deps import RefreshOutcome
from tsuzuki.shelves.subscriptions import Subscriptions
from tsuzuki.shelves.types import NewSubscription, Subscription, SubscriptionChange, SubscriptionResult


class FetchStateView(msgspec.Struct, frozen=True, kw_only=True):
    """The results of the last fetches, when the next one is, and why then.

    Nothing is fetched while `paused_at` is not null: the operator paused all fetching; `paused_reason` is the reason,
    if one was given.
    """

    etag: str | None
    last_modified: str | None
    cache_control: str | None
    expires_at: Time | None
    retry_after_until: Time | None
    last_checked_at: Time | None
    next_check_at: Time | None
    next_check_why: str
    refresh_asked_at: Time | None
    last_http_status: int | None
    last_success_at: Time | None
    last_error_at: Time | None
    last_error: str | None
    last_error_code: str | None
    consecutive_failures: int
    paused_at: Time | None
    paused_reason: str | None


class FeedView(msgspec.Struct, frozen=True, kw_only=True):
    """A feed that the shelf follows. `interval` is in seconds; null is the usual interval.

    `retention` is how many days articles are kept after they are read; 0 is for ever, null is the shelf's setting.
    """

    id: str
    group_id: str
    name: str
    title: str
    """What the feed calls itself."""
    link: str
    site_url: str | None
    icon_url: str | None
    suspended: bool
    suspended_reason: str | None
    proxy: str
    notify: bool
    full_text: bool
    interval: int | None
    retention: int | None
    unread_count: int
    item_count: int
    created_at: Time
    updated_at: Time
    fetch_state: FetchStateView


def _in(span: Millis | None, unit: Millis) -> int | None:
    return None if span is None else span // unit


_fetch_state = view_of(
    FetchStateView,
    Subscription,
    refresh_asked_at="refresh_at",
    paused_reason=lambda feed: feed.paused_reason or None,
)
feed_view = view_of(
    FeedView,
    Subscription,
    name="shown_name",
    suspended="is_suspended",
    proxy=lambda feed: mask_text(feed.proxy),  # R47: its password is not shown
    interval=lambda feed: _in(feed.poll_interval, SECOND),
    retention=lambda feed: _in(feed.retention, DAY),
    fetch_state=_fetch_state,
)


Link = Annotated[str, Meta(min_length=1, max_length=8192)]
Name = Annotated[str, Meta(max_length=500)]
Proxy = Annotated[str, Meta(max_length=1000)]

MOST_AT_ONCE = 1_000


class FeedQuery(ShelfQuery, frozen=True, kw_only=True):
    """Of one group, or of one status."""

    group_id: IdText | None = None
    status: Literal["ok", "error", "suspended"] | None = None


class FeedBody(Body, frozen=True, kw_only=True):
    """A feed to follow; without a group it is added to the default group."""

    link: Link
    name: Name = ""
    group_id: IdText | None = None
    site_url: Link | None = None
    proxy: Proxy = ""
    suspended: bool = False


class FeedChangeBody(Body, frozen=True, kw_only=True):
    """What to change. An empty `proxy` removes it; a null `interval` (in seconds) is the usual interval.

    `retention` is how many days articles are kept after they are read; 0 is for ever, null is the shelf's setting;
    only for owners.
    """

    name: Name | UnsetType = UNSET
    group_id: IdText | UnsetType = UNSET
    link: Link | UnsetType = UNSET
    site_url: Link | UnsetType = UNSET
    suspended: bool | UnsetType = UNSET
    proxy: Proxy | UnsetType = UNSET
    interval: Annotated[int, Meta(ge=300, le=30 * 86_400)] | UnsetType | None = UNSET
    full_text: bool | UnsetType = UNSET
    retention: Days | UnsetType | None = UNSET
    notify: bool | UnsetType = UNSET


class BatchEntry(Body, frozen=True, kw_only=True):
    """One of many feeds."""

    link: Link
    name: Name = ""
    group_id: IdText | None = None


class BatchBody(Body, frozen=True, kw_only=True):
    """Feeds to follow."""

    feeds: Annotated[tuple[BatchEntry, ...], Meta(min_length=1, max_length=MOST_AT_ONCE)]


class UrlBody(Body, frozen=True, kw_only=True):
    """The address of a page or a feed."""

    url: Link


class BatchResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of one entry: an id, or an error with its code."""

    link: str
    id: str | None = None
    error: str | None = None
    code: str | None = None


class BatchView(msgspec.Struct, frozen=True):
    """The results of all of them."""

    created: int
    failed: int
    results: list[BatchResult]


class DiscoveredFeedView(msgspec.Struct, frozen=True):
    """A feed found on a page."""

    title: str
    link: str


class FoundFeedsView(msgspec.Struct, frozen=True, omit_defaults=True):
    """The feeds of a page, best first; `error` says why there are none, or what is wrong with the address."""

    feeds: list[DiscoveredFeedView]
    error: str | None = None


class QueuedView(msgspec.Struct, frozen=True, omit_defaults=True):
    """How many feeds will be fetched now. If none because publishers asked us to wait, `not_before` says until when."""

    queued: int
    not_before: Time | None = None


_queued_view = view_of(QueuedView, RefreshOutcome)


class RefreshingView(msgspec.Struct, frozen=True):
    """How many feeds wait for a requested refresh, and how many are being fetched."""

    waiting: int
    checking: int


async def list_feeds(query: FeedQuery, shelf: Shelf, feeds: Subscriptions) -> list[FeedView]:
    """All feeds with exact counts, by name in natural order: 3 comes before 27."""
    group = id_in_field(query.group_id, "group_id")
    return [feed_view(one) for one in await feeds.list(shelf.id, group=group, status=query.status)]


async def create_feed(shelf: Shelf, body: FeedBody, feeds: Subscriptions) -> FeedView:
    """Follows a feed and starts its first fetch at once."""
    new = NewSubscription(
        link=body.link.strip(),
        name=body.name.strip(),
        group=id_in_field(body.group_id, "group_id"),
        site_url=body.site_url,
        proxy=body.proxy.strip(),
        is_suspended=body.suspended,
    )
    return feed_view(await feeds.add(shelf.id, new))


async def create_feeds(shelf: Shelf, body: BatchBody, feeds: Subscriptions) -> BatchView:
    """Follows many feeds. Valid ones are created even if others fail."""
    new = [
        NewSubscription(
            link=one.link.strip(), name=one.name.strip(), group=id_in_field(one.group_id, f"feeds.{place}.group_id")
        )
        for place, one in enumerate(body.feeds)
    ]
    results = [batch_result(tried) for tried in await feeds.add_many(shelf.id, new)]
    created = sum(result.id is not None for result in results)
    return BatchView(created, len(results) - created, results)


async def find_feeds(body: UrlBody, trier: Trier) -> FoundFeedsView:
    """The feeds at an address: the address itself if it is a feed, otherwise those that its page links to."""
    try:
        found = await trier.find_feeds(body.url.strip())
    except RefusedAddress:
        raise
    except SourceError as error:
        return FoundFeedsView([], str(error))
    return FoundFeedsView([DiscoveredFeedView(feed.title, feed.url) for feed in found.feeds], found.problem)


async def refresh_feeds(shelf: Shelf, feeds: Subscriptions) -> QueuedView:
    """Fetches all feeds now, except suspended ones; each feed's `fetch_state` shows the result."""
    return _queued_view(await feeds.refresh_all(shelf.id))


async def show_refreshing(shelf: Shelf, feeds: Subscriptions) -> RefreshingView:
    """How many feeds are left to fetch; both numbers are 0 when the refresh is done."""
    return copied(RefreshingView, await feeds.refreshing(shelf.id))


async def show_feed(feed_id: FeedPath, shelf: Shelf, feeds: Subscriptions) -> FeedView:
    """One feed with exact counts."""
    return feed_view(await feeds.get(shelf.id, feed_id))


async def change_feed(feed_id: FeedPath, shelf: MemberShelf, body: FeedChangeBody, feeds: Subscriptions) -> FeedView:
    """A new link or proxy makes it a different feed: its fetch state starts over."""
    retention = _times(body.retention, DAY)
    if not isinstance(retention, UnsetType) and retention != (await feeds.get(shelf.id, feed_id)).retention:
        must_own(shelf)
    proxy = await _proxy(feeds, shelf, feed_id, body.proxy)
    change = copied(
        SubscriptionChange,
        body,
        name=body.name if isinstance(body.name, UnsetType) else body.name.strip(),
        group=UNSET if isinstance(body.group_id, UnsetType) else id_in_field(body.group_id, "group_id"),
        link=body.link if isinstance(body.link, UnsetType) else body.link.strip(),
        proxy=proxy,
        is_suspended=body.suspended,
        poll_interval=_times(body.interval, SECOND),
        retention=retention,
    )
    return feed_view(await feeds.change(shelf.id, feed_id, change))


async def delete_feed(feed_id: FeedPath, shelf: Shelf, feeds: Subscriptions) -> None:
    """Unfollows a feed. Bookmarks stay."""
    await feeds.delete(shelf.id, feed_id)


async def refresh_feed(feed_id: FeedPath, shelf: Shelf, feeds: Subscriptions) -> QueuedView:
    """Fetches a feed now, even if it is suspended.

    `queued` is 0 if a refresh was already requested or was done within the last minute, and while the publisher asks us
    to wait: then `not_before` says until when.
    """
    return _queued_view(await feeds.refresh(shelf.id, feed_id))


def batch_result(tried: SubscriptionResult) -> BatchResult:
    """What became of one of many."""
    if tried.subscription is not None:
        return BatchResult(link=tried.subscription.link, id=show_id(tried.subscription.public_id))
    assert tried.error is not None
    body = failure_of(tried.error, "").body
    return BatchResult(link=tried.link, error=body.error, code=body.code)


def _times(number: int | UnsetType | None, unit: Millis) -> Millis | UnsetType | None:
    return number if number is None or isinstance(number, UnsetType) else Millis(number * unit)


async def _proxy(feeds: Subscriptions, shelf: Shelf, feed: PublicId, sent: str | UnsetType) -> str | UnsetType:
    """R47: `***` sent back keeps the stored one."""
    if isinstance(sent, UnsetType):
        return sent
    stored = (await feeds.get(shelf.id, feed)).proxy
    return stored if sent == mask_text(stored) else sent.strip()


_read = declaring("feeds", Access.READ)
_write = declaring("feeds", Access.WRITE)
_MAKING = (NotFound, Conflict, Invalid, LimitExceeded)

ENDPOINTS = (
    _read("GET", "/feeds", list_feeds, "List feeds", errors=(NotFound,)),
    _write("POST", "/feeds", create_feed, "Follow a feed", status=201, errors=_MAKING),
    _write("POST", "/feeds/batch", create_feeds, "Follow many feeds", errors=(NotFound,)),
    _write("POST", "/feeds/validate", find_feeds, "Find the feeds of a page", errors=(TooManyRequests,)),
    _write("POST", "/feeds/refresh", refresh_feeds, "Refresh all feeds", status=202, errors=(NotFound,)),
    _read("GET", "/feeds/refresh", show_refreshing, "Show the progress of a refresh", errors=(NotFound,)),
    _read("GET", "/feeds/{feed_id}", show_feed, "Show a feed", errors=(NotFound,)),
    _write("PATCH", "/feeds/{feed_id}", change_feed, "Change a feed", errors=_MAKING),
    _write("DELETE", "/feeds/{feed_id}", delete_feed, "Unfollow a feed", errors=(NotFound,)),
    _write(
        "POST",
        "/feeds/{feed_id}/refresh",
        refresh_feed,
        "Refresh a feed",
        status=202,
        errors=(NotFound, LimitExceeded),
    ),
)
