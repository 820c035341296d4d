"""Databases as ReedMe and Fusion left them."""

from contextlib import closing
from pathlib import Path

import apsw

SCHEMA = """
create table groups (id integer primary key, created_at datetime, updated_at datetime, deleted_at integer, name text);
create table feeds (id integer primary key, created_at datetime, updated_at datetime, deleted_at integer, name text,
  link text, last_build datetime, failure text, failures integer, suspended numeric, req_proxy text, group_id integer);
create table items (id integer primary key, created_at datetime, updated_at datetime, deleted_at integer, title text,
  guid text, link text, content text, pub_date datetime, unread numeric, bookmark numeric, feed_id integer);
insert into groups (id, name) values (1, 'Default'), (2, 'News');
"""


def a_legacy_file(path: Path, *, feeds: int = 2, items: int = 5, wal: bool = True) -> Path:
    """Feeds with items, the first of each read and the second kept; one feed whose link is none, one deleted softly."""
    with closing(apsw.Connection(str(path))) as connection:
        if wal:
            connection.execute("pragma journal_mode = wal").fetchall()
        connection.execute(SCHEMA)
        for feed in range(1, feeds + 1):
            row = (feed, f"Feed {feed}", f"https://example.org/{feed}", feed % 2, 1 + feed % 2)
            connection.execute("insert into feeds (id, name, link, suspended, group_id) values (?, ?, ?, ?, ?)", row)
            connection.executemany(
                "insert into items (feed_id, guid, title, link, content, pub_date, unread, bookmark)"
                " values (?, ?, ?, ?, ?, '2024-01-02 15:04:05.123+00:00', ?, ?)",
                [
                    (
                        *(feed, f"{feed}-{item}", f"Item {item}", f"https://example.org/{feed}/{item}"),
                        *("<p>Text<script>x()</script></p>", item > 0, item == 1),
                    )
                    for item in range(items)
                ],
            )
        connection.execute("insert into feeds (id, name, link, group_id) values (98, 'Bad', 'nonsense', 1)")
        connection.execute(
            "insert into feeds (id, name, link, group_id, deleted_at) values (99, 'Gone', 'https://x.org/', 1, 7)"
        )
    return path


def a_newer_file(path: Path) -> Path:
    """With a table of snapshots: of an item, of one that is gone, one without a link, one of a feed that is refused."""
    a_legacy_file(path, feeds=1, items=3)
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute("update items set bookmark = 0")
        connection.execute(
            "create table bookmarks (id integer primary key, item_id integer, link text, title text, content text,"
            " pub_date integer, feed_name text, created_at integer);"
            "create table schema_migrations (version integer)"
        )
        connection.execute(
            "create table feed_fetch_state (feed_id integer primary key, etag text, last_modified text,"
            " next_check_at integer, retry_after_until integer)"
        )
        item_id = connection.execute("select id from items where guid = '1-2'").fetchall()[0][0]
        connection.executemany(
            "insert into bookmarks (item_id, link, title, content, pub_date, feed_name, created_at)"
            " values (?, ?, ?, ?, 1704207845, ?, 1704207900)",
            [
                (item_id, "https://example.org/1/2", "As it was", "<p>Then<script>x()</script></p>", "Feed 1"),
                (None, "https://example.org/gone", "Gone", "<p>Gone</p>", "Lost"),
                (None, "", "No link", "", "Lost"),
                (12345, "javascript:x()", "Elsewhere", "", "Bad"),
            ],
        )
    return path


def counts(path: Path) -> tuple[str, int]:
    """Whether the file is of before or ours, and how many items it has; it must be whole."""
    with closing(apsw.Connection(str(path))) as connection:
        assert connection.execute("pragma integrity_check").fetchall() == [("ok",)]
        tables = {name for (name,) in connection.execute("select name from sqlite_schema where type = 'table'")}
        kind, table = ("ours", "entry") if "schema_migration" in tables else ("before", "items")
        [(count,)] = connection.execute(f"select count(*) from {table}").fetchall()
    assert isinstance(count, int)
    return kind, count
