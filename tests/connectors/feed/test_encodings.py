"""REL-37: whatever the bytes claim to be, the item is kept and its text is right."""

import pytest

from tests.connectors.feed.builders import URL
from tests.data.feeds.make import corpus
from tsuzuki.connectors.feed.document import decode
from tsuzuki.connectors.feed.parser import parse_anyhow
from tsuzuki.model.requests import charset_of

JAPANESE = "ランプの番人と夜の街"
FRENCH = "L’été à Besançon – déjà vu…"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("utf8-bom", JAPANESE),
        ("utf16-bom", JAPANESE),
        ("utf16-no-bom", JAPANESE),
        ("utf16-be-no-bom", JAPANESE),
        ("utf32", JAPANESE),
        ("latin1", FRENCH),
        ("cp1252", FRENCH),
        ("claims-utf8-is-cp1252", FRENCH),
        ("shift-jis", JAPANESE),
        ("euc-jp", JAPANESE),
        ("iso-2022-jp", JAPANESE),
        ("gb2312", "灯夫和夜晚的城市"),
        ("koi8", "Фонарщик"),
        ("unknown-name", JAPANESE),
        ("bom-and-other-name", JAPANESE),
        ("claims-latin1-is-utf8", FRENCH),
        ("one-stray-byte", JAPANESE),
        ("nul", JAPANESE),
        ("control", JAPANESE),
        ("surrogate-reference", JAPANESE),
        ("double", FRENCH),
        ("c1-reference", "it’s – fine"),
    ],
)
def test_the_text_is_right(name: str, expected: str):
    harvest = parse_anyhow(corpus()[f"encoding-{name}.xml"], URL)
    assert [(item.title, item.content) for item in harvest.items] == [("Part 1", expected)]


@pytest.mark.parametrize(
    ("content_type", "expected"),
    [
        ("text/xml; charset=utf-8", "utf-8"),
        ('application/rss+xml;charset="Shift_JIS"', "Shift_JIS"),
        ("text/xml; CHARSET = 'koi8-r'", "koi8-r"),
        ("text/xml", None),
        ("", None),
    ],
)
def test_the_charset_of_a_content_type(content_type: str, expected: str | None):
    assert charset_of(content_type) == expected


def test_the_header_names_the_encoding_where_the_document_does_not():
    assert decode("<rss>夜の街</rss>".encode("cp932"), "Shift_JIS") == "<rss>夜の街</rss>"


@pytest.mark.parametrize(
    "charset", ["utf-7", "idna", "unicode_escape", "rot13", "hex", "zlib", "no such", "\x00", "undefined"]
)
def test_an_encoding_that_is_none_is_not_believed(charset: str):
    assert decode(b"<rss>caf\xe9</rss>", charset) == "<rss>café</rss>"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "cp932", "iso-2022-jp", "gb18030", "euc-kr"])
def test_broken_bytes_never_fail(encoding: str):
    body = f'<?xml version="1.0" encoding="{encoding}"?><rss>'.encode() + bytes(range(256)) * 3
    assert decode(body, encoding).encode("utf-8")
