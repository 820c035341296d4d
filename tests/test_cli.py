import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.transfer.reedme_files import a_newer_file
from tsuzuki import __version__
from tsuzuki.cli import COMMANDS, main
from tsuzuki.db.sqlite_file import connect


@pytest.fixture
def run(tmp_path, monkeypatch):
    """`run("migrate", "--dry-run", PORT="1")` in an environment of its own."""
    monkeypatch.setattr("tsuzuki.log.set_up_logging", lambda **_: None)

    for name in [name for name in os.environ if name.startswith("TSUZUKI_")]:
        monkeypatch.delenv(name)

    def run(*arguments: str, stdin: str | None = None, **variables: str) -> Result:
        for name, value in {"DATA_DIR": str(tmp_path), **variables}.items():
            monkeypatch.setenv(f"TSUZUKI_{name}", value)
        return CliRunner().invoke(main, arguments, input=stdin)

    return run


def test_help_names_every_command_and_what_it_does(run):
    said = run("--help").stdout
    for command in COMMANDS:
        assert command.name in said
        assert command.help, command.name
        assert run(command.name, "--help").exit_code == 0


def test_the_version_is_the_programs(run):
    assert run("--version").stdout == f"tsuzuki, version {__version__}\n"


def test_a_bad_setting_stops_any_command_with_status_2(run):
    for command in ("serve", "migrate", "settings"):
        result = run(command, PORT="eighty")
        assert result.exit_code == 2
        assert result.stderr == (
            "Error: TSUZUKI_PORT is 'eighty', but must be a port from 1 to 65535, or 0 for any free one.\n"
        )


def test_an_option_is_checked_like_the_variable_it_stands_for(run):
    result = run("serve", "--port", "eighty")
    assert result.exit_code == 2
    assert "TSUZUKI_PORT is 'eighty'" in result.stderr


def test_migrate_reports_what_it_did_and_is_idempotent(run, tmp_path):
    assert run("migrate", "--dry-run").stdout.startswith("Schema 0: would apply 0001_initial")
    assert not (tmp_path / "tsuzuki.db").exists()
    assert re.fullmatch(r"Schema 0 -> \d+: applied 0001_initial.*\.\n", run("migrate").stdout)
    assert run("migrate").stdout.endswith(": nothing to do.\n")


def test_a_database_of_another_schema_names_the_recreate_command(run, tmp_path):
    run("migrate")
    _edit_the_first_migration(tmp_path / "tsuzuki.db")
    result = run("migrate")
    assert result.exit_code == 1
    assert "tsuzuki migrate --recreate" in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert run("serve", PORT="0").stderr == result.stderr


def test_recreate_asks_first_and_keeps_the_old_file(run, tmp_path):
    run("migrate")
    _edit_the_first_migration(tmp_path / "tsuzuki.db")
    assert run("migrate", "--recreate", stdin="n\n").exit_code == 1
    assert run("migrate").exit_code == 1
    said = run("migrate", "--recreate", "--yes").stdout
    assert said.startswith("Recreated; the old file is ")
    assert Path(said.removeprefix("Recreated; the old file is ").rstrip(".\n")).exists()
    assert run("migrate").stdout.endswith(": nothing to do.\n")


def test_recreate_and_dry_run_exclude_each_other(run):
    assert run("migrate", "--recreate", "--dry-run").exit_code == 2


def test_a_data_folder_that_cannot_be_made_is_one_line(run, tmp_path):
    (tmp_path / "file").write_text("", "utf-8")
    result = run("migrate", DATA_DIR=str(tmp_path / "file" / "below"))
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: The data folder ")
    assert len(result.stderr.splitlines()) == 1


def test_settings_shows_what_is_in_force_and_no_secret(run):
    result = run("settings", PORT="9000", PASSWORD="canary", PROT="1")
    assert "TSUZUKI_PORT=9000  # environment: " in result.stdout
    assert "TSUZUKI_HOST=127.0.0.1  # default: " in result.stdout
    assert "canary" not in result.output
    assert "did you mean TSUZUKI_PORT?" in result.stderr


def test_a_reedme_file_as_database_names_the_import_command(run, tmp_path):
    a_newer_file(tmp_path / "tsuzuki.db")
    result = run("migrate")
    assert result.exit_code == 1
    assert "This is a database of ReedMe." in result.stderr
    assert "tsuzuki import reedme" in result.stderr


def test_help_is_quick_because_it_imports_nothing_heavy():
    heavy = "{'uvicorn', 'starlette', 'jinja2', 'aiohttp', 'asyncpg', 'apsw', 'prometheus_client', 'structlog', 'rich'}"
    code = f"import sys, tsuzuki.cli; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "[]\n"


def _edit_the_first_migration(path: Path) -> None:
    connection = connect(path)
    connection.execute("update schema_migration set checksum = 'x'")
    connection.close()
