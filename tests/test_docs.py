"""The documents are true: what exists is in them, and what they name exists."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest

import tsuzuki
from tsuzuki.api.build import ENDPOINTS
from tsuzuki.cli import main
from tsuzuki.settings import PREFIX, Settings

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
CODE = sorted([*ROOT.glob("src/**/*.py"), *ROOT.glob("src/**/*.sql"), *ROOT.glob("tests/**/*.py")])

INVARIANTS = [f"I{n}" for n in range(1, 11)]


def commands(group: click.Group, before: str = "tsuzuki") -> list[str]:
    found = []
    for name, command in group.commands.items():
        path = f"{before} {name}"
        found += commands(command, path) if isinstance(command, click.Group) else [path]
    return found


def test_the_readme_names_every_command():
    def is_named(command: str) -> bool:
        *words, last = command.split()
        return re.search(rf"`{' '.join(words)} (?:[\w-]+\\\|)*{last}\b", README) is not None

    assert [command for command in commands(main) if not is_named(command)] == []


def test_the_readme_names_the_two_commands():
    assert "make run" in README
    assert "make test" in README


@pytest.mark.parametrize("file", ["docs/settings.md", ".env.example"])
def test_every_setting_is_documented(file):
    text = (ROOT / file).read_text("utf-8")
    names = [PREFIX + field.name.upper() for field in msgspec.structs.fields(Settings)]
    assert [name for name in names if not re.search(rf"\b{name}\b", text)] == []


def test_every_endpoint_says_what_it_does():
    silent = [each for each in ENDPOINTS if not (each.summary.strip() and each.tags)]
    assert [f"{endpoint.method} {endpoint.path}" for endpoint in silent] == []


def test_every_invariant_is_in_the_architecture():
    assert [name for name in INVARIANTS if f"| {name} |" not in ARCHITECTURE] == []


def test_no_invariant_is_named_that_is_not_in_the_architecture():
    named = {name for file in CODE for name in re.findall(r"\bI\d+\b", file.read_text("utf-8"))}
    assert named - set(INVARIANTS) <= {"I18"}  # of the words, only internationalisation looks like one


RULING = re.compile(r"\bR(\d{1,3})\b(?!\+)|_r(\d{1,3})(?=_)")
SCENARIO = re.compile(r"(?<![A-Za-z])(REL|SEC|rel|sec)[-_](\d{2}[a-i]?)(?![0-9a-z])")


def rulings_in(text: str) -> set[str]:
    return {f"R{upper or lower}" for upper, lower in RULING.findall(text)}


def scenarios_in(text: str) -> set[str]:
    return {f"{kind.upper()}-{number}" for kind, number in SCENARIO.findall(text)}


@pytest.mark.parametrize(("page", "find"), [("rulings.md", rulings_in), ("scenarios.md", scenarios_in)])
def test_every_ruling_and_scenario_that_code_names_is_explained(page, find):
    explained = find((ROOT / "docs" / page).read_text("utf-8"))
    assert len(explained) > 50
    for file in CODE:
        named = find(file.read_text("utf-8"))
        assert named <= explained, (str(file.relative_to(ROOT)), sorted(named - explained))


@pytest.mark.parametrize("page", ["rulings.md", "scenarios.md", "architecture.md"])
def test_every_ruling_scenario_and_invariant_has_a_test(page):
    rows = re.findall(r"^\| (R\d+|REL-\w+|SEC-\w+|I\d+) \|", (ROOT / "docs" / page).read_text("utf-8"), re.MULTILINE)
    texts = [file.read_text("utf-8") for file in CODE if file.is_relative_to(ROOT / "tests")]
    named = {
        name for text in texts for name in rulings_in(text) | scenarios_in(text) | set(re.findall(r"\bI\d+\b", text))
    }
    assert len(rows) > 5
    assert [row for row in rows if row not in named] == []


def named_in_pages(pattern: str) -> list[tuple[Path, Any]]:
    """Every page with what the pattern finds in it."""
    found = [(page, target) for page in PAGES for target in re.findall(pattern, page.read_text("utf-8"))]
    assert found
    return found


def test_links_between_pages_lead_somewhere():
    links = named_in_pages(r"\]\((?!https?://|#|mailto:)([^)#\s]+)")
    assert [(page.name, target) for page, target in links if not (page.parent / target).exists()] == []


def heading_ids(page: Path) -> set[str]:
    """As GitHub makes them of what headings say."""
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_into_pages_lead_to_a_heading():
    links = named_in_pages(r"\]\(((?!https?://|mailto:)[^)#\s]*)#([^)\s]+)\)")
    found = [(page, page.parent / path if path else page, place) for page, (path, place) in links]
    lost = [(page.name, target.name, place) for page, target, place in found if place not in heading_ids(target)]
    assert lost == []


def test_paths_in_pages_exist():
    paths = named_in_pages(r"`((?:src|docs|tests|tools|bench)/[\w./-]+)`")
    assert [(page.name, target) for page, target in paths if not list(ROOT.glob(target.rstrip("/")))] == []


def test_paths_below_the_package_exist():
    """As architecture.md shortens them in its tables."""
    paths = named_in_pages(r"`((?!src/|docs/|tests/|tools/|bench/|deploy/)[a-z_]+/[\w/]+\.(?:py|sql))`")
    assert [(page.name, path) for page, path in paths if not (ROOT / "src" / "tsuzuki" / path).is_file()] == []


def test_the_schema_page_is_what_the_database_says():
    done = subprocess.run([sys.executable, ROOT / "tools" / "schema.py", "--check"], check=False, cwd=ROOT)
    assert done.returncode == 0, "run: make schema"


def test_the_steps_of_apps_are_what_their_page_says():
    done = subprocess.run([sys.executable, ROOT / "tools" / "apps.py", "--check"], check=False, cwd=ROOT)
    assert done.returncode == 0, "run: make apps"


def test_decisions_say_what_a_decision_must():
    pages = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    assert pages
    for page in pages:
        text = page.read_text("utf-8")
        for words in ("We chose", "ecause", "t costs", "evisit when"):
            assert words in text, (page.name, words)
        assert len(text.splitlines()) <= 60, page.name


def test_the_version_is_in_one_place():
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.dev\d+)?", tsuzuki.__version__)
    assert 'dynamic = ["version"]' in (ROOT / "pyproject.toml").read_text("utf-8")
