"""A backup is the database of one moment, whole or not there."""

import asyncio
import os
import threading
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.db.copy_builders import NOW, filled
from tsuzuki.cli import main
from tsuzuki.db import DatabaseOptions
from tsuzuki.db.backup import back_up
from tsuzuki.db.errors import SchemaRefused
from tsuzuki.db.migrate import migrate
from tsuzuki.db.sqlite_file import connect


@pytest.fixture
def file(tmp_path: Path) -> Path:
    asyncio.run(filled(tmp_path / "tsuzuki.db", 2_000, NOW))
    return tmp_path / "tsuzuki.db"


def sums(file: Path) -> tuple[int, int]:
    with closing(connect(file)) as connection:
        [(count, total)] = connection.execute("select count(*), sum(sort_at) from item")
        assert isinstance(count, int)
        assert isinstance(total, int)
        return count, total


def test_a_backup_made_while_others_write_is_of_one_moment(file, tmp_path):
    stop = threading.Event()

    def move() -> None:
        with closing(connect(file)) as writer:
            while not stop.is_set():  # the sum stays the same over every transaction, not over every statement
                with writer:
                    writer.execute("update item set sort_at = sort_at + 1 where id = 1")
                    writer.execute("update item set sort_at = sort_at - 1 where id = 2000")

    before = sums(file)
    thread = threading.Thread(target=move)
    thread.start()
    try:
        for number in range(5):
            back_up(file, tmp_path / f"backup-{number}.db")
    finally:
        stop.set()
        thread.join()
    assert {sums(tmp_path / f"backup-{number}.db") for number in range(5)} == {before}
    assert not list(tmp_path.glob("*.part"))


def test_nothing_is_overwritten_and_what_cannot_be_written_leaves_nothing(file, tmp_path):
    (tmp_path / "mine").write_text("precious")
    with pytest.raises(SchemaRefused, match="is not overwritten"):
        back_up(file, tmp_path / "mine")
    assert (tmp_path / "mine").read_text() == "precious"
    with pytest.raises(SchemaRefused, match="There is no folder"):
        back_up(file, tmp_path / "nowhere" / "backup.db")
    with pytest.raises(SchemaRefused, match="There is no database"):
        back_up(tmp_path / "none.db", tmp_path / "backup.db")
    assert not (tmp_path / "backup.db").exists()


def test_a_backup_serves_in_place_of_the_database(file, tmp_path, monkeypatch):
    monkeypatch.setattr("tsuzuki.log.set_up_logging", lambda **_: None)
    for name in [name for name in os.environ if name.startswith("TSUZUKI_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("TSUZUKI_DATA_DIR", str(tmp_path))
    done = CliRunner().invoke(main, ["backup", str(tmp_path / "backup.db")])
    assert done.exit_code == 0, done.output
    assert "bytes, checked" in done.output
    monkeypatch.setenv("TSUZUKI_DATABASE_URL", f"sqlite:///{tmp_path}/backup.db")
    assert CliRunner().invoke(main, ["migrate"]).output.endswith(": nothing to do.\n")
    monkeypatch.setenv("TSUZUKI_DATABASE_URL", "postgresql://127.0.0.1:1/x")
    assert "pg_dump" in CliRunner().invoke(main, ["backup", str(tmp_path / "other.db")]).output


def test_database_wal_and_backup_are_readable_by_the_owner_only(tmp_path):
    """Hashes of passwords and keys of channels are in them; the folder may be anybody's."""
    path, backup = tmp_path / "tsuzuki.db", tmp_path / "backup.db"
    before = os.umask(0o022)
    try:
        asyncio.run(migrate(DatabaseOptions(f"sqlite://{path}"), now=0))
        with closing(connect(path)) as connection:
            connection.execute("pragma user_version = 7")
            files = [path, path.with_name("tsuzuki.db-wal")]
            assert [file.stat().st_mode & 0o777 for file in files] == [0o600, 0o600]
        back_up(path, backup)
    finally:
        os.umask(before)
    assert backup.stat().st_mode & 0o777 == 0o600
