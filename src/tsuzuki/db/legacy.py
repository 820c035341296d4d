"""SQLite files of ReedMe and Fusion, our predecessors: recognised, read, and replaced by one of ours.

Their columns differ from version to version, and SQLite puts any type into any column, so each value is taken for what
it is. Everything here blocks; call it in a thread.
"""

import math
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

import apsw
import msgspec

from tsuzuki.db.errors import DatabaseUnavailable, SchemaRefused
from tsuzuki.db.sqlite_file import BUSY_TIMEOUT_MS, check_version, reason_of
from tsuzuki.files.disk import sync
from tsuzuki.model.times import Millis, from_datetime, from_iso

NEEDED = {"groups": {"id"}, "feeds": {"id", "link"}, "items": {"id", "feed_id"}}
"""The tables, and the columns without which nothing can be made of them."""
HEADER = b"SQLite format 3\0"
MAX_TEXT = 2 * 1024 * 1024
"""Bytes of one value; a row that holds more is left out."""
_LEDGERS = {"schema_migrations", "schema_migration"}
_SECONDS_UNTIL = 10**11
"""A number below this counts seconds, above it milliseconds."""
_YEAR_10000 = Millis(253_402_300_800_000)

LegacyId: TypeAlias = int | str | None


class LegacyFeed(msgspec.Struct, frozen=True, kw_only=True):
    """A feed as it was followed."""

    id: LegacyId
    group: str
    """Empty for the default group."""
    name: str
    link: str
    site_url: str | None
    proxy: str
    is_suspended: bool
    etag: str | None
    last_modified: str | None
    next_check_at: Millis | None
    """When it was to be asked again: as it was planned, or as its server wished."""


class LegacyItem(msgspec.Struct, frozen=True, kw_only=True):
    """An item as it was read or not."""

    id: LegacyId
    guid: str
    title: str
    link: str | None
    content: str
    published_at: Millis | None
    unread: bool
    is_bookmarked: bool


class LegacyBookmark(msgspec.Struct, frozen=True, kw_only=True):
    """A snapshot, in a table of its own in the newer files; `item_id` is None once its item was gone."""

    item_id: LegacyId
    link: str
    title: str
    content: str
    feed_name: str
    published_at: Millis | None
    created_at: Millis | None


class LegacyPage(msgspec.Struct, frozen=True):
    """The next items of a feed, which rows were too large, and where to go on; None at the end."""

    items: list[LegacyItem]
    too_large: list[int]
    after: int | None


def is_legacy(path: Path) -> bool:
    """Whether this is a database of before, by its first bytes and the names of its tables.

    It has groups, feeds and items, and no ledger of migrations. Asked at each start: nothing else of it is read.
    """
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            if file.read(len(HEADER)) != HEADER:
                return False
        with _open(path) as connection:
            tables = _tables(connection)
    except OSError as error:
        raise DatabaseUnavailable(f"The database file {path} cannot be read: {error.strerror}.") from error
    except SchemaRefused:
        return False
    return tables >= NEEDED.keys() and not tables & _LEDGERS


def check_legacy(path: Path) -> None:
    """SchemaRefused, with what is wrong, for a file that is no database of before or is damaged anywhere."""
    with _open(path) as connection:
        if not _tables(connection) >= NEEDED.keys():
            raise SchemaRefused(f"{path} is not a database of ReedMe or Fusion: it has no groups, feeds and items.")
        for table, columns in NEEDED.items():
            for column in columns - set(_columns(connection, table)):
                raise SchemaRefused(f"{path} is not a database of ReedMe or Fusion: its {table} have no {column}.")
        [(said,), *_] = connection.execute("pragma quick_check(1)").fetchall()
        if said != "ok":
            raise SchemaRefused(f"{path} is damaged, so nothing was imported: {str(said).splitlines()[-1]}.")


def read_feeds(path: Path) -> list[LegacyFeed]:
    """The feeds of a database of before."""
    with _open(path) as connection:
        groups = {_id(row["id"]): _text(row.get("name")) for _, row in _rows(connection, "groups")}
        default = next(iter(groups), None)
        states = _fetch_states(connection)
        return [
            LegacyFeed(
                id=_id(row["id"]),
                group="" if _id(row.get("group_id")) == default else groups.get(_id(row.get("group_id")), ""),
                name=_text(row.get("name")),
                link=_text(row.get("link")),
                site_url=_text(row.get("site_url")) or None,
                proxy=_text(row.get("proxy") or row.get("req_proxy")),
                is_suspended=_flag(row.get("suspended")),
                **states.get(_id(row["id"]), _NO_STATE),
            )
            for _, row in _rows(connection, "feeds")
        ]


_NO_STATE: dict[str, Any] = {"etag": None, "last_modified": None, "next_check_at": None}


def _fetch_states(connection: apsw.Connection) -> dict[LegacyId, dict[str, Any]]:
    """How each feed was fetched, in a table of its own in the newer files."""
    if "feed_fetch_state" not in _tables(connection):
        return {}
    return {
        _id(row.get("feed_id")): {
            "etag": _text(row.get("etag")) or None,
            "last_modified": _text(row.get("last_modified")) or None,
            "next_check_at": max(
                filter(None, (_moment(row.get(name)) for name in ("next_check_at", "retry_after_until"))), default=None
            ),
        }
        for _, row in _rows(connection, "feed_fetch_state")
    }


