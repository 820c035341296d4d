"""What an image shows, images as they are stored, and chapters as they are kept."""

import hashlib
from typing import Literal

import msgspec

from tsuzuki.images.decoding import MediaType
from tsuzuki.model.ids import ChapterId, PublicId, ReleaseId, SeriesSourceId
from tsuzuki.model.times import Millis


class ImageSubject(msgspec.Struct, frozen=True):
    """What an image shows: a page, a cover, or whatever is at an address. `thumbnail` is the width of a small one."""

    key: str
    release_id: ReleaseId | None = None
    position: int = -1
    series_source_id: SeriesSourceId | None = None
    thumbnail: int = 0

    @property
    def whole(self) -> "ImageSubject":
        """The same, as it came."""
        return msgspec.structs.replace(self, thumbnail=0)

    def at(self, thumbnail: int) -> "ImageSubject":
        """The same, so wide."""
        return msgspec.structs.replace(self, thumbnail=thumbnail)


def page_of(release_id: ReleaseId, position: int) -> ImageSubject:
    """A page, counted from 0."""
    return ImageSubject(f"page:{release_id}:{position}", release_id=release_id, position=position)


def cover_of(series_source_id: SeriesSourceId) -> ImageSubject:
    """The cover that a source shows of a series."""
    return ImageSubject(f"cover:{series_source_id}", series_source_id=series_source_id)


def at_address(url: str) -> ImageSubject:
    """Whatever an article shows from there."""
    return ImageSubject(f"address:{hashlib.sha256(url.encode()).hexdigest()}")


class Image(msgspec.Struct, frozen=True):
    """A verified image."""

    id: int
    hash: bytes
    media_type: MediaType
    width: int
    height: int
    bytes: int
    used_at: Millis


class NewImage(msgspec.Struct, frozen=True):
    """A verified image whose file is in its place."""

    hash: bytes
    media_type: MediaType
    width: int
    height: int
    bytes: int


class KnownImage(msgspec.Struct, frozen=True):
    """What is known of an image: itself, or why there is none."""

    id: int | None
    hash: bytes | None
    media_type: MediaType | None
    width: int | None
    height: int | None
    bytes: int | None
    used_at: Millis | None
    is_current: bool
    """False when the source shows another one there by now."""
    error: str | None
    failures: int
    retry_at: Millis | None

    @property
    def image(self) -> Image | None:
        """The image, if there is one and it is the one that the source shows."""
        return None if self.id is None or not self.is_current else msgspec.convert(self, Image, from_attributes=True)


class Cover(msgspec.Struct, frozen=True):
    """Where a source shows the cover of a series."""

    source_id: int
    url: str | None


class Evictable(msgspec.Struct, frozen=True):
    """An image that nobody keeps."""

    id: int
    hash: bytes
    bytes: int


CopyStatus = Literal["queued", "running", "done", "failed"]


class Copy(msgspec.Struct, frozen=True):
    """The pages of a release, kept by us."""

    id: int
    release_id: ReleaseId
    status: CopyStatus
    total: int | None


class KeptChapter(msgspec.Struct, frozen=True):
    """A chapter that a shelf keeps, and how far that is."""

    copy_id: int
    release_id: ReleaseId
    chapter_id: ChapterId
    series_id: PublicId
    series_title: str
    number: str | None
    title: str
    language: str | None
    group_name: str | None
    status: CopyStatus
    done: int
    total: int | None
    bytes: int
    error: str | None
    is_available: bool
    """Whether its source still has it."""
    created_at: Millis
