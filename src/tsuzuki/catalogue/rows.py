"""Rows of the catalogue."""

import msgspec

from tsuzuki.model.ids import ChapterId, ReleaseId, SeriesSourceId, SourceId
from tsuzuki.model.times import Millis


class Release(msgspec.Struct, frozen=True):
    """A release, as far as its pages need it."""

    id: ReleaseId
    chapter_id: ChapterId
    series_source_id: SeriesSourceId
    source_id: SourceId
    url: str
    real_url: str | None
    page_count: int
    pages_fetched_at: Millis | None
    is_readable: bool


class PageRow(msgspec.Struct, frozen=True):
    """One page; `image_url` is None where it takes another call to learn it."""

    position: int
    url: str
    image_url: str | None
