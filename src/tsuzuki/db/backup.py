"""A copy of a SQLite file as it is at one moment, while others write to it."""

from contextlib import closing
from pathlib import Path

import apsw

from tsuzuki.db.errors import DatabaseError, SchemaRefused
from tsuzuki.db.sqlite_file import connect, connect_bare, make_private, translated
from tsuzuki.files.disk import sync


def back_up(source: Path, target: Path) -> int:
    """Write the database into a new file, whole or not at all; its size. Blocks: call it in a thread.

    The copy is one file without a WAL, read back and checked before it gets its name.
    """
    if not source.is_file():
        raise SchemaRefused(f"There is no database at {source}.")
    if target.exists():
        raise SchemaRefused(f"{target} already exists and is not overwritten. Choose another name.")
    if not target.parent.is_dir():
        raise SchemaRefused(f"There is no folder {target.parent}.")
    part = target.with_name(f"{target.name}.part")
    part.unlink(missing_ok=True)
    make_private(part)
    try:
        with closing(connect(source)) as connection:
            connection.execute("vacuum into ?", (str(part),))
        _check(part)
        sync(part)
        part.rename(target)
        sync(target.parent)
    except apsw.Error as error:
        raise translated(error) from error
    except OSError as error:
        raise DatabaseError(f"{target} cannot be written: {error.strerror}.") from error
    finally:
        part.unlink(missing_ok=True)
    return target.stat().st_size


def _check(file: Path) -> None:
    with closing(connect_bare(file)) as connection:
        said = connection.execute("pragma integrity_check").get
        if said != "ok":
            raise DatabaseError(f"The copy is damaged: {said}.")
