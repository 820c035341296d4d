"""SQLite files of ReedMe and Fusion, which came before: recognised, read, and swapped for one of ours.

Their columns differ from version to version, so each is taken where it exists. Everything here blocks; call it in a
thread.
"""

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw
import msgspec

from tsuzuki.db.disk import sync
from tsuzuki.db.errors import DatabaseUnavailable, SchemaRefused
from tsuzuki.db.sqlite_file import check_version, reason_of
from tsuzuki.model.times import Millis, from_datetime, from_iso

TABLES = {"groups", "feeds", "items"}
_LEDGERS = {"schema_migrations", "schema_migration"}
_SECONDS_UNTIL = 10**11
"""A number below this counts seconds, above it milliseconds."""


class LegacyFeed(msgspec.Struct, frozen=True, kw_only=True):
    """A feed as it was followed."""

    id: int
    group: str
    """Empty for the default group."""
    name: str
    link: str
    site_url: str | None
    proxy: str
    is_suspended: bool


class LegacyItem(msgspec.Struct, frozen=True, kw_only=True):
    """An item as it was read or not."""

    id: int
    guid: str
    title: str
    link: str | None
    content: str
    published_at: Millis | None
    unread: bool
    is_bookmarked: bool


class LegacyBookmark(msgspec.Struct, frozen=True, kw_only=True):
    """A snapshot, in a table of its own in the newer files; `item_id` is None once its item was gone."""

    item_id: int | None
    link: str
    title: str
    content: str
    feed_name: str
    published_at: Millis | None
    created_at: Millis | None


def is_legacy(path: Path) -> bool:
    """Whether this is a database of before: groups, feeds and items, and no ledger of migrations."""
    if not path.is_file() or not path.stat().st_size:
        return False
    try:
        with closing(_open(path)) as connection:
            tables = _tables(connection)
    except SchemaRefused:
        return False
    return tables >= TABLES and not tables & _LEDGERS


def read_feeds(path: Path) -> list[LegacyFeed]:
    """The feeds of a database of before; SchemaRefused for a file that is none."""
    with closing(_open(path)) as connection:
        if not _tables(connection) >= TABLES:
            raise SchemaRefused(f"{path} is no database of ReedMe or Fusion: it has no groups, feeds and items.")
        groups = {row["id"]: _text(row.get("name")) for row in _rows(connection, "groups")}
        default = min(groups, default=None)
        return [
            LegacyFeed(
                id=row["id"],
                group="" if row.get("group_id") == default else groups.get(row.get("group_id"), ""),
                name=_text(row.get("name")),
                link=_text(row.get("link")),
                site_url=_text(row.get("site_url")) or None,
                proxy=_text(row.get("proxy") or row.get("req_proxy")),
                is_suspended=bool(row.get("suspended")),
            )
            for row in _rows(connection, "feeds")
        ]


def read_items(path: Path, feed_id: int) -> list[LegacyItem]:
    """The items of one of its feeds, the oldest first."""
    with closing(_open(path)) as connection:
        return [
            LegacyItem(
                id=row["id"],
                guid=_text(row.get("guid")),
                title=_text(row.get("title")),
                link=_text(row.get("link")) or None,
                content=_text(row.get("content")),
                published_at=_moment(row.get("pub_date")),
                unread=row.get("unread") is None or bool(row["unread"]),
                is_bookmarked=bool(row.get("bookmark")),
            )
            for row in _rows(connection, "items", "feed_id = ?", feed_id)
        ]


def read_bookmarks(path: Path) -> list[LegacyBookmark]:
    """The snapshots of a newer file, the oldest first; older ones have a flag on the item instead."""
    with closing(_open(path)) as connection:
        if "bookmarks" not in _tables(connection):
            return []
        return [
            LegacyBookmark(
                item_id=row.get("item_id"),
                link=_text(row.get("link")),
                title=_text(row.get("title")),
                content=_text(row.get("content")),
                feed_name=_text(row.get("feed_name")),
                published_at=_moment(row.get("pub_date")),
                created_at=_moment(row.get("created_at")),
            )
            for row in _rows(connection, "bookmarks")
        ]


def back_up(path: Path, into: Path) -> None:
    """A whole copy of a database, what lies in its WAL included; `into` exists only once it is on the disk."""
    part = into.with_name(into.name + ".part")
    part.unlink(missing_ok=True)
    with (
        closing(_open(path)) as source,
        closing(apsw.Connection(str(part))) as target,
        target.backup("main", source, "main") as backup,
    ):
        while not backup.done:
            backup.step(1000)
    sync(part)
    part.replace(into)
    sync(into.parent)


def swap(new: Path, old: Path) -> None:
    """Put a closed database in the place of another: whoever looks finds the old one whole or the new one whole."""
    # A WAL that was left beside the old file would be taken for the new one's.
    for path in (old, new):
        with closing(apsw.Connection(str(path))) as connection:
            [(mode,)] = connection.execute("pragma journal_mode = delete").fetchall()
        if mode != "delete":
            raise DatabaseUnavailable(f"{path} is in use by another program; stop that first.")
        sync(path)
    new.replace(old)
    sync(old.parent)


def _open(path: Path) -> apsw.Connection:
    check_version(apsw.sqlite_lib_version())
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        connection.execute("pragma query_only = on").fetchall()
        connection.execute("select count(*) from sqlite_schema").fetchall()
    except apsw.NotADBError:
        raise SchemaRefused(f"{path} is not a SQLite database.") from None
    except (apsw.CantOpenError, apsw.IOError, apsw.BusyError, apsw.CorruptError) as error:
        raise DatabaseUnavailable(f"The database file {path} cannot be read: {reason_of(error)}") from error
    return connection


def _tables(connection: apsw.Connection) -> set[str]:
    return {str(name) for (name,) in connection.execute("select name from sqlite_schema where type = 'table'")}


def _rows(connection: apsw.Connection, table: str, where: str = "true", *values: Any) -> Iterator[dict[str, Any]]:
    """All rows that were not deleted softly, by the columns that this version has."""
    columns = [str(row[1]) for row in connection.execute(f"pragma table_info({table})")]
    alive = " and coalesce(deleted_at, 0) in (0, '')" if "deleted_at" in columns else ""
    for row in connection.execute(f"select * from {table} where {where}{alive} order by id", values):  # noqa: S608  names of ours
        yield dict(zip(columns, row, strict=True))


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    return "" if value is None else str(value).replace("\0", "").strip()


def _moment(value: Any) -> Millis | None:
    """Seconds, milliseconds, or one of the texts that Go's drivers write; None for what is no time."""
    if isinstance(value, int | float):
        number = int(value)
        return None if number <= 0 else Millis(number * 1000 if number < _SECONDS_UNTIL else number)
    text = _text(value)[:40]
    try:
        return from_iso(text.removesuffix(" UTC").replace(" +", "+").replace(" -", "-"))
    except ValueError:
        pass
    try:
        return from_datetime(datetime.strptime(text[:19], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC))
    except ValueError:
        return None
