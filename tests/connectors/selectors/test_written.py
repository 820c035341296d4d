"""A definition that stands in a source's config."""

from importlib import resources

import pytest

from tests.connectors.builders import run
from tests.connectors.sample_site import from_files
from tsuzuki.connectors.config import config_schema, decode_config
from tsuzuki.connectors.registry import SAMPLE, Registry, builtin
from tsuzuki.connectors.selectors.connector import WRITTEN, SelectorsSource, WrittenConfig, WrittenSource
from tsuzuki.connectors.selectors.trial import try_source
from tsuzuki.model.errors import Invalid
from tsuzuki.sources.sites import info_of, source_info

SAMPLE_TEXT = resources.files("tsuzuki.connectors.examples").joinpath(SAMPLE).read_text("utf-8")


def problems_of(text: str) -> list[tuple[str, str]]:
    with pytest.raises(Invalid) as caught:
        decode_config(WrittenConfig, {"definition": text})
    return [(one.field, one.message) for one in caught.value.problems]


def test_the_source_that_a_config_describes_answers_for_it():
    config = decode_config(WrittenConfig, {"definition": SAMPLE_TEXT, "maxpages": 3})
    source = WrittenSource().for_source(config)
    assert isinstance(source, SelectorsSource)
    trial = run(try_source(source, config), from_files)
    assert trial.is_good
    assert trial.pages


def test_every_mistake_is_named_by_line_and_column():
    broken = SAMPLE_TEXT.replace("each:", "eech:", 1).replace("language: en", "language: ''", 1)
    found = problems_of(broken)
    line = SAMPLE_TEXT.splitlines().index(next(one for one in SAMPLE_TEXT.splitlines() if "each:" in one)) + 1
    assert {field for field, _ in found} == {"config.definition"}
    assert any(message.startswith(f"Line {line}, column 3: `eech` is unknown") for _, message in found)
    assert len(found) > 1


@pytest.mark.parametrize("text", ["", "just words", "a: [", "id: &a x", "x" * 70_000])
def test_what_is_no_definition_is_refused_with_its_place(text):
    assert {field for field, _ in problems_of(text)} == {"config.definition"}


def test_a_definition_with_a_secret_is_refused():
    [(field, message)] = problems_of(SAMPLE_TEXT + "\nheaders: {Cookie: s3cret}\n")
    assert field == "config.definition"
    assert "Cookie" in message
    assert "s3cret" not in message


def test_a_source_is_known_by_what_its_config_describes():
    registry = Registry(builtin())
    alone, fitted = info_of(registry, WRITTEN), source_info(registry, WRITTEN, {"definition": SAMPLE_TEXT})
    assert alone is not None
    assert fitted is not None
    assert not alone.abilities.chapters
    assert fitted.abilities.chapters
    assert fitted.base_url == "http://127.0.0.1:8765"
    assert source_info(registry, WRITTEN, {"definition": "a: ["}) == alone
    assert source_info(registry, "not.installed", {}) is None


def test_its_schema_says_that_the_text_is_a_document():
    described = config_schema(WrittenConfig)["$defs"]["WrittenConfig"]["properties"]["definition"]
    assert described["contentMediaType"] == "application/yaml"
