"""`tsuzuki export` and `tsuzuki import shelf`, as a reader types them."""

import os
import stat

import pytest
from click.testing import CliRunner, Result

from tests.transfer.archive.builders import a_chapter, a_feed, a_series, a_source, an_archive, an_item, parts_of
from tsuzuki.cli import main
from tsuzuki.connectors.opml import read_opml
from tsuzuki.transfer.archive.format import GroupLine

SHELF = {
    "groups.jsonl": [GroupLine(name="Default", is_default=True), GroupLine(name="News", position=1)],
    "feeds.jsonl": [a_feed("https://93.184.216.34/a", group="News")],
    "items.jsonl": [an_item(feed=a_feed("https://93.184.216.34/a"))],
    "sources.jsonl": [a_source()],
    "series.jsonl": [a_series(latest_number="1")],
    "chapters.jsonl": [a_chapter("1")],
}


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setattr("tsuzuki.log.set_up_logging", lambda **_: None)
    for name in [name for name in os.environ if name.startswith("TSUZUKI_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("TSUZUKI_PASSWORD", "correct horse")
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, server: str = "data") -> Result:
        monkeypatch.setenv("TSUZUKI_DATA_DIR", str(tmp_path / server))
        return CliRunner().invoke(main, arguments)

    return run


def test_a_shelf_comes_in_and_goes_out_to_another_server(run, tmp_path):
    first = an_archive(tmp_path, SHELF)
    done = run("import", "shelf", str(first))
    assert (done.exit_code, done.stderr) == (0, "")
    assert "items: 1 created, 0 existing, 0 skipped.\n" in done.stdout
    out = run("export", "--format", "archive")
    assert out.stdout == "admin-shelf.zip: 1 feeds, 1 items, 1 series, 1 chapters, 0 bookmarks.\n"
    second = tmp_path / "admin-shelf.zip"
    assert stat.S_IMODE(second.stat().st_mode) == 0o600
    assert run("import", "shelf", str(second), server="other").exit_code == 0
    assert run("export", "--format", "archive", "--output", "third.zip", server="other").exit_code == 0
    assert parts_of(tmp_path / "third.zip") == parts_of(second)
    assert "items: 0 created, 1 existing, 0 skipped.\n" in run("import", "shelf", str(second)).stdout


def test_a_terminal_shows_how_far_it_is(run, tmp_path, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    shown = run("import", "shelf", str(an_archive(tmp_path, SHELF))).stderr
    assert "check items.jsonl" in shown
    assert "bring items.jsonl" in shown
    assert "write chapters.jsonl" in run("export", "--format", "archive").stderr


def test_nothing_is_overwritten(run, tmp_path):
    (tmp_path / "mine.zip").write_text("precious")
    for kind in ("archive", "opml"):
        done = run("export", "--format", kind, "--output", "mine.zip")
        assert (done.exit_code, done.stderr) == (1, "Error: mine.zip already exists and is not overwritten.\n")
    assert (tmp_path / "mine.zip").read_text() == "precious"
    assert run("export", "--format", "archive", "--output", "nowhere/mine.zip").exit_code == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "mine.zip"]


def test_a_list_goes_to_a_file_or_to_stdout(run, tmp_path):
    run("import", "shelf", str(an_archive(tmp_path, SHELF)))
    assert run("export", "--output", "list.opml").stdout == ""
    [outline] = read_opml((tmp_path / "list.opml").read_bytes())
    assert (outline.link, outline.group) == ("https://93.184.216.34/a", "News")
    assert read_opml(run("export").stdout_bytes) == [outline]


def test_omissions_are_reported_and_set_the_exit_status(run, tmp_path):
    file = an_archive(tmp_path, SHELF | {"feeds.jsonl": [a_feed("http://10.0.0.1/feed")], "items.jsonl": []})
    done = run("import", "shelf", str(file))
    assert done.exit_code == 1
    assert done.stderr.startswith(f"{file}: feeds.jsonl:1: http://10.0.0.1/feed: ")
    assert "feeds: 0 created, 0 existing, 1 skipped.\n" in done.stdout


def test_what_is_no_archive_ends_with_one_line(run, tmp_path):
    file = tmp_path / "notes.txt"
    file.write_text("hello")
    done = run("import", "shelf", str(file))
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: notes.txt cannot be read: ")
    assert run("import", "shelf", str(file), "--user", "nobody").exit_code == 1
    assert run("export", "--format", "archive", "--user", "nobody").exit_code == 1
