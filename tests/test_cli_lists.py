"""`tsuzuki import` and `tsuzuki export`."""

import os
from contextlib import closing

import apsw
import pytest
from click.testing import CliRunner, Result

from tests.transfer.reedme_files import a_legacy_file
from tsuzuki.cli import main
from tsuzuki.connectors.opml import read_opml
from tsuzuki.db.legacy import MAX_TEXT

LIST = """<opml><body><outline text="News"><outline text="A" xmlUrl="http://93.184.216.34/a"/></outline>
<outline text="B" xmlUrl="http://10.0.0.1/b"/></body></opml>"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setattr("tsuzuki.log.set_up_logging", lambda **_: None)
    for name in [name for name in os.environ if name.startswith("TSUZUKI_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("TSUZUKI_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("TSUZUKI_PASSWORD", "correct horse")

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(main, arguments)

    return run


def test_a_list_is_imported_with_failures_and_exported_again(run, tmp_path):
    file = tmp_path / "list.opml"
    file.write_text(LIST)
    done = run("import", "opml", str(file))
    assert (done.exit_code, done.stdout) == (1, "1 created, 0 existing, 1 failed.\n")
    assert done.stderr.startswith(f"{file}:2: http://10.0.0.1/b: ")
    assert run("import", "opml", str(file)).stdout == "0 created, 1 existing, 1 failed.\n"
    [outline] = read_opml(run("export").stdout_bytes)
    assert (outline.link, outline.title, outline.group) == ("http://93.184.216.34/a", "A", "News")


def test_a_database_of_before_comes_in(run, tmp_path):
    done = run("import", "reedme", str(a_legacy_file(tmp_path / "fusion.db")))
    assert (done.exit_code, done.stdout) == (0, "2 feeds, 10 items, 2 bookmarks.\n")
    assert "nonsense" in done.stderr


def test_what_of_a_database_is_left_out_is_told(run, tmp_path):
    file = a_legacy_file(tmp_path / "fusion.db")
    with closing(apsw.Connection(str(file))) as connection:
        connection.execute(f"update items set content = zeroblob({MAX_TEXT + 1}) where id = 2").fetchall()
        connection.execute("update items set title = cast(x'43616665e9' as text), pub_date = 9e999").fetchall()
    done = run("import", "reedme", str(file))
    assert (done.exit_code, done.stdout) == (1, "2 feeds, 9 items, 1 bookmarks.\n")
    assert f"{file}: row 2 of items is too large.\n1 skipped.\n" in done.stderr


def test_a_damaged_database_ends_with_one_line(run, tmp_path):
    file = a_legacy_file(tmp_path / "fusion.db", items=400, wal=False)
    raw = file.read_bytes()
    file.write_bytes(raw[: len(raw) // 2])
    done = run("import", "reedme", str(file))
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith(f"Error: {file} is damaged")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("kind", ["opml", "reedme"])
def test_what_is_something_else_ends_with_one_line(run, tmp_path, kind):
    file = tmp_path / "nothing"
    file.write_text("hello")
    done = run("import", kind, str(file))
    assert done.exit_code == 1
    assert done.stderr.startswith("Error: ")
    assert run("import", kind, str(file), "--user", "nobody").exit_code == 1


def test_a_list_comes_onto_the_own_shelf_whichever_is_open(run, tmp_path):
    file = tmp_path / "list.opml"
    file.write_text(LIST, "utf-8")
    run("export")  # the first start makes the administrator
    run("user", "add", "bob")
    run("user", "share", "admin", "bob", "--role", "editor")
    with closing(apsw.Connection(str(tmp_path / "data" / "tsuzuki.db"))) as connection:
        main = "select id from shelf where name = 'Main'"
        connection.execute(f"update user_account set default_shelf_id = ({main}) where username = 'bob'")
    done = run("import", "opml", str(file), "--user", "bob")
    assert "Shelf: bob (bob: owner)" in done.stderr
    assert b"93.184.216.34" in run("export", "--user", "bob").stdout_bytes
    assert b"93.184.216.34" not in run("export").stdout_bytes
    assert "1 created" in run("import", "opml", str(file), "--user", "bob", "--shelf", "Main").stdout
    assert b"93.184.216.34" in run("export").stdout_bytes
    assert "no shelf named Attic" in run("export", "--shelf", "Attic").stderr
