"""What is not well-formed is read as if it were, wherever it is plain what was meant."""

import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from tests.connectors.feed.builders import URL, harvest_of
from tests.data.feeds.make import corpus, generators
from tests.data.feeds.recipes.shapes import item, rss
from tests.scale import examples
from tsuzuki.connectors.feed.document import decode
from tsuzuki.connectors.feed.parser import parse_anyhow, parse_fast, parse_leniently, read_fast
from tsuzuki.connectors.feed.repairs import balanced, with_sound_references
from tsuzuki.model.harvest import FeedHarvest

_TEXT = re.compile(r">[^<>&]*[^<>&\s][^<>&]*<|=\"[^\"<>&]+\"")


def places(text: str) -> Iterator[int]:
    """Within each text and each attribute of a document, from its root on; CDATA aside."""
    start = text.index("<", text.find("?>") + 1)
    for found in _TEXT.finditer(text, start):
        place = found.end() - 1
        if text.rfind("<![CDATA[", 0, place) <= text.rfind("]]>", 0, place):
            yield place


def said(harvest: FeedHarvest) -> tuple[object, ...]:
    return tuple((found.title, found.content, found.summary, found.author, found.link) for found in harvest.items)


def test_a_bare_ampersand_anywhere_changes_no_key_and_no_text():
    """With `&amp;` in the same place the document is sound: both readers have to say the same, to the letter."""
    count = same_texts = 0
    for name, body in (corpus() | generators()).items():
        if not name.endswith(".xml") or read_fast(body, URL) is None:
            continue
        text = decode(body)
        for place in places(text):
            sound = parse_fast(f"{text[:place]} &amp; x{text[place:]}".encode(), URL)
            bare = f"{text[:place]} & x{text[place:]}".encode()
            if sound is None or parse_fast(bare, URL) is not None:
                continue  # no place of the feed's
            broken = parse_leniently(bare, URL)
            assert [found.key for found in broken.items] == [found.key for found in sound.items], (name, place)
            count += 1
            same_texts += said(broken) == said(sound)
    assert count > 2000
    assert same_texts / count >= 0.995


@pytest.mark.parametrize(
    ("damaged", "meant"),
    [
        ("salt & pepper", "salt &amp; pepper"),
        ("a&b;c &amp; d", "a&amp;b;c &amp; d"),
        ("x&nbsp;y&eacute;", "x&#160;y&#233;"),
        ("&lt;b&gt; &#65; &#x41; &apos;", "&lt;b&gt; &#65; &#x41; &apos;"),
        ("&#0;&#xD800;&#99999999999;x", "&amp;#99999999999;x"),
        ("<![CDATA[a & b]]>&", "<![CDATA[a & b]]>&amp;"),
        ("<!-- & -->&", "<!-- & -->&amp;"),
        ("<![CDATA[cut & off", "<![CDATA[cut & off"),
    ],
)
def test_references_become_sound(damaged: str, meant: str):
    assert with_sound_references(damaged) == meant


@pytest.mark.parametrize(
    ("damaged", "meant"),
    [
        ("<r><b><i>x</b></i><k/></r>", "<r><b><i>x</i></b><k/></r>"),
        ("<r>one<br>two<hr/></br></r>", "<r>one<br/>two<hr/></r>"),
        ("<r><item>1<item>2</item></r>", "<r><item>1</item><item>2</item></r>"),
        ("<r><p>1<p>2</r>", "<r><p>1</p><p>2</p></r>"),
        ("<r>1 < 2, x<y</r>", "<r>1 &lt; 2, x&lt;y</r>"),
        ("<r>a ]]> b</r>", "<r>a ]]&gt; b</r>"),
        ("<r><t>x</T></r>", "<r><t>x</t></r>"),
        ("<r><t>x</t></u><k>y</k></r>", "<r><t>x</t><k>y</k></r>"),
        ("<r><g a=1 b='2' a=3 href=http://x/y>z</g></r>", '<r><g a="1" b=\'2\' href="http://x/y">z</g></r>'),
        ("<r><t>cut <![CDATA[off", "<r><t>cut <![CDATA[off]]></t></r>"),
        ("<r><t>cut</t", "<r><t>cut&lt;/t</t></r>"),
        ("<r><?php x <t>y</t></r>", "<r>&lt;?php x <t>y</t></r>"),
        ("<r a='x>y'>z</r>", "<r a='x>y'>z</r>"),
    ],
)
def test_tags_are_made_to_nest(damaged: str, meant: str):
    assert balanced(damaged) == meant


PIECES = "<a> </a> <item> <br> <b > <![CDATA[ ]]> <!-- --> x </ <? & ' \" <p/> </item> = 日"


@given(st.lists(st.sampled_from(PIECES.split(" ")), max_size=30).map("".join))
@examples(1000)
def test_whatever_it_was_can_be_parsed_then(damaged: str):
    etree.fromstring(balanced(with_sound_references(f"<r>{damaged}")).encode())


def test_one_broken_entry_costs_no_other():
    entries = [item(f"<description>Words {number}</description>", number=number) for number in range(1, 6)]
    entries[2] = entries[2].replace("Words 3", "<b><i>Words</b> <img src=x> & <unclosed>1 < 3")
    harvest = parse_anyhow(rss(*entries), URL)
    assert [found.key for found in harvest.items] == [f"part-{number}" for number in range(1, 6)]
    assert [found.content for found in harvest.items][3] == "Words 4"


def test_a_title_that_is_never_closed_swallows_nothing():
    [item] = harvest_of(
        "<title>One<link>https://a.example/1</link><guid>g1</guid><description>Words</description>"
    ).items
    assert (item.title, item.key, item.link, item.content) == ("One", "g1", "https://a.example/1", "Words")


def test_feedparser_is_asked_where_our_reader_finds_no_entry():
    """Entries where no format has them: feedparser takes them from anywhere."""
    body = rss().replace(b"</channel>", b"<items>" + item("<b>").encode() + b"</items></channel>")
    harvest = parse_anyhow(body, URL)
    assert [found.key for found in harvest.items] == ["part-1"]
