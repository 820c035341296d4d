"""What a database can refuse, the same on both engines.

TsuzukiError
├── Conflict
│   └── UniqueViolation        `on` names the table and columns, or the index
├── Unavailable
│   ├── DatabaseUnavailable    gone, closed or not answering: try again
│   │   └── DiskFull           nothing can be stored until somebody makes room
│   └── Contention             a deadlock was broken by undoing this transaction: try again
└── DatabaseError              a mistake of ours
    ├── ForeignKeyViolation
    ├── CheckViolation         CHECK or NOT NULL
    ├── MisuseError            awaiting something else inside a transaction, nesting one, writing while reading
    └── SchemaRefused          this database, or its engine, is not one that this program was written for
"""

from tsuzuki.model.errors import Conflict, TsuzukiError, Unavailable


class UniqueViolation(Conflict):
    """A row with this key exists. `on` is `table.column` (several: `table.a,b`) or the index's name."""

    def __init__(self, on: str) -> None:
        super().__init__(f"It already exists ({on}).")
        self.on = on


class DatabaseUnavailable(Unavailable):
    """The database cannot be reached or cannot write now.

    The transaction left no trace, save where the server or the disk was lost during its commit: then nobody can know.
    """


class DiskFull(DatabaseUnavailable):
    """The transaction left no trace; what was stored before can still be read."""

    def __init__(self) -> None:
        super().__init__("The disk is full. Nothing can be saved until there is free space again; stored data is safe.")


class Contention(Unavailable):
    """Two transactions waited for each other, or one for too long, and this one was undone."""


class DatabaseError(TsuzukiError):
    """A statement or its use was wrong."""


class ForeignKeyViolation(DatabaseError):
    """A row that is pointed to is missing, or a row that is pointed at was to be deleted."""


class CheckViolation(DatabaseError):
    """A value that the schema forbids."""


class MisuseError(DatabaseError):
    """The rules of `with_tx` were broken."""


class SchemaRefused(DatabaseError):
    """The database or its engine does not fit this program; the message says what to do."""
