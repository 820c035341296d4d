"""SEC-19, SEC-20: no DTD read, no entities, bounded size, depth and nodes; before any parser that could be hurt."""

from contextlib import suppress
from functools import partial

import pytest

from tests.connectors.feed.builders import URL
from tests.data.feeds.recipes.shapes import item, rss
from tests.growth import within
from tsuzuki.connectors.feed.document import MAX_BYTES, MAX_DEPTH, MAX_NODES, check_shape, root_text
from tsuzuki.connectors.feed.parser import parse_anyhow, parse_fast, parse_leniently
from tsuzuki.model.errors import NotAFeed, SourceError, TooLarge

SOUND = rss(item("<description>words</description>"))
LAUGHS = (
    b'<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY a "ha">'
    + b"".join(b'<!ENTITY a%d "%s">' % (n, b"&a%d;" % (n - 1) * 10 if n else b"&a;" * 10) for n in range(10))
    + b"]><rss version='2.0'><channel><title>&a9;</title></channel></rss>"
)
DTDS = {
    "billion laughs": LAUGHS,
    "quadratic blow-up": b'<!DOCTYPE rss [<!ENTITY a "' + b"x" * 50_000 + b'">]><rss><channel><title>'
    + b"&a;" * 5000 + b"</title></channel></rss>",
    "external entity": b'<!DOCTYPE rss [<!ENTITY x SYSTEM "file:///etc/passwd">]><rss><channel><title>&x;</title>'
    b"</channel></rss>",
    "parameter entity": b'<!DOCTYPE rss [<!ENTITY % x SYSTEM "http://127.0.0.1/x.dtd"> %x;]><rss><channel/></rss>',
    "lower case": b'<!doctype rss [<!entity x "y">]><rss><channel><title>&x;</title></channel></rss>',
    "behind a comment": b'<!-- x --><!DOCTYPE rss [<!ENTITY x "y">]><rss><channel><title>&x;</title></channel></rss>',
    "behind junk": b'junk <!DOCTYPE rss [<!ENTITY x "y">]><rss><channel><title>&x;</title></channel></rss>',
    "in UTF-16": '<!DOCTYPE rss [<!ENTITY x "y">]><rss><channel><title>&x;</title></channel></rss>'.encode("utf-16"),
    "with signs in texts": b"<!DOCTYPE rss [<!-- ]> it's --><?x ]> ?><!ENTITY x ']>'><!ENTITY y \"'>]>\">]>"
    b"<rss><channel><title>&x;</title></channel></rss>",
}  # fmt: skip


@pytest.mark.parametrize("name", DTDS)
def test_a_dtd_is_skipped_and_its_entities_stay_unread(name: str):
    for reader in (parse_anyhow, parse_leniently):
        harvest = within(1, partial(reader, DTDS[name], URL))
        assert harvest.title in {"", "&a9;", "&x;", "&a;" * 333 + "&"}


@pytest.mark.parametrize(
    "body", [b"<!DOCTYPE rss [" + b"<!ENTITY x 'y'>" * 1000, b"<!DOCTYPE rss [" + b"'" * 1001, b"<!DOCTYPE rss [<!--"]
)
def test_a_dtd_that_never_ends_is_no_feed(body: bytes):
    with pytest.raises(NotAFeed, match="DTD"):
        parse_anyhow(body, URL)


def test_items_after_a_dtd_are_parsed_with_html_entities():
    dtd = b'<!DOCTYPE rss [<!ENTITY % HTMLlat1 PUBLIC "-//W3C//ENTITIES Latin 1//EN" "lat1.ent"> %HTMLlat1;]>'
    harvest = parse_anyhow(SOUND.replace(b"<rss", dtd + b"<rss").replace(b"words", b"caf&eacute; &amp; tea"), URL)
    assert harvest.items[0].content == "café &amp; tea"


XMP = (
    b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
    b'<rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Lamp</dc:title>'
    b"</rdf:Description></rdf:RDF></x:xmpmeta>"
)


@pytest.mark.parametrize(
    "body",
    [b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + XMP + b"\x00IEND", b"%PDF-1.7 " + XMP + b" %%EOF",
     XMP[XMP.index(b"<rdf:RDF") : -len(b"</x:xmpmeta>")], b"\xff\xd8\xff\xe1\x00\x10" + SOUND],
    ids=["PNG", "PDF", "bare", "JPEG"],
)  # fmt: skip
def test_a_picture_that_describes_itself_is_no_feed(body: bytes):
    for reader in (parse_anyhow, parse_leniently):
        with pytest.raises(NotAFeed):
            reader(body, URL)


def test_a_doctype_that_declares_nothing_is_dropped():
    doctype = b'<!DOCTYPE rss PUBLIC "-//Netscape//DTD RSS 0.91//EN" "http://my.netscape.com/rss-0.91.dtd">'
    harvest = parse_fast(SOUND.replace(b"<rss", doctype + b"<rss"), URL)
    assert harvest is not None
    assert "DOCTYPE" not in root_text((doctype + SOUND[SOUND.index(b"<rss") :]).decode())