def read_items(path: Path, feed_id: LegacyId, *, after: int | None = None, most: int = 100) -> LegacyPage:
    """The next items of one of its feeds, the oldest first."""
    items, too_large, last = [], [], None
    with _open(path) as connection:
        # Both, whatever the columns' types are: SQLite distinguishes 1 and '1' where they have none.
        where = "feed_id in (?, ?) and rowid > ?"
        values = (feed_id, str(feed_id), -(2**63) if after is None else after)
        for last, row in _rows(connection, "items", where, values, most=most):
            if any(isinstance(value, bytes) and len(value) > MAX_TEXT for value in row.values()):
                too_large.append(last)
                continue
            items.append(
                LegacyItem(
                    id=_id(row["id"]),
                    guid=_text(row.get("guid")),
                    title=_text(row.get("title")),
                    link=_text(row.get("link")) or None,
                    content=_text(row.get("content")),
                    published_at=_moment(row.get("pub_date")),
                    unread=row.get("unread") is None or _flag(row["unread"]),
                    is_bookmarked=_flag(row.get("bookmark")),
                )
            )
    return LegacyPage(items, too_large, last if len(items) + len(too_large) == most else None)


def read_bookmarks(path: Path) -> list[LegacyBookmark]:
    """The snapshots of a newer file, the oldest first; older ones have a flag on the item instead."""
    with _open(path) as connection:
        if "bookmarks" not in _tables(connection):
            return []
        return [
            LegacyBookmark(
                item_id=_id(row.get("item_id")),
                link=_text(row.get("link")),
                title=_text(row.get("title")),
                content=_text(row.get("content")),
                feed_name=_text(row.get("feed_name")),
                published_at=_moment(row.get("pub_date")),
                created_at=_moment(row.get("created_at")),
            )
            for _, row in _rows(connection, "bookmarks")
        ]


def back_up(path: Path, into: Path) -> None:
    """A whole copy of a database, what lies in its WAL included; `into` exists only once it is on the disk."""
    part = into.with_name(into.name + ".part")
    part.unlink(missing_ok=True)
    with (
        _open(path) as source,
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


@contextmanager
def _open(path: Path) -> Iterator[apsw.Connection]:
    """A connection that writes nothing. What SQLite says of a file that is none, or is damaged, becomes a sentence."""
    check_version(apsw.sqlite_lib_version())
    try:
        with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
            connection.set_busy_timeout(BUSY_TIMEOUT_MS)  # another starter may be migrating it
            connection.execute("pragma query_only = on").fetchall()
            connection.execute("pragma trusted_schema = off").fetchall()
            connection.execute("select count(*) from sqlite_schema").fetchall()
            yield connection
    except apsw.NotADBError:
        raise SchemaRefused(f"{path} is not a SQLite database.") from None
    except (apsw.CantOpenError, apsw.IOError, apsw.BusyError, apsw.ReadOnlyError) as error:
        raise DatabaseUnavailable(f"The database file {path} cannot be read: {reason_of(error)}.") from error
    except apsw.Error as error:
        raise SchemaRefused(f"{path} is damaged or not a database of ReedMe or Fusion: {error}.") from error


def _tables(connection: apsw.Connection) -> set[str]:
    names = connection.execute("select cast(name as blob) from sqlite_schema where type = 'table'")
    return {_text(name) for (name,) in names}


def _columns(connection: apsw.Connection, table: str) -> list[str]:
    return [str(row[1]) for row in connection.execute(f"pragma table_info({table})")]


_RAW = f"case when typeof({{0}}) in ('text', 'blob') then substr(cast({{0}} as blob), 1, {MAX_TEXT + 1}) else {{0}} end"
"""Text comes as its bytes: not all that SQLite takes for text is."""


def _rows(
    connection: apsw.Connection, table: str, where: str = "true", values: tuple[Any, ...] = (), *, most: int = -1
) -> Iterator[tuple[int, dict[str, Any]]]:
    """All rows that were not deleted softly, with their numbers, by the columns that this version has."""
    columns = _columns(connection, table)
    taken = ", ".join(_RAW.format('"' + column.replace('"', '""') + '"') for column in columns)
    alive = " and coalesce(deleted_at, 0) in (0, '')" if "deleted_at" in columns else ""
    query = f"select rowid, {taken} from {table} where {where}{alive} order by rowid limit {most}"  # noqa: S608  names of ours
    for number, *row in connection.execute(query, values):
        yield number, dict(zip(columns, row, strict=True))


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        value = value[:MAX_TEXT].decode(errors="replace")
    return "" if value is None else str(value).replace("\0", "").strip()


def _id(value: Any) -> LegacyId:
    """The same for 7, 7.0 and '7', as one table may have it and another not."""
    if value is None or isinstance(value, int):
        return value
    text = _text(value).removesuffix(".0")
    try:
        return int(text) if text.isascii() and len(text) < 20 else text
    except ValueError:
        return text


def _flag(value: Any) -> bool:
    return bool(value) if isinstance(value, int | float) else _text(value).lower() not in {"", "0", "false", "f", "no"}


def _moment(value: Any) -> Millis | None:
    """Seconds, milliseconds, or one of the texts that Go's drivers write; None for what is no time."""
    if isinstance(value, int | float):
        if not math.isfinite(value) or value <= 0:
            return None
        moment = int(value) * 1000 if value < _SECONDS_UNTIL else int(value)
        return Millis(moment) if moment < _YEAR_10000 else None
    text = _text(value)[:40]
    try:
        return from_iso(text.removesuffix(" UTC").replace(" +", "+").replace(" -", "-"))
    except (ValueError, OverflowError):
        pass
    try:
        return from_datetime(datetime.strptime(text[:19], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        return None
