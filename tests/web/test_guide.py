"""docs/web.md is true: the page that it shows works."""

import re
from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, DictLoader

from tests.web.reader_setup import a_reader_setup
from tsuzuki import __version__
from tsuzuki.web import build, renderer

GUIDE = (Path(__file__).parents[2] / "docs" / "web.md").read_text("utf-8")


def block(language: str) -> str:
    found = re.search(rf"^```{language}\n(.*?)^```$", GUIDE, re.DOTALL | re.MULTILINE)
    assert found is not None
    return found[1]


async def test_the_page_of_the_guide_works(tmp_path, monkeypatch):
    names: dict[str, Any] = {}
    exec(compile(block("python"), "docs/web.md", "exec"), names)
    _, templates, _ = renderer._package(__version__)
    assert templates.loader is not None
    written = DictLoader({"recent.html": block("html")})
    monkeypatch.setattr(templates, "loader", ChoiceLoader([written, templates.loader]))
    monkeypatch.setattr(build, "styleguide_page", names["recent_page"])  # stands for a line in build.py
    async with a_reader_setup(tmp_path) as reader:
        page = await reader.guest.see("/recent")
    assert (page.status, "No chapters yet." in page.text) == (200, True)
