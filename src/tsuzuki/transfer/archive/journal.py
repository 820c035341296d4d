"""The report of an import: what became of each line."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Literal

import msgspec

from tsuzuki.transfer.archive.container import NumberedLine

Outcome = Literal["created", "existing", "left_out"]

MOST_NOTES = 1_000


class LineCounts(msgspec.Struct, frozen=True):
    """How many lines of a part are new here, were here already, or could not come along."""

    created: int = 0
    existing: int = 0
    left_out: int = 0
    why: str = ""
    """Notes about all that was left out."""

    def __add__(self, other: "LineCounts") -> "LineCounts":
        return LineCounts(self.created + other.created, self.existing + other.existing, self.left_out + other.left_out)


class ImportReport(msgspec.Struct, frozen=True):
    """What an import did."""

    parts: Mapping[str, LineCounts]
    notes: tuple[str, ...]
    """A sentence for each line that was cleaned or left out, and why."""
    more: int
    """How many sentences there would be beyond these."""


class ImportJournal:
    """Collects the report. It does not grow with the archive."""

    def __init__(self) -> None:
        self._parts: dict[str, LineCounts] = {}
        self._notes: list[str] = []
        self._more = 0
        self._reasons: dict[str, Counter[str]] = defaultdict(Counter)
        self.part = ""
        self.line = 0

    def count(self, part: str, counts: LineCounts) -> None:
        """Count these lines."""
        self._parts[part] = self._parts.get(part, LineCounts()) + counts
        if counts.left_out and counts.why:
            self._reasons[part][counts.why] += counts.left_out

    def one(self, part: str, outcome: Outcome) -> None:
        """Count one line."""
        self.count(part, msgspec.structs.replace(LineCounts(), **{outcome: 1}))

    def note(self, numbered: NumberedLine, why: str) -> None:
        """Note something about a line."""
        if len(self._notes) < MOST_NOTES:
            self._notes.append(f"{numbered.part}:{numbered.number}: {why}")
        else:
            self._more += 1

    def leave_out(self, numbered: NumberedLine, why: str) -> None:
        """Note a line that could not be imported."""
        self.note(numbered, why)
        self.one(numbered.part, "left_out")

    def result(self) -> ImportReport:
        """The report."""
        counted = [
            f"{part}: {count:,} {why}" for part, reasons in self._reasons.items() for why, count in reasons.items()
        ]
        return ImportReport(dict(self._parts), (*self._notes, *counted), self._more)
