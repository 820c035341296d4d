"""A database that can only be read stops the start with one line that says so."""

import contextlib
import ctypes
import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import apsw
import asyncpg
import pytest

from tests.app import in_settings
from tests.transfer.reedme_files import a_legacy_file
from tsuzuki.db import DatabaseOptions
from tsuzuki.db.migrate import migrate

PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 24, 1, 2
_libc = ctypes.CDLL(None)


def obey_permissions() -> None:
    """Also as root, who may otherwise write whatever is read-only."""
    for power in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
        _libc.prctl(PR_CAPBSET_DROP, power, 0, 0, 0)


def start(folder: Path, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    said = {f"TSUZUKI_{name}": value for name, value in variables.items()}
    environ = {name: value for name, value in os.environ.items() if not name.startswith("TSUZUKI_")}
    return subprocess.run(
        [sys.executable, "-m", "tsuzuki", *command],
        env={**environ, "TSUZUKI_DATA_DIR": str(folder), **said},
        preexec_fn=obey_permissions,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@contextlib.contextmanager
def modes(*pairs: tuple[Path, int]):
    """These permissions, until the end of the block."""
    before = [(path, path.stat().st_mode) for path, _ in pairs]
    try:
        for path, mode in pairs:
            path.chmod(mode)
        yield
    finally:
        for path, mode in reversed(before):
            path.chmod(mode)


def only_line(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 1, done.stderr
    [line] = done.stderr.splitlines()
    return line


@pytest.mark.parametrize("journal", ["delete", "wal"])
async def test_a_file_or_folder_that_is_read_only_is_named(tmp_path, journal):
    folder = tmp_path / "data"
    folder.mkdir()
    file = folder / "tsuzuki.db"
    await migrate(DatabaseOptions(f"sqlite://{file}"), now=0)
    with contextlib.closing(apsw.Connection(str(file))) as connection:
        connection.execute(f"pragma journal_mode = {journal}").fetchall()
    for command in (["serve", "--port", "0"], ["user", "add", "x", "--role", "reader"]):
        with modes((file, 0o400)):
            said = only_line(start(folder, *command))
        assert said == f"Error: The database file {file} is read-only: this user cannot write to it."
        with modes((folder, 0o500)):
            said = only_line(start(folder, *command))
        assert said.startswith(f"Error: The folder {folder} is read-only: ")


@pytest.mark.parametrize("mode", [0o500, 0o000])
def test_an_empty_folder_that_is_read_only_is_named(tmp_path, mode):
    folder = tmp_path / "data"
    folder.mkdir()
    with modes((folder, mode)):
        assert only_line(start(folder, "serve", "--port", "0")).startswith(f"Error: The folder {folder} is read-only: ")


def test_a_read_only_old_database_is_not_adopted(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    file = a_legacy_file(folder / "tsuzuki.db", wal=False)
    before = file.read_bytes()
    with modes((folder, 0o500)):
        assert only_line(start(folder, "serve", "--port", "0")).startswith(f"Error: The folder {folder} is read-only: ")
    assert (file.read_bytes(), list(folder.iterdir())) == (before, [file])


@pytest.mark.parametrize("engine", ["postgres"])
async def test_a_server_that_only_reads_is_told(database_url, tmp_path):
    name = urlsplit(database_url).path.removeprefix("/")
    server = await asyncpg.connect(database_url)
    await server.execute(f'alter database "{name}" set default_transaction_read_only = on')
    try:
        done = start(tmp_path, "serve", "--port", "0", DATABASE_URL=in_settings(database_url))
        assert only_line(done).startswith(
            "Error: This user can only read from PostgreSQL: default_transaction_read_only"
        )
    finally:
        await server.execute("set transaction_read_only = off")
        await server.execute("set default_transaction_read_only = off")
        await server.execute(f'alter database "{name}" reset default_transaction_read_only')
        await server.close()


@pytest.mark.parametrize("engine", ["postgres"])
@pytest.mark.parametrize("may_read", [True, False])
async def test_a_user_who_may_not_write_is_told(database_url, tmp_path, may_read):
    role = f"reader_{os.getpid()}"
    server = await asyncpg.connect(database_url)
    await server.execute(f"create role {role} login password 'x'")
    if may_read:
        await server.execute(f"grant select on all tables in schema public to {role}")
    try:
        parts = urlsplit(database_url)
        url = urlunsplit(parts._replace(netloc=f"{role}:x@{parts.netloc.rpartition('@')[2]}"))
        done = start(tmp_path, "serve", "--port", "0", DATABASE_URL=url)
        assert only_line(done).startswith("Error: This user can only read from PostgreSQL: permission denied")
    finally:
        await server.execute(f"drop owned by {role}; drop role {role}")
        await server.close()
