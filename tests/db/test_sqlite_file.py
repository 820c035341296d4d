"""Which SQLite is taken, and how its connections are set up."""

from contextlib import closing
from pathlib import Path

import apsw
import pytest

from tsuzuki.db.errors import SchemaRefused
from tsuzuki.db.sqlite_file import check_version, connect, has_wal_reset_race, path_of


@pytest.mark.parametrize(
    ("version", "races"),
    [
        ("3.6.23", False),
        ("3.7.0", True),
        ("3.7.17", True),
        ("3.40.1", True),
        ("3.44.6", True),
        ("3.50.4", True),
        ("3.51.0", True),
        ("3.51.2", True),
        ("3.51.3", False),
        ("3.52.0", False),
        ("3.54.1", False),
        ("4.0.0", False),
    ],
)
def test_a_sqlite_with_the_wal_bug_is_recognised(version, races):
    assert has_wal_reset_race(version) is races


def test_the_start_refuses_such_a_sqlite_and_takes_ours():
    with pytest.raises(SchemaRefused, match=r"SQLite 3\.40\.1 can corrupt its WAL; install apsw"):
        check_version("3.40.1")
    check_version(apsw.sqlite_lib_version())


def test_connections_are_set_up_to_lose_nothing(tmp_path):
    with closing(connect(tmp_path / "store.db")) as connection:
        settings = {
            name: connection.execute(f"pragma {name}").get for name in ("journal_mode", "synchronous", "foreign_keys")
        }
        assert settings == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1}


def test_a_statement_is_planned_once_whatever_is_bound_to_it(tmp_path):
    """Planning anew took longer than most reads; SQLite asks the authorizer whenever it plans."""
    with closing(connect(tmp_path / "store.db")) as connection:
        connection.execute(
            "create table kept (key integer, kind text); create index few on kept (key) where kind = 'a'"
        )
        planned: list[object] = []

        def allow(*about: object) -> int:
            planned.append(about)
            return apsw.SQLITE_OK

        connection.authorizer = allow
        cursor = connection.cursor()
        counts = []
        for kind in ("a", "b", "a"):
            cursor.execute("select key from kept where kind = ? and key = 1", (kind,)).fetchall()
            counts.append(len(planned))
        assert counts[0] > 0
        assert set(counts) == {counts[0]}


def test_the_path_of_a_url_is_kept_whole():
    assert path_of("sqlite:///var/lib/a b.db") == Path("/var/lib/a b.db")
