"""Imports as people see them."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from tsuzuki.model.ids import PublicId, ShelfId, UserId
from tsuzuki.model.times import Millis
from tsuzuki.transfer.archive.undo_log import ImportId
from tsuzuki.transfer.foreign import LeftOut

ImportStatus = Literal["shown", "queued", "running", "done", "failed", "undoing", "undone"]
ImportDirection = Literal["import", "undo"]


class ImportPreview(msgspec.Struct, frozen=True, kw_only=True):
    """What is in a file, before anything of it is written."""

    kind: str
    counts: Mapping[str, int]
    """How many groups, feeds, items, series, chapters and bookmarks."""
    known: Mapping[str, int] = {}
    """How many of the feeds and series the shelf follows already."""
    unlinked: Mapping[str, int] = {}
    """Sources that are not on this server, with their series."""
    unlinked_series: int = 0
    left_out: Sequence[LeftOut] = ()


class ReportedPart(msgspec.Struct, frozen=True):
    """What became of one kind of thing."""

    created: int = 0
    existing: int = 0
    left_out: int = 0


class ImportAccount(msgspec.Struct, frozen=True, kw_only=True):
    """What an import did, and what it could not take, with the reasons."""

    parts: Mapping[str, ReportedPart] = {}
    notes: Sequence[str] = ()
    more: int = 0


class ShelfImportRow(msgspec.Struct, frozen=True):
    """An import as it is stored."""

    id: ImportId
    public_id: PublicId
    shelf_id: ShelfId
    user_id: UserId
    name: str
    kind: str
    status: ImportStatus
    preview: ImportPreview
    report: ImportAccount | None
    error: str | None
    part: str | None
    done: int
    total: int
    created_at: Millis
    updated_at: Millis
    finished_at: Millis | None

    @property
    def file_key(self) -> str:
        """Under which its archive is stored until it is imported."""
        return file_key(self.public_id)

    @property
    def is_over(self) -> bool:
        """Whether nothing more happens by itself."""
        return self.status in {"shown", "done", "failed", "undone"}


def file_key(public_id: PublicId) -> str:
    """The key of an import's archive in the file store."""
    return f"{public_id.hex()}.zip"


def plain(value: msgspec.Struct) -> dict[str, Any]:
    """The value as plain JSON types, for a column."""
    built: dict[str, Any] = msgspec.to_builtins(value)
    return built
