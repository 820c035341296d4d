"""OPML in and out: nested, damaged, hostile."""

from contextlib import nullcontext

import pytest
from lxml import etree

from tests.growth import within
from tsuzuki.connectors.opml import MAX_BYTES, Outline, read_opml, write_opml
from tsuzuki.model.errors import SourceError

NESTED = b"""<?xml version="1.0" encoding="UTF-8"?>
<opml version="2.0">
  <head><title>Mine</title></head>
  <body>
    <outline text="Top" xmlUrl="https://example.org/top"/>
    <outline text="News">
      <outline title="Daily" text="x" xmlUrl="https://example.org/daily" htmlUrl="https://example.org/"/>
      <outline text="Local">
        <outline text="Town" XMLURL="https://example.org/town"/>
      </outline>
      <outline text="Weekly" xmlUrl="https://example.org/weekly"/>
    </outline>
    <outline text="Empty"/>
    <outline text="A page" type="link" url="https://example.org/page"/>
  </body>
</opml>"""


def test_imported_feeds_have_group_paths_and_line_numbers():
    assert read_opml(NESTED) == [
        Outline("https://example.org/top", "Top", line=5),
        Outline("https://example.org/daily", "Daily", "https://example.org/", "News", line=7),
        Outline("https://example.org/town", "Town", None, "News / Local", line=9),
        Outline("https://example.org/weekly", "Weekly", None, "News", line=11),
    ]


@pytest.mark.parametrize(
    "body",
    [
        NESTED.decode().replace("UTF-8", "UTF-16").encode("utf-16"),
        b"\xef\xbb\xbf" + NESTED,
        b"junk before\n\n\n\n" + NESTED,
        NESTED.replace(b"<opml", b"<!DOCTYPE opml SYSTEM 'http://example.org/x.dtd'>\n<opml"),
        NESTED.replace(b'text="Top"', b'text="Top \x0b"'),
        NESTED.replace(b'<opml version="2.0">', b'<opml version="2.0" xmlns="urn:x">'),
    ],
)
def test_lists_that_other_readers_write_are_read_all_the_same(body):
    assert [outline.link[20:] for outline in read_opml(body)] == ["top", "daily", "town", "weekly"]


def test_a_bare_ampersand_is_taken_for_itself():
    [outline] = read_opml(b"<opml><body><outline text='A & B &amp; C' xmlUrl='https://x.org/?a=1&b=2'/></body></opml>")
    assert outline == Outline("https://x.org/?a=1&b=2", "A & B & C", line=1)


LAUGHS = (
    "<!DOCTYPE opml [<!ENTITY a 'lol'>"
    + "".join(f"<!ENTITY {chr(98 + n)} '{f'&{chr(97 + n)};' * 10}'>" for n in range(9))
    + "]>"
)
HOSTILE = {
    "a billion laughs": f"{LAUGHS}<opml><body><outline text='&j;' xmlUrl='https://x.org/'/></body></opml>",
    "an external entity": "<!DOCTYPE opml [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><opml><body>"
    "<outline text='&x;' xmlUrl='https://x.org/'/></body></opml>",
    "a deep nest": "<opml><body>" + "<outline text='x'>" * 500 + "</outline>" * 500 + "</body></opml>",
    "too many elements": "<opml><body>" + "<outline/>" * 200_001 + "</body></opml>",
    "too many feeds": "<opml><body>" + "<outline xmlUrl='https://x.org/'/>" * 10_001 + "</body></opml>",
    "too many bytes": "<opml>" + " " * MAX_BYTES + "</opml>",
    "a feed": "<rss><channel/></rss>",
    "no XML": "hello",
    "nothing": "",
    "half a list": NESTED.decode()[:300],
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_what_is_no_list_or_a_bomb_is_refused(text):
    """SEC-19, SEC-20: quickly, and without a byte from elsewhere."""
    with pytest.raises(SourceError):
        read_opml(text.encode())


def test_what_was_written_reads_the_same_whatever_names_hold():
    """SEC-18: nothing in a name or an address ends its attribute."""
    names = ["<b>\"'&amp;]]>", "続き\x00\x0b", "a\tb", "plain"]
    feeds = [Outline(f"https://example.org/{n}?a=1&b=<", name, "https://x.org/'\"") for n, name in enumerate(names)]
    body = write_opml('"><evil', {"": feeds[:2], "<g>&": feeds[2:]})
    root = etree.fromstring(body)
    assert root.get("version") == "2.0"
    assert len(root.findall(".//outline")) == 5
    read = read_opml(body)
    assert [outline.link for outline in read] == [feed.link for feed in feeds]
    assert [outline.title for outline in read] == ["<b>\"'&amp;]]>", "続き", "a b", "plain"]
    assert [outline.group for outline in read] == ["", "", "<g>&", "<g>&"]


@pytest.mark.parametrize(
    ("body", "match"),
    [
        (b"<!DOCTYPE" * 300_000 + b"<opml></opml>", None),
        (b"<opml><outline " + b" ".join(b'a%d="1"' % n for n in range(50_000)) + b"/></opml>", "100 attributes"),
        (b"\xff" * 3_000_000, "not OPML"),
        (b"<opml>" + b"&" * 10_000_000 + b"</opml>", "damaged"),
        (b"<opml><body><outline text='" + b"&" * 10_000_000 + b"'/></body></opml>", "damaged"),
    ],
)
def test_a_hostile_list_costs_no_more_than_its_bytes(body, match):
    """SEC-20: each of these took minutes or hours."""

    def refused() -> None:
        with nullcontext() if match is None else pytest.raises(SourceError, match=match):
            assert read_opml(body) == []

    within(2.0, refused)
