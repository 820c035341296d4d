"""A config's form: made of a connector's schema, and read back to what is not as by default."""

from typing import Literal

import pytest

from tsuzuki.connectors.config import SourceConfig, decode_config
from tsuzuki.connectors.mangadex.connector import MangaDex
from tsuzuki.connectors.protocol import ConnectorInfo
from tsuzuki.model.errors import Invalid, Problem
from tsuzuki.web.config_form import ConfigField, beside_fields, config_fields, read_config
from tsuzuki.web.forms import Form

MANGADEX = MangaDex.info
GROUP = "4f1de6a2-f0c5-4ac5-bce5-02c7dbb67deb"


class OddConfig(SourceConfig, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Shapes that none of ours has yet."""

    size: Literal["small", "large"] = "small"
    steps: tuple[int, ...] = ()
    apitoken: str = ""


ODD = ConnectorInfo(id="org.example.odd", name="Odd", languages=("en",), base_url="https://x.example", config=OddConfig)


def filled(fields: list[ConfigField], **over: tuple[str, ...]) -> Form:
    """What a browser sends for these fields."""
    values = {field.name: field.values for field in fields}
    values |= {f"config.{name}": value for name, value in over.items()}
    return Form({name: value for name, value in values.items() if value})


def kinds(info: ConnectorInfo) -> dict[str, str]:
    return {field.label: field.kind for field in config_fields(info.config, {}, {})}


def test_every_shape_of_a_key_has_its_kind_of_field():
    assert kinds(MANGADEX) == {
        "ratelimit": "number",
        "proxy": "text",
        "headers": "pairs",
        "maxpages": "number",
        "fetchpages": "flag",
        "language": "text",
        "contentrating": "choices",
        "datasaver": "flag",
        "excludedgroups": "list",
        "excludeduploaders": "list",
    }
    assert {name: kind for name, kind in kinds(ODD).items() if name in ("size", "steps")} == {
        "size": "choice",
        "steps": "json",
    }


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"ratelimit": 2, "proxy": "http://proxy:1", "maxpages": 3, "datasaver": True, "language": "fr"},
        {"headers": {"X-A": "1", "X-B": "x: y"}, "excludedgroups": [GROUP], "contentrating": ["safe"]},
    ],
)
def test_submitting_an_unchanged_form_changes_nothing(config):
    fields = config_fields(MANGADEX.config, config, {})
    read = read_config(filled(fields), fields)
    assert read == config
    decode_config(MANGADEX.config, read)


def test_only_changed_defaults_of_checkboxes_are_stored():
    fields = config_fields(MANGADEX.config, {}, {})
    assert read_config(filled(fields, contentrating=()), fields) == {"contentrating": []}
    everything = ("erotica", "safe", "suggestive")
    assert read_config(filled(fields, contentrating=everything), fields) == {}


def test_a_secret_is_masked_in_the_form():
    [token] = [field for field in config_fields(ODD.config, {"apitoken": "s3cret"}, {}) if field.label == "apitoken"]
    assert token.value == "***"


def test_a_refused_form_keeps_inputs_and_unticked_boxes():
    typed = {"config.maxpages": ("x",), "config.headers": ("",)}
    fields = {field.label: field.value for field in config_fields(MANGADEX.config, {"datasaver": True}, typed)}
    assert (fields["maxpages"], fields["datasaver"]) == ("x", "")


@pytest.mark.parametrize(("name", "text"), [("steps", "[1,"), ("headers", "no colon here")])
def test_what_cannot_be_read_is_told_beside_its_field(name, text):
    fields = config_fields(ODD.config, {}, {})
    with pytest.raises(Invalid) as caught:
        read_config(filled(fields, **{name: (text,)}), fields)
    assert [one.field for one in caught.value.problems] == [f"config.{name}"]


def test_a_nested_problem_is_shown_beside_its_key():
    fields = config_fields(MANGADEX.config, {}, {})
    inside = Problem("config.headers.Host", "No."), Problem("config.excludedgroups[0]", "Not one."), Problem("x", "y")
    told = beside_fields(Invalid("No.", inside), fields).problems
    assert told == (
        Problem("config.headers", "Host: No."),
        Problem("config.excludedgroups", "[0]: Not one."),
        Problem("x", "y"),
    )
