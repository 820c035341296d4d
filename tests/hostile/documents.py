"""Feeds that are made to be slow, each in another way; small enough that any publisher could send them."""

from collections.abc import Callable
from html import escape

_FDFA = "\ufdfa"  # one character that becomes eighteen when it is folded


def _feed(inside: str, *, around: str = "") -> bytes:
    namespaces = (
        'xmlns:media="http://search.yahoo.com/mrss/" xmlns:dc="http://purl.org/dc/elements/1.1/" '
        'xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd"'
    )
    return (
        f'<rss version="2.0" {namespaces}><channel><title>A feed</title>{around}'
        f"<item><guid>1</guid><title>An item about a gull</title>{inside}</item></channel></rss>"
    ).encode()


def _markup(markup: str) -> bytes:
    return _feed(f"<description>{escape(markup)}</description>")


DOCUMENTS: dict[str, Callable[[], bytes]] = {
    "a srcset of commas": lambda: _markup(f'<img src="x.gif" srcset="{"a" * 9_000}{", " * 5_000}">'),
    "a srcset of one address": lambda: _markup(f'<img srcset="{"," * 20_000}">'),
    "a picture that may be a placeholder": lambda: _markup(f'<img srcset="a 1x" src="{"pixel" * 20_000}">'),
    "a picture that may count readers": lambda: _markup(f"<img width={' ' * 60_000}x>" * 3),
    "tags that hide in attributes": lambda: _markup('<div title="<">' * 27_000),
    "elements that are never closed": lambda: _markup("<div>" * 60_000),
    "formatting that is never closed": lambda: _markup("<b><i><u><p>" * 15_000),
    "tables within tables": lambda: _markup("<table><tr><td>" * 15_000),
    "comments that never end": lambda: _markup("<!--" * 60_000),
    "a thousand attributes": lambda: _markup("<p " + " ".join(f"a{n}=1" for n in range(20_000)) + ">"),
    "attributes without end": lambda: _markup("<a " + "x='" * 60_000),
    "quotes without end": lambda: _markup('<img alt="' + "'" * 200_000),
    "links without end": lambda: _markup('<a href="https://example.org/">x</a>' * 30_000),
    "styles": lambda: _markup(f'<img style="{"width :" * 20_000}" src="a.png">' * 2),
    "frames": lambda: _markup('<iframe src="https://www.youtube.com/embed/x"></iframe>' * 10_000),
    "words of eighteen letters each": lambda: _feed(f"<description>{_FDFA * 150_000}</description>"),
    "one word": lambda: _feed(f"<description>{'a' * 900_000}</description>"),
    "characters without spaces": lambda: _feed(f"<description>{'続' * 300_000}</description>"),
    "accents upon accents": lambda: _feed(f"<description>a{chr(0x301) * 400_000}</description>"),
    "numbers of characters": lambda: _feed(f"<description>{'&amp;#' * 100_000}</description>"),
    "bare ampersands": lambda: _feed(f"<description>{'&' * 300_000}</description>"),
    "keywords": lambda: _feed("<media:keywords>" + ",".join(f"k{n}" for n in range(32_000)) + "</media:keywords>"),
    "categories": lambda: _feed("".join(f"<category>c{n}</category>" for n in range(30_000))),
    "authors": lambda: _feed("".join(f"<dc:creator>{n}@example.org (n{n})</dc:creator>" for n in range(30_000))),
    "an author of addresses": lambda: _feed(f"<author>{'a.' * 60_000}@{'b.' * 60_000}</author>"),
    "recordings": lambda: _feed("".join(f'<enclosure url="https://e.org/{n}" type="audio/x"/>' for n in range(20_000))),
    "thumbnails": lambda: _feed("".join(f'<media:thumbnail url="https://e.org/{n}"/>' for n in range(20_000))),
    "groups of media": lambda: _feed("<media:group>" * 200 + "</media:group>" * 200),
    "titles": lambda: _feed("<title>again</title>" * 30_000),
    "a title": lambda: _feed(f"<title>{'<' * 200_000}</title>".replace("<<", "&lt;&lt;").replace("<&lt;", "&lt;&lt;")),
    "dates": lambda: _feed(f"<pubDate>{'1 ' * 100_000}</pubDate>"),
    "a date of letters": lambda: _feed(f"<pubDate>{'Mon, ' * 50_000}</pubDate>"),
    "elements within elements": lambda: _feed("<x>" * 100_000),
    "elements beside elements": lambda: _feed("<x/>" * 200_000),
    "prefixes": lambda: _feed("".join(f'<a{n}:x xmlns:a{n}="urn:{n}"/>' for n in range(10_000))),
    "entities that grow": lambda: (
        b'<!DOCTYPE rss [<!ENTITY a "aaaaaaaaaa">'
        + b"".join(b'<!ENTITY a%d "%s">' % (n, b"&a%d;" % (n - 1) * 10 if n else b"&a;" * 10) for n in range(12))
        + b"]>"
        + _feed("<description>&a11;</description>")
    ),
    "a doctype without end": lambda: b"<!DOCTYPE rss [" + b"<!ENTITY a 'b'" * 30_000,
    "processing without end": lambda: b"<?xml version='1.0'?>" + b"<?x " * 100_000 + _feed(""),
    "sections of characters": lambda: _feed(
        "<description><![CDATA[" + "]]]]><![CDATA[>" * 40_000 + "]]></description>"
    ),
    "JSON within JSON": lambda: b'{"version": "https://jsonfeed.org/version/1.1", "items": ' + b"[" * 100_000,
    "JSON items": lambda: (
        b'{"version": "https://jsonfeed.org/version/1.1", "title": "t", "items": ['
        + b",".join(b'{"id": "%d", "tags": [%s]}' % (n, b'"t",' * 20 + b'"u"') for n in range(8_000))
        + b"]}"
    ),
    "JSON items of many words each": lambda: (
        b'{"version": "https://jsonfeed.org/version/1.1", "title": "t", "items": ['
        + b",".join(
            b'{"id":"%d","tags":[%s]}' % (n, b",".join(b'"t%d"' % word for word in range(100))) for n in range(10_000)
        )
        + b"]}"
    ),
    "items": lambda: _feed("</item>" + "<item><title>x</title>" * 1 + "</item><item>" * 20_000),
    "a page that is no feed": lambda: b"<html><body>" + b"<div class='a'><p>" * 40_000,
    "blanks": lambda: b" " * 900_000,
    "angle brackets": lambda: b"<" * 900_000,
    "zeroes": lambda: b"\x00" * 900_000 + _feed(""),
}
