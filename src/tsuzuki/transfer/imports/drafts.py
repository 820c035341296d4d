"""The lines of a foreign file become an archive on disk, however many there are."""

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

import msgspec

from tsuzuki.model.times import Millis
from tsuzuki.sources.policy import match_key, title_part
from tsuzuki.transfer.archive.container import MAX_LINE, ShelfArchiveWriter, encoded
from tsuzuki.transfer.archive.format import PARTS, ArchivedSeries, ArchivedSource, GroupLine, Person
from tsuzuki.transfer.foreign import ForeignLines, LeftOut
from tsuzuki.transfer.imports.types import ImportPreview

_AT_THE_END = frozenset({"groups.jsonl", "sources.jsonl"})
"""Parts whose lines are each written once, whatever says them again."""
_IN_MEMORY = 4 * 1024 * 1024
MOST_NAMED = 200
"""Sources and reasons that a preview names; the rest are counted together."""


class ArchiveDraft:
    """Collects lines part by part, since an archive is written one part after another."""

    def __init__(self, files: dict[str, IO[bytes]]) -> None:
        self._files = files
        self._counts = dict.fromkeys(PARTS, 0)
        self._groups: dict[str, None] = {}
        self._sources: dict[str, ArchivedSource] = {}
        self._rest: bytes | None = None
        self._left: dict[tuple[str, str], int] = {}
        self._unlinked: dict[str, int] = {}
        self.follows = 0
        self.links: list[str] = []
        self.places: list[tuple[str, str, int, str]] = []
        """Places of series: a source's slug and key, and the id and address in the backup."""
        self.titles: set[str] = set()
        """Titles of series that only have a title, normalised for comparison."""

    def add(self, lines: ForeignLines) -> None:
        """Add these. A group is made for each name that something stands in."""
        for group in lines.groups:
            self._groups.setdefault(group.name)
        for name in [feed.group for feed in lines.feeds] + [one.follow.group for one in lines.series if one.follow]:
            if name is not None:
                self._groups.setdefault(name)
        self._sources |= {source.slug: source for source in lines.sources}
        for part, some in lines.parts().items():
            if part not in _AT_THE_END:
                for line in some:
                    self._put(part, encoded(line))
        self.follows += sum(one.follow is not None for one in lines.series)
        self.links += [feed.link for feed in lines.feeds]
        self._note_names(lines.series)
        self._rest = lines.backup_rest if lines.backup_rest is not None else self._rest
        for left in lines.left_out:
            self._left[left.what, left.why] = self._left.get((left.what, left.why), 0) + left.count
        for source in lines.unlinked:
            self._unlinked[source.name] = self._unlinked.get(source.name, 0) + source.series

    def _note_names(self, lines: Iterable[ArchivedSeries]) -> None:
        """Note the places and titles by which a shelf may have these series already."""
        for series in lines:
            self.places += [(place.source, place.key, 0, "") for place in series.sources]
            self.places += [("", "", backup.source, backup.url) for backup in series.backups]
            if not series.sources and not series.backups and series.author is None:
                self.titles.add(title_part(match_key(series.title, None)))

    def _put(self, part: str, raw: bytes) -> None:
        """Add the line unless an archive must not contain it: one such line makes an archive invalid."""
        why = _refusal(part, raw)
        if why is not None:
            left = part.removesuffix(".jsonl"), why
            self._left[left] = self._left.get(left, 0) + 1
            return
        self._files[part].write(raw)
        self._counts[part] += 1

    def preview(self, kind: str) -> ImportPreview:
        """What there is by now."""
        counts = self._counts | {"groups.jsonl": len(self._groups), "follows.jsonl": self.follows}
        left = [LeftOut(what, count, why) for (what, why), count in self._left.items()]
        return ImportPreview(
            kind=kind,
            counts={part.removesuffix(".jsonl"): count for part, count in counts.items() if count},
            left_out=left[:MOST_NAMED],
            unlinked=dict(sorted(self._unlinked.items(), key=lambda each: -each[1])[:MOST_NAMED]),
            unlinked_series=sum(self._unlinked.values()),
        )

    def write(self, path: Path, now: Millis) -> None:
        """The archive."""
        with path.open("wb") as file:
            writer = ShelfArchiveWriter(file, now)
            for name in PARTS:
                with writer.part(name) as part:
                    if name == "sources.jsonl":
                        part.write(self._sources.values())
                    elif name == "groups.jsonl":
                        part.write(GroupLine(name=group, position=n + 1) for n, group in enumerate(self._groups))
                    elif name == "person.jsonl":
                        part.write([] if self._rest is None else [Person(backup_rest=self._rest)])
                    else:
                        self._files[name].seek(0)
                        for raw in self._files[name]:
                            part.write_encoded(raw)
            writer.close()


def _refusal(part: str, raw: bytes) -> str | None:
    """Why an archive must not contain this line; None if it may."""
    if len(raw) > MAX_LINE:
        return f"It is longer than {MAX_LINE:,} bytes."
    try:
        msgspec.json.decode(raw, type=PARTS[part])
    except msgspec.ValidationError as error:
        return f"Something in them is too long or out of range ({str(error).removesuffix('.')})."
    return None


@contextmanager
def archive_draft() -> Iterator[ArchiveDraft]:
    """A draft whose files are gone at the end."""
    with ExitStack() as stack:
        yield ArchiveDraft({name: stack.enter_context(_spool()) for name in PARTS})


def _spool() -> IO[bytes]:
    return tempfile.SpooledTemporaryFile(_IN_MEMORY)
