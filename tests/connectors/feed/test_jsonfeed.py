"""JSON Feed 1.0 and 1.1."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.connectors.feed.builders import URL
from tests.data.feeds.make import corpus
from tests.scale import examples
from tsuzuki.connectors.feed.document import MAX_NODES
from tsuzuki.connectors.feed.parser import parse_anyhow, parse_fast
from tsuzuki.model.errors import NotAFeed, TooLarge
from tsuzuki.model.harvest import Enclosure
from tsuzuki.model.times import from_iso

VERSION = "https://jsonfeed.org/version/1.1"


def feed(name: str):
    harvest = parse_fast(corpus()[f"{name}.json"], URL)
    assert harvest is not None
    return harvest


def test_an_item_of_1_1():
    harvest = feed("json11")
    (item,) = harvest.items
    assert (harvest.kind, harvest.title, harvest.site_url) == ("json", "The Lamplighter", "https://comic.example/")
    assert (item.key, item.link, item.title) == ("1", "https://comic.example/part/1", "Part 1")
    assert (item.content, item.author, item.categories) == ("<p>x</p>", "Ada", ("a", "b"))
    assert item.published_at is not None
    assert item.published_at == from_iso("2024-03-01T10:20:30Z")


def test_an_item_of_1_0_in_plain_text():
    (item,) = feed("json10").items
    assert (item.content, item.author) == ("<p>1 &lt; 2<br>next</p>", "Ada")


def test_files_and_pictures():
    (item,) = feed("json-attachment").items
    assert item.enclosures == (Enclosure("https://comic.example/1.mp3", "audio/mpeg", 10, None, 61),)
    assert feed("json-images").items[0].image_url == "https://comic.example/i.png"


def test_what_the_feed_says_of_itself():
    harvest = feed("json-feed-fields")
    assert (harvest.icon_url, harvest.language) == ("https://comic.example/icon.png", "ja")
    assert (harvest.hub_url, harvest.self_url) == ("https://hub.example/", "https://comic.example/feed.json")
    assert (harvest.author, harvest.description) == ("Ada, Bo", "d")


def test_an_item_without_authors_has_those_of_the_feed():
    people: list[dict[str, Any]] = [{"authors": [{"name": "Own"}]}, {"author": {"name": "Older"}}, {"authors": []}, {}]
    items = [{"id": str(number), "content_text": "x", **one} for number, one in enumerate(people)]
    document = {"version": VERSION, "title": "t", "authors": [{"name": "Ada"}, {"name": "Bo"}], "items": items}
    harvest = parse_anyhow(json.dumps(document).encode(), URL)
    assert [found.author for found in harvest.items] == ["Own", "Older", "Ada, Bo", "Ada, Bo"]


@pytest.mark.parametrize("blank", ["", " ", "#", "?", "\u200b"])
def test_a_file_with_a_blank_address_is_none(blank: str):
    file = {"url": blank, "mime_type": "audio/mpeg"}
    document = {"version": VERSION, "items": [{"id": "1", "attachments": [file], "image": blank}]}
    (found,) = parse_anyhow(json.dumps(document).encode(), URL).items
    assert (found.enclosures, found.image_url) == ((), None)


def test_a_number_is_an_id_too():
    assert feed("json-numeric-id").items[0].key == "7"


def test_a_link_elsewhere_serves_where_there_is_no_other():
    assert feed("json-external-url").items[0].link == "https://other.example/"


def test_fields_of_wrong_types_are_missing_and_cost_nobody_else():
    harvest = feed("json-wrong-types")
    assert harvest.title == "3"
    assert [(item.title, item.link, item.categories) for item in harvest.items] == [
        ("", "https://comic.example/feeds/5", ())
    ]


@pytest.mark.parametrize(
    "document",
    [
        [],
        {},
        {"items": []},
        {"version": 1, "items": []},
        {"version": "https://example.org/1", "items": []},
        {"version": VERSION},
    ],
)
def test_other_json_is_no_feed(document: Any):
    with pytest.raises(NotAFeed):
        parse_anyhow(json.dumps(document).encode(), URL)


def test_json_without_end_is_refused():
    with pytest.raises(TooLarge):
        parse_anyhow(b'{"items":' + b"[" * (MAX_NODES + 1), URL)
    with pytest.raises(NotAFeed):
        parse_anyhow(b'{"items":' + b"[" * 100_000 + b"]" * 100_000 + b"}", URL)


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
FIELDS = st.sampled_from(
    ["id", "url", "external_url", "title", "content_html", "content_text", "summary", "image", "banner_image",
     "date_published", "date_modified", "author", "authors", "tags", "attachments"]
)  # fmt: skip


@given(st.lists(st.dictionaries(FIELDS, ANY, max_size=8) | ANY, max_size=4), st.dictionaries(st.text(max_size=8), ANY))
@examples(1000)
def test_any_json_in_any_field_is_answered(items: list[Any], over: dict[str, Any]):
    document = {**over, "version": VERSION, "items": items}
    try:
        parse_fast(json.dumps(document).encode(), URL)
    except NotAFeed:
        assert "NaN" in json.dumps(document) or "Infinity" in json.dumps(document)
