"""Migrations: those that this program has, those that a database has, and what is left to apply."""

import hashlib
import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from importlib.resources import files

import msgspec
import structlog

from tsuzuki.db.errors import DatabaseError, SchemaRefused
from tsuzuki.db.queries import Engine

RECREATE = "tsuzuki migrate --recreate"
NOT_OURS = "This database has tables that Tsuzuki did not create. Use another database."
REEDME_TABLES = frozenset({"groups", "feeds", "items"})
OF_REEDME = (
    "This is a database of ReedMe. Use another one for Tsuzuki, start it, and import the feeds with: "
    "tsuzuki import reedme FILE"
)

LEDGER = """
create table if not exists schema_migration (
  version integer primary key, name text not null, checksum text not null, applied_at bigint not null
)"""
_REMOVES = re.compile(r"^-- removes: ([^:\n]+): (select .+)$", re.MULTILINE)
_log = structlog.stdlib.get_logger("tsuzuki.migrate")
_FILE = re.compile(r"(\d{4})_(\w+)\.sql")


class Migration(msgspec.Struct, frozen=True):
    """One migration."""

    version: int
    name: str
    sql: str
    checksum: str

    @property
    def removes(self) -> tuple[str, str] | None:
        """What people had that the migration removes, and the query that counts it for the log."""
        found = _REMOVES.search(self.sql)
        return None if found is None else (found[1], found[2])

    def log_removed(self, count: object) -> None:
        """Log it, so that nobody wonders where it went."""
        if self.removes is not None and count:
            _log.warning("removed_by_migration", step=f"{self.version:04d}", what=self.removes[0], count=count)

    def ledger_row(self, now: int) -> tuple[int, str, str, int]:
        """Its row in the table of migrations."""
        return (self.version, self.name, self.checksum, now)

    def failure(self, error: Exception) -> DatabaseError:
        """The error to raise when it fails."""
        return DatabaseError(f"Migration {self.version:04d} ({self.name}) failed and changed nothing: {error}")


class Applied(msgspec.Struct, frozen=True):
    """A migration that was applied to a database."""

    version: int
    checksum: str


class MigrationOutcome(msgspec.Struct, frozen=True):
    """What a run did, or with a dry run would do."""

    before: int
    after: int
    steps: tuple[Migration, ...]


def available(engine: Engine) -> list[Migration]:
    """The migrations of this program, in order."""
    folder = files("tsuzuki.db.migrations") / engine
    steps = []
    for file in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if match := _FILE.fullmatch(file.name):
            sql = file.read_text("utf-8")
            steps.append(Migration(int(match[1]), match[2], sql, hashlib.sha256(sql.encode()).hexdigest()))
    return steps


def plan(
    applied: Sequence[Applied], known: Sequence[Migration], *, other_tables: AbstractSet[str] = frozenset()
) -> list[Migration]:
    """The migrations to apply; SchemaRefused unless those applied are how this program's begin."""
    if not applied and other_tables:
        raise SchemaRefused(OF_REEDME if other_tables >= REEDME_TABLES else NOT_OURS)
    newest = known[-1].version if known else 0
    if applied and applied[-1].version > newest:
        raise SchemaRefused(
            f"This database was made by a newer Tsuzuki (schema {applied[-1].version}, this program knows {newest}). "
            "Upgrade Tsuzuki, or restore an older backup."
        )
    for done, step in zip(applied, known, strict=False):
        if (done.version, done.checksum) != (step.version, step.checksum):
            raise SchemaRefused(
                f"Migration {step.version:04d} of this database differs from the one in this program. "
                f"To recreate a development database, empty, run: {RECREATE}"
            )
    return list(known[len(applied) :])


def outcome(applied: Sequence[Applied], steps: Sequence[Migration], *, dry_run: bool) -> MigrationOutcome:
    """Before and after, as the last steps' numbers."""
    before = applied[-1].version if applied else 0
    after = before if dry_run or not steps else steps[-1].version
    return MigrationOutcome(before, after, tuple(steps))
