"""What a poll goes by and what it leaves, as rows."""

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec

from tsuzuki.ingest.tasks import ItemBatch
from tsuzuki.model.harvest import FoundItem
from tsuzuki.model.ids import FeedId, SeriesId, SeriesSourceId, ShelfId, SourceId, WatchId
from tsuzuki.model.secrets import PROXY, SOURCE, Sealed
from tsuzuki.model.times import Millis
from tsuzuki.queue.tasks import NewTask
from tsuzuki.sources.store import ClaimedWatch


class FeedTarget(msgspec.Struct, frozen=True):
    """A feed to be called."""

    feed_id: FeedId
    seen_at: Millis
    """When this was read."""
    link: str
    proxy: Annotated[str, Sealed(PROXY)]
    last_full_at: Millis | None
    first_harvest_at: Millis | None
    last_release_at: Millis | None
    harvested_at: Millis | None
    """When its document was last read; later answers said that it is the same."""
    last_success_at: Millis | None
    cache_control: str | None
    expires_at: Millis | None
    ttl: Millis | None
    skip_hours: int
    skip_days: int
    """As bits."""
    poll_floor: Millis | None
    moved_to: str | None
    moved_count: int
    moved_since: Millis | None
    gone_since: Millis | None
    followers: int
    """One, or more than many: nothing else matters."""
    wished_interval: Millis | None
    has_usual: bool
    shelf_id: ShelfId | None
    """Whose alone it is: nobody else wants it."""
    has_content: bool
    has_unstable_keys: bool
    """Once it gave several items the same key (R93), or the same item another."""
    has_letters: bool
    """Something of the last poll was given up by ingest."""


class DueFeed(ClaimedWatch, frozen=True):
    """A claimed watch of a feed, with what was known of it at that moment."""

    target: FeedTarget

    @property
    def shelf_id(self) -> ShelfId | None:
        """Whose alone it is."""
        return self.target.shelf_id


class SeriesTarget(msgspec.Struct, frozen=True):
    """A series on a source to be called."""

    series_source_id: SeriesSourceId
    series_id: SeriesId
    url: str
    update_strategy: str
    source_id: SourceId
    source_name: str
    source_slug: str
    lang: str
    base_url: str
    connector: str | None
    config: Annotated[dict[str, Any], Sealed(SOURCE)]
    is_enabled: bool
    first_harvest_at: Millis | None
    last_release_at: Millis | None
    poll_floor: Millis | None
    gone_since: Millis | None
    followers: int
    has_content: bool


class ClaimGate(msgspec.Struct, frozen=True):
    """Whether anything may be claimed, and whether people asked for something."""

    is_paused: bool
    is_wanted: bool
    is_new: bool
    """Whether something was never looked at."""
    is_shared: bool
    """By more than one shelf."""


class RequestedPoll(msgspec.Struct, frozen=True):
    """A watch that a person wants polled now."""

    id: WatchId
    host: str
    shelf_id: ShelfId | None


class WhyNot(msgspec.Struct, frozen=True):
    """Why a look was not asked for: until when it may not be, or that it was asked for already."""

    not_before: Millis | None
    is_asked: bool


class PollAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What a successful poll leaves on its watch."""

    next_check_at: Millis
    why: str
    priority: int
    status: int
    etag: str | None = None
    last_modified: str | None = None
    validators_url: str | None = None
    cache_control: str | None = None
    expires_at: Millis | None = None
    ttl: Millis | None = None
    skip_hours: int = 0
    skip_days: int = 0
    retry_after_until: Millis | None = None
    body_hash: bytes | None = None
    last_full_at: Millis | None = None
    """Now, when it was an unconditional request; None keeps the last one."""
    harvested_at: Millis | None = None
    """Now, when something was read; the first such moment is kept."""
    as_of: Millis | None = None
    """When what the poll went by was read; what ingest gives up later is for the next one. None is now."""
    moved_to: str | None = None
    moved_count: int = 0
    moved_since: Millis | None = None
    suspended_at: Millis | None = None
    suspended_reason: str | None = None


class WatchLease(msgspec.Struct, frozen=True):
    """Which watch, and by which lease."""

    id: WatchId
    lease_token: int


class FeedMetadata(msgspec.Struct, frozen=True, kw_only=True):
    """What a feed says of itself, and what was seen of it."""

    id: FeedId
    now: Millis
    title: str
    site_url: str | None
    description: str | None
    language: str | None
    icon_url: str | None
    hub_url: str | None
    has_unstable_keys: bool


class News(msgspec.Struct, frozen=True):
    """What was read of a feed: itself, and what of it is new or changed."""

    portrait: FeedMetadata
    tasks: tuple[NewTask[ItemBatch], ...]


class Ended(msgspec.Struct, frozen=True):
    """A poll that went well: of which watch, what came of it, and when."""

    watch: ClaimedWatch
    answer: PollAnswer
    now: Millis
    news: News | None = None

    @property
    def lease(self) -> WatchLease:
        """By which it is written."""
        return WatchLease(self.watch.id, self.watch.lease_token)


class PollFailure(msgspec.Struct, frozen=True, kw_only=True):
    """What a failed poll leaves on its watch."""

    next_check_at: Millis
    why: str
    priority: int
    status: int | None
    error: str
    error_code: str
    retry_after_until: Millis | None = None
    gone_since: Millis | None = None
    suspended_at: Millis | None = None
    suspended_reason: str | None = None


class FeedListing(msgspec.Struct, frozen=True):
    """What a feed lists now."""

    feed_id: FeedId
    items: Sequence[FoundItem]


class KnownItem(msgspec.Struct, frozen=True):
    """An item that the feed holds, or had until retention removed it."""

    feed_id: FeedId
    key: str
    link_key: str | None
    content_hash: bytes
    pruned_at: Millis | None = None
    """When retention removed it, or the feed listed it after that."""
