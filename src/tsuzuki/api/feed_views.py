"""A feed as its readers see it."""

import msgspec

from tsuzuki.api.views import Time, view_of
from tsuzuki.model.secrets import mask_text
from tsuzuki.model.times import DAY, SECOND, Millis
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
