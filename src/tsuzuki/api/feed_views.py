"""A feed as its readers see it."""

import msgspec

from tsuzuki.api.views import Time, shown
from tsuzuki.model.ids import show_id
from tsuzuki.model.secrets import mask_text
from tsuzuki.model.times import DAY, SECOND, Millis, iso
from tsuzuki.shelves.subscriptions.nouns import Subscription


class FetchStateView(msgspec.Struct, frozen=True, kw_only=True):
    """How the last looks went, when the next is, and why then.

    None comes while `paused_at` is not null: the operator lets nothing be called, for `paused_reason` if one was said.
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
    """A feed that the shelf follows. `interval` is in seconds; null is the usual.

    `retention` is how many days articles stay after they were read; 0 is for ever, null as the shelf keeps them.
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


def feed_view(feed: Subscription) -> FeedView:
    """R47: a proxy's password is not shown."""
    return FeedView(
        id=show_id(feed.public_id),
        group_id=show_id(feed.group_public_id),
        name=feed.shown_name,
        title=feed.title,
        link=feed.link,
        site_url=feed.site_url,
        icon_url=feed.icon_url,
        suspended=feed.is_suspended,
        suspended_reason=feed.suspended_reason,
        proxy=mask_text(feed.proxy),
        notify=feed.notify,
        full_text=feed.full_text,
        interval=_in(feed.poll_interval, SECOND),
        retention=_in(feed.retention, DAY),
        unread_count=feed.unread_count,
        item_count=feed.item_count,
        created_at=iso(feed.created_at),
        updated_at=iso(feed.updated_at),
        fetch_state=_fetch_state(feed),
    )


def _fetch_state(feed: Subscription) -> FetchStateView:
    return FetchStateView(
        etag=feed.etag,
        last_modified=feed.last_modified,
        cache_control=feed.cache_control,
        expires_at=shown(feed.expires_at),
        retry_after_until=shown(feed.retry_after_until),
        last_checked_at=shown(feed.last_checked_at),
        next_check_at=shown(feed.next_check_at),
        next_check_why=feed.next_check_why,
        refresh_asked_at=shown(feed.refresh_at),
        last_http_status=feed.last_http_status,
        last_success_at=shown(feed.last_success_at),
        last_error_at=shown(feed.last_error_at),
        last_error=feed.last_error,
        last_error_code=feed.last_error_code,
        consecutive_failures=feed.consecutive_failures,
        paused_at=shown(feed.paused_at),
        paused_reason=feed.paused_reason or None,
    )


def _in(span: Millis | None, unit: Millis) -> int | None:
    return None if span is None else span // unit
