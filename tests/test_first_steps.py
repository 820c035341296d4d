"""What the README and docs/first-ten-minutes.md tell a newcomer to type and press is there; `make stranger` does it."""

import re
from pathlib import Path

import pytest

from tests.connectors.builders import run
from tests.connectors.sample_site import from_files
from tools.messages import collect
from tsuzuki.connectors.config import decode_config
from tsuzuki.connectors.discovery import discover
from tsuzuki.connectors.feed.fetch import visit
from tsuzuki.connectors.registry import Registry, builtin
from tsuzuki.connectors.selectors.connector import WrittenConfig, WrittenSource
from tsuzuki.connectors.selectors.trial import try_source

ROOT = Path(__file__).parents[1]
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
README = (ROOT / "README.md").read_text("utf-8")
STEPS = (ROOT / "docs" / "first-ten-minutes.md").read_text("utf-8")
GUIDE = (ROOT / "docs" / "guide.md").read_text("utf-8")
SAMPLE = "src/tsuzuki/connectors/examples/sample.yaml"
SITE = "http://127.0.0.1:8765"


@pytest.mark.parametrize("page", [README, STEPS], ids=["README", "first-ten-minutes"])
def test_every_command_of_make_that_is_named_exists(page):
    named = set(re.findall(r"\bmake ([a-z-]+)\b", page)) - {"a"}
    assert {"run", "demo"} <= named
    assert [target for target in named if not re.search(rf"^{target}:", MAKEFILE, re.MULTILINE)] == []


def test_folders_and_files_that_commands_name_exist():
    commands = "\n".join(re.findall(r"^```sh\n(.*?)^```$", STEPS, re.DOTALL | re.MULTILINE))
    [folder] = re.findall(r"--directory (\S+)", commands)
    assert (ROOT / folder / "notes.html").is_file()
    assert SAMPLE in STEPS
    assert f"{SITE}/notes.html" in STEPS


@pytest.mark.parametrize("page", [STEPS, GUIDE], ids=["first-ten-minutes", "guide"])
def test_what_is_to_be_pressed_has_these_words(page):
    """In italics there: words of the pages, names of connectors, and titles of the sample site."""
    pressed = set(re.findall(r"(?<!\*)\*([^*\n]+)\*(?!\*)", page))
    assert "Add a feed" in pressed
    known = {message.id for message in collect()} | {connector.info.name for connector in Registry(builtin())}
    sample = (ROOT / SAMPLE).read_text("utf-8") + "".join(
        file.read_text("utf-8") for file in (ROOT / "docs/sample-site").rglob("*.*ml")
    )
    assert [words for words in pressed if words not in known and words not in sample] == []


def test_the_sample_sites_page_leads_to_its_feed():
    [found] = run(discover(f"{SITE}/notes.html"), from_files).feeds
    assert found.url == f"{SITE}/feed.xml"
    harvest = run(visit(found.url), from_files).harvest
    assert harvest is not None
    assert harvest.items[0].title == "The lamp is lit again"
    assert len(harvest.items) == 3


def test_the_definition_reads_the_pasted_sample_site():
    config = decode_config(WrittenConfig, {"definition": (ROOT / SAMPLE).read_text("utf-8")})
    trial = run(try_source(WrittenSource().for_source(config), config), from_files)
    assert trial.is_good
    assert trial.series is not None
    assert "The Lighthouse Cat" in [one.title for one in trial.series.series]