def test_a_doctype_inside_a_text_is_only_text():
    harvest = parse_fast(SOUND.replace(b"words", b"<![CDATA[<!DOCTYPE html [<!ENTITY x 'y'>]><p>words</p>]]>"), URL)
    assert harvest is not None
    assert "words" in harvest.items[0].content


def deep(levels: int) -> bytes:
    return SOUND.replace(b"words", b"<d>" * levels + b"x" + b"</d>" * levels)


@pytest.mark.parametrize("levels", [MAX_DEPTH, 5000, 500_000])
def test_nesting_too_deep_is_too_large(levels: int):
    with pytest.raises(TooLarge, match="deep"):
        parse_anyhow(deep(levels), URL)


def test_deep_nesting_is_too_large_even_when_broken():
    broken = deep(5000).replace(b"<title>", b"<title>&nope;")
    with pytest.raises(TooLarge, match="deep"):
        parse_anyhow(broken, URL)


def test_nesting_within_bounds_is_read():
    assert parse_fast(deep(MAX_DEPTH - 10), URL) is not None


def test_too_many_elements_are_too_large():
    with pytest.raises(TooLarge, match="elements"):
        parse_anyhow(SOUND.replace(b"words", b"<x/>" * (MAX_NODES + 1)), URL)
    with pytest.raises(TooLarge, match="elements"):
        check_shape("<rss>" + "<x></x>" * (MAX_NODES + 1) + "</rss>")


def test_much_markup_in_a_text_is_not_many_elements():
    harvest = parse_fast(SOUND.replace(b"words", b"<![CDATA[" + b"<i>x</i>" * MAX_NODES + b"]]>"), URL)
    assert harvest is not None
    assert harvest.items[0].content.startswith("<i>x</i>")


def test_too_many_bytes_are_too_large():
    with pytest.raises(TooLarge, match="bytes"):
        parse_fast(b" " * (MAX_BYTES + 1), URL)
    with pytest.raises(TooLarge, match="bytes"):
        parse_leniently(b" " * (MAX_BYTES + 1), URL)


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"<!DOCTYPE html><html><body>Please sign in</body></html>", "web page"),
        (b"<html><head><title>Hotel WiFi</title></head></html>", "web page"),
        (b"  \n<!-- x --><HTML><body></body></HTML>", "web page"),
        (b'<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "x"><html xmlns="x"></html>', "web page"),
        (b'<?xml version="1.0"?><opml version="2.0"><body/></opml>', "<opml>"),
        (b"<urlset><url><loc>x</loc></url></urlset>", "<urlset>"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'><feed/></svg>", "<svg>"),
        (b"just words", "neither XML nor JSON"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "neither XML nor JSON"),
        (b'{"errors": []}', "not a JSON Feed"),
        (b'{"version": "https://jsonfeed.org/version/1.1"', "is not valid"),
        (b"", "neither XML nor JSON"),
    ],
)
def test_what_is_no_feed_is_named(body: bytes, sentence: str):
    with pytest.raises(NotAFeed, match=sentence):
        parse_anyhow(body, URL)


@pytest.mark.parametrize(
    "body",
    [
        b"<![CDATA[" * 100_000,
        b"<rss>" + b"<![CDATA[" * 100_000,
        b"<rss><!--" * 50_000,
        b"<rss " + b"a='" * 100_000,
        b"<rss>" + b"<" * 300_000,
        b"<rss>" + b"&" * 300_000,
        b"<!DOCTYPE rss " + b'"' * 99_999,
        b"<!DOCTYPE rss " + b"\"'" * 50_000,
        b"<rss><channel><item><link>" + b"https://" * 30_000 + b"</link></item></channel></rss>",
        b"<rss><channel><item><author>" + b"a@" * 50_000 + b"</author></item></channel></rss>",
        b"<rss><channel><item><author>" + b"a." * 50_000 + b"@</author></item></channel></rss>",
        b"<rss><channel><item><pubDate>" + b"Mon " * 50_000 + b"</pubDate></item></channel></rss>",
        b"<rss><channel><item><title>" + b"&amp;a" * 50_000 + b"</title></item></channel></rss>",
        b"<rss><channel><item><description>" + b"&lt;a " * 50_000 + b"</description></item></channel></rss>",
        b"<rss><channel><item><description>&lt;img srcset='"
        + b"a ," * 50_000
        + b"'&gt;</description></item></channel></rss>",
    ],
    ids=range(15),
)
def test_no_document_makes_a_pattern_run_away(body: bytes):
    """SEC-21: seconds, not minutes, whatever stands in it."""

    def read() -> None:
        with suppress(SourceError):
            parse_fast(body, URL)
            check_shape(body.decode())

    within(5, read)
