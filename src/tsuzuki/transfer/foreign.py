"""What a foreign file says, as lines of an archive of ours: every importer ends here, and one import takes it on."""

from collections.abc import Sequence

import msgspec

from tsuzuki.transfer.archive.format import (
    ArchivedChapter,
    ArchivedSeries,
    ArchivedSource,
    ArchiveLine,
    BookmarkLine,
    FeedLine,
    GroupLine,
)


class LeftOut(msgspec.Struct, frozen=True):
    """Something in a file that is not imported, how much of it, and why."""

    what: str
    count: int
    why: str


class UnlinkedSource(msgspec.Struct, frozen=True):
    """A source that this server does not have, and how many series of it are in a file."""

    name: str
    series: int


class ForeignLines(msgspec.Struct, frozen=True, kw_only=True):
    """Lines of an archive by their parts, and what could not become one."""

    groups: Sequence[GroupLine] = ()
    sources: Sequence[ArchivedSource] = ()
    """Those of this server that series are linked to."""
    feeds: Sequence[FeedLine] = ()
    series: Sequence[ArchivedSeries] = ()
    chapters: Sequence[ArchivedChapter] = ()
    bookmarks: Sequence[BookmarkLine] = ()
    left_out: Sequence[LeftOut] = ()
    unlinked: Sequence[UnlinkedSource] = ()
    backup_rest: bytes | None = None
    """What a backup of Mihon says beside series, for the next one that is exported."""

    def parts(self) -> dict[str, Sequence[ArchiveLine]]:
        """The lines by the names of the archive's parts."""
        return {
            "groups.jsonl": self.groups,
            "feeds.jsonl": self.feeds,
            "sources.jsonl": self.sources,
            "series.jsonl": self.series,
            "chapters.jsonl": self.chapters,
            "bookmarks.jsonl": self.bookmarks,
        }
