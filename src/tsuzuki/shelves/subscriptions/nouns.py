"""What is said of subscriptions."""

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, UnsetType

from tsuzuki.model.errors import TsuzukiError
from tsuzuki.model.ids import FeedId, GroupId, PublicId, ShelfId, WatchId
from tsuzuki.model.secrets import PROXY, Sealed
from tsuzuki.model.times import Millis

Status = Literal["ok", "error", "suspended"]


class Subscription(msgspec.Struct, frozen=True):
    """A feed of a shelf, with what is known of the feed behind it and of the last looks at it."""

    id: int
    public_id: PublicId
    feed_id: FeedId
    group_id: GroupId
    group_public_id: PublicId
    name: str
    """What the reader calls it; empty where the feed's own title is good."""
    title: str
    link: str
    site_url: str | None
    proxy: Annotated[str, Sealed(PROXY)]
    icon_url: str | None
    suspended_at: Millis | None
    watch_suspended_at: Millis | None
    suspended_reason: str | None
    notify: bool
    full_text: bool
    poll_interval: Millis | None
    retention: Millis | None
    unread_count: int
    item_count: int
    created_at: Millis
    updated_at: Millis
    watch_id: WatchId
    etag: str | None
    last_modified: str | None
    cache_control: str | None
    expires_at: Millis | None
    retry_after_until: Millis | None
    last_checked_at: Millis | None
    next_check_at: Millis
    next_check_why: str
    refresh_at: Millis | None
    last_http_status: int | None
    last_success_at: Millis | None
    last_error_at: Millis | None
    last_error: str | None
    last_error_code: str | None
    consecutive_failures: int
    paused_at: Millis | None
    """Since when the operator lets nothing be called."""
    paused_reason: str | None

    @property
    def shown_name(self) -> str:
        """The reader's name for it, else the feed's, else its address."""
        return self.name or self.title or self.link

    @property
    def is_suspended(self) -> bool:
        """Whether it is left alone: by its reader, or because it is gone (R29)."""
        return self.suspended_at is not None or self.watch_suspended_at is not None

    @property
    def status(self) -> Status:
        """`suspended`, else `error` while the last look failed, else `ok`."""
        if self.is_suspended:
            return "suspended"
        return "error" if self.consecutive_failures else "ok"


class Refreshing(msgspec.Struct, frozen=True):
    """How many feeds wait to be looked at out of turn, and how many are being looked at."""

    waiting: int
    checking: int


class FeedName(msgspec.Struct, frozen=True):
    """What a feed of the shelf is called."""

    public_id: PublicId
    feed_id: FeedId
    name: str
    title: str
    link: str


class NewRow(msgspec.Struct, frozen=True, kw_only=True):
    """A subscription to be stored."""

    public_id: PublicId
    shelf_id: ShelfId
    feed_id: FeedId
    group_id: GroupId
    name: str = ""
    site_url: str | None = None
    suspended_at: Millis | None = None
    notify: bool = True
    full_text: bool = False
    poll_interval: Millis | None = None
    retention: Millis | None = None
    created_at: Millis | None = None
    """Now when None."""


class FormerSubscription(msgspec.Struct, frozen=True):
    """A subscription that was ended, as it was."""

    feed_id: FeedId
    public_id: PublicId
    group_id: GroupId | None
    """None when its group is gone."""
    name: str
    site_url: str | None
    suspended_at: Millis | None
    notify: bool
    full_text: bool
    poll_interval: Millis | None
    retention: Millis | None
    created_at: Millis
    left_at: Millis


class NewSubscription(msgspec.Struct, frozen=True, kw_only=True):
    """A feed that a reader wants."""

    link: str
    name: str = ""
    group: PublicId | None = None
    """The default group when None."""
    site_url: str | None = None
    proxy: str = ""
    is_suspended: bool = False
    full_text: bool = False


class SubscriptionChange(msgspec.Struct, frozen=True, kw_only=True):
    """What to change of a subscription; what is UNSET stays."""

    name: str | UnsetType = UNSET
    group: PublicId | UnsetType = UNSET
    link: str | UnsetType = UNSET
    proxy: str | UnsetType = UNSET
    """Empty for none."""
    site_url: str | UnsetType = UNSET
    is_suspended: bool | UnsetType = UNSET
    notify: bool | UnsetType = UNSET
    full_text: bool | UnsetType = UNSET
    poll_interval: Millis | UnsetType | None = UNSET
    retention: Millis | UnsetType | None = UNSET


class SubscriptionResult(msgspec.Struct, frozen=True):
    """What became of one wish of many."""

    link: str
    subscription: Subscription | None = None
    error: TsuzukiError | None = None
