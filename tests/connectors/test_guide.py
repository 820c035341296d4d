"""docs/connectors.md is true: its code runs, its definition works, and it names every key."""

import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.connectors.builders import run
from tests.connectors.sample_site import from_files
from tests.net.builders import a_server, answer, by_path
from tsuzuki.connectors.config import SourceConfig
from tsuzuki.connectors.protocol import Connector, Unsupported
from tsuzuki.connectors.registry import SAMPLE, builtin
from tsuzuki.connectors.selectors.connector import SelectorsSource
from tsuzuki.connectors.selectors.definition import (
    ChaptersStep,
    DatePick,
    Definition,
    DetailsStep,
    FixedSeries,
    PagesStep,
    SearchFilter,
    SeriesStep,
    StatusPick,
)
from tsuzuki.connectors.selectors.reader import load_definition
from tsuzuki.connectors.selectors.trial import describe_try, try_source
from tsuzuki.model.ids import SourceId
from tsuzuki.model.requests import Reply

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "connectors.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", GUIDE, re.DOTALL | re.MULTILINE)


def section(heading: str) -> str:
    found = re.search(rf"^## {heading}\n(.*?)^## ", GUIDE, re.DOTALL | re.MULTILINE)
    assert found is not None
    return found[1]


def test_the_guides_steps_make_a_working_source():
    steps = blocks("yaml")[:5]
    definition = load_definition("".join(steps), "mine.yaml")
    source = SelectorsSource(definition)
    trial = run(try_source(source, SourceConfig()), from_files)
    assert trial.is_good
    without_details = SelectorsSource(load_definition("".join(steps[:4]), "mine.yaml"))
    shown = describe_try(without_details, run(try_source(without_details, SourceConfig()), from_files))
    for line in blocks("text")[0].splitlines():
        is_relative = "Chapter 3: Fog" in line  # its date moves with the clock
        assert line in shown or line.strip() == "..." or is_relative, line


def test_the_whole_file_is_the_shipped_sample():
    shipped = load_definition((ROOT / "src/tsuzuki/connectors/examples" / SAMPLE).read_text("utf-8"), SAMPLE)
    guided = load_definition("".join(blocks("yaml")[:5]), "mine.yaml")
    for name in ("popular", "details", "chapters", "pages", "base_url", "language"):
        assert getattr(shipped, name) == getattr(guided, name)


@pytest.mark.parametrize(
    "part",
    [
        Definition,
        SeriesStep,
        DetailsStep,
        ChaptersStep,
        PagesStep,
        FixedSeries,
        DatePick,
        StatusPick,
        SearchFilter,
    ],
)
def test_every_key_is_in_the_guide(part):
    unnamed = [
        name for name in part.__struct_fields__ if not re.search(rf"\b{name}\b", section("Definition reference"))
    ]
    assert unnamed == [], f"say in docs/connectors.md what these keys of {part.__name__} are"


@pytest.mark.parametrize("config", dict.fromkeys(connector.info.config for _, connector in builtin()))
def test_every_key_of_a_config_is_in_the_guide(config):
    unnamed = [name for name in config.__struct_fields__ if f"`{name}`" not in section("Configure a source")]
    assert unnamed == [], f"say in docs/connectors.md, Configure a source, what these keys of {config.__name__} are"


@pytest.fixture
def written() -> dict[str, Any]:
    """The guide's connector, as its reader would have it."""
    names: dict[str, Any] = {"__name__": "tiny_comics"}
    exec(compile(blocks("python")[0], "docs/connectors.md", "exec"), names)
    return names


def test_the_python_connector_of_the_guide_works(written):
    source = written["TinyComics"]()
    assert isinstance(source, Connector)
    config = written["TinyConfig"]()
    entries = {
        "https://tiny.example.net/all.json": [{"number": "1.5", "title": "Fog", "image": "https://i.example/1.png"}]
    }
    (series,) = run(source.popular(config, 1), {}).series
    (chapter,) = run(source.chapters(config, series.url), entries)
    (page,) = run(source.pages(config, chapter.url), entries)
    assert chapter.number == Decimal("1.5")
    assert page.image_url == "https://i.example/1.png"
    with pytest.raises(Unsupported):
        source.search(config, 1, text="x")


def test_the_test_of_the_guide_passes(written):
    names = written | {"pytest": pytest, "Reply": Reply}
    exec(compile(blocks("python")[1], "docs/connectors.md", "exec"), names)
    names["test_chapters_come_with_their_numbers"]()


async def test_the_connector_of_the_guide_sends_credentials_to_a_mirror(written, client):
    config = written["TinyConfig"](headers={"Authorization": "Bearer s3cret"})
    async with a_server(by_path({"/all.json": answer(200, b"[]")})) as server:
        source = written["TinyComics"]().for_source(config, server.url)
        await client.fetch(next(source.chapters(config, "")), source.identity(config, SourceId(1)))
    assert b"bearer s3cret" in server.heads[0].lower()
