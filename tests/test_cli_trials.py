"""`tsuzuki poll` and `tsuzuki source try` against real local sites."""

import asyncio
import logging
import os
import sys
from asyncio.subprocess import PIPE
from collections import defaultdict
from pathlib import Path

import msgspec
import pytest
import structlog
from click.testing import CliRunner

from tests.net.builders import a_server, answer, by_path
from tests.polling.builders import a_feed
from tsuzuki.cli import main

ROOT = Path(__file__).parent.parent
PAGE = b'<html><head><link rel="alternate" type="application/rss+xml" title="Main" href="/feed"></head></html>'
STATE = {
    "etag",
    "last_modified",
    "cache_control",
    "expires_at",
    "retry_after_until",
    "last_checked_at",
    "next_check_at",
    "last_http_status",
    "last_success_at",
    "last_error_at",
    "last_error",
    "consecutive_failures",
}


@pytest.fixture
def run(tmp_path):
    """`await run("poll", url)` -> exit status, stdout, stderr; in this process, which has imported everything."""

    async def run(*arguments: str) -> tuple[int, str, str]:
        unset = dict.fromkeys(name for name in os.environ if name.startswith("TSUZUKI_"))
        done = await asyncio.to_thread(CliRunner(env=unset | _settings(tmp_path)).invoke, main, arguments)
        return done.exit_code, done.stdout, done.stderr

    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield run
    structlog.reset_defaults()  # a command sets up the log of its process, and other tests read theirs
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.captureWarnings(capture=False)


def _settings(data: Path) -> dict[str, str]:
    return {"TSUZUKI_DATA_DIR": str(data), "TSUZUKI_ALLOW_PRIVATE_NETWORKS": "127.0.0.0/8", "COLUMNS": "200"}


async def test_poll_is_a_command_of_its_own_process(tmp_path):
    command = (sys.executable, "-m", "tsuzuki", "poll")
    environ = {name: value for name, value in os.environ.items() if not name.startswith("TSUZUKI_")}
    async with a_server(by_path(defaultdict(lambda: answer(410, b""), {"/feed": answer(200, a_feed("1"))}))) as site:
        for path, status in (("/feed", 0), ("/gone", 1)):
            process = await asyncio.create_subprocess_exec(
                *command, site.url + path, env=environ | _settings(tmp_path), stdout=PIPE, stderr=PIPE
            )
            out, err = await asyncio.wait_for(process.communicate(), 60)
            assert process.returncode == status
            assert (b"Item 1" in out, err.startswith(b"gone: ")) == (status == 0, status == 1)


async def test_poll_shows_a_feed_as_the_contract_says(run):
    feed = answer(200, a_feed("2", "1"), etag='"x"', cache_control="max-age=7200")
    async with a_server(by_path({"/feed": feed})) as site:
        status, out, _ = await run("poll", f"{site.url}/feed", "--json")
    said = msgspec.json.decode(out)
    assert status == 0
    assert (said["kind"], said["title"]) == ("feed", "A feed")
    assert [set(found) for found in said["found"]] == [{"key", "title", "url", "published_at"}] * 2
    assert set(said["fetch_state"]) == STATE
    assert (said["fetch_state"]["etag"], said["fetch_state"]["last_http_status"]) == ('"x"', 200)
    assert said["next_check"] == {
        "at": said["fetch_state"]["next_check_at"],
        "why": "its answer is fresh until then",
    }


async def test_poll_shows_a_page_with_its_feeds(run):
    async with a_server(by_path({"/": answer(200, PAGE, content_type="text/html")})) as site:
        status, out, _ = await run("poll", f"{site.url}/", "--json")
    said = msgspec.json.decode(out)
    assert (status, said["kind"]) == (0, "page")
    assert [(found["title"], found["url"]) for found in said["found"]] == [("Main", f"{site.url}/feed")]


async def test_poll_prints_a_table_that_markup_in_titles_cannot_disturb(run):
    async with a_server(by_path({"/feed": answer(200, a_feed("1", title="Some [red]feed"))})) as site:
        status, out, _ = await run("poll", f"{site.url}/feed")
    assert status == 0
    for words in ("feed: Some [red]feed (1 found)", "Item 1", "https://example.org/1", "the pull interval"):
        assert words in out


async def test_poll_prints_dates_and_addresses_in_full(run):
    feed = a_feed("long" * 20).replace(b"<description>", b"<pubDate>2026-02-23T12:00:00Z</pubDate><description>")
    async with a_server(by_path({"/feed": answer(200, feed)})) as site:
        _, out, _ = await run("poll", f"{site.url}/feed")
    assert "2026-02-23T12:00:00.000Z" in out
    assert "…" not in out


@pytest.mark.parametrize(
    ("address", "code"),
    [
        ("http://10.0.0.1/feed", "refused_address"),
        ("file:///etc/passwd", "refused_address"),
        ("SITE/none", "http_status"),
        ("SITE/later", "rate_limited"),
        ("SITE/gone", "gone"),
        ("SITE/page", "not_a_feed"),
        ("http://127.0.0.1:1/", "unreachable"),
        ("no host at all", "refused_address"),
    ],
)
async def test_poll_says_what_went_wrong_and_exits_with_1(run, address, code):
    answers = {
        "/none": answer(500, b""),
        "/later": answer(429, b"", retry_after="60"),
        "/gone": answer(410, b""),
        "/page": answer(200, b"<html>Nothing here.</html>", content_type="text/html"),
    }
    async with a_server(by_path(defaultdict(lambda: answer(404, b""), answers))) as site:
        address = address.replace("SITE", site.url)
        status, out, _ = await run("poll", address, "--json")
        assert status == 1
        assert msgspec.json.decode(out)["error"]["code"] == code
        status, out, err = await run("poll", address)
    assert (status, out) == (1, "")
    assert err.startswith(f"{code}: ")
    assert len(err.splitlines()) == 1
    assert err.rstrip().endswith(".")


@pytest.fixture
async def sample_site():
    """docs/sample-site, on the port that its definition names or another."""
    folder = ROOT / "docs" / "sample-site"

    async def serve(head, writer):
        path = folder / head.split(b" ", 2)[1].decode().lstrip("/").partition("?")[0]
        path = path / "index.html" if path.is_dir() else path
        kind = "application/json" if path.suffix == ".json" else "text/html"
        found = path.is_file()
        writer.write(answer(200 if found else 404, path.read_bytes() if found else b"", content_type=kind))

    async with a_server(serve) as site:
        yield site


async def test_source_try_shows_what_a_definition_finds(run, sample_site, tmp_path):
    shipped = (ROOT / "src/tsuzuki/connectors/examples/sample.yaml").read_text("utf-8")
    definition = tmp_path / "mine.yaml"
    definition.write_text(shipped.replace("http://127.0.0.1:8765", sample_site.url), "utf-8")
    status, out, err = await run("source", "try", str(definition))
    assert (status, err) == (0, "")
    for words in ("series:", "details:", "chapters:", "pages:"):
        assert words in out
    assert "FAILED" not in out


async def test_source_try_names_the_line_of_every_mistake(run, tmp_path):
    definition = tmp_path / "broken.yaml"
    definition.write_text("id: x\nname: 5\nnonsense: yes\n", "utf-8")
    status, _, err = await run("source", "try", str(definition))
    assert status == 1
    assert "broken.yaml:3:1" in err
