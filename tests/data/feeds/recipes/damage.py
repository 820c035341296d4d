"""Documents that are not quite what they claim: encodings (REL-37), broken XML, JSON Feed beside them."""

import json

from tests.data.feeds.recipes.shapes import item, rss

JAPANESE = rss(item("<description>ランプの番人と夜の街</description>")).decode()
FRENCH = rss(item("<description>L’été à Besançon – déjà vu…</description>")).decode()


def _encodings() -> dict[str, bytes]:
    def declared(text: str, name: str) -> str:
        return text.replace('encoding="UTF-8"', f'encoding="{name}"')

    return {
        "encoding-utf8-bom": b"\xef\xbb\xbf" + JAPANESE.encode(),
        "encoding-utf16-bom": declared(JAPANESE, "UTF-16").encode("utf-16"),
        "encoding-utf16-no-bom": declared(JAPANESE, "UTF-16").encode("utf-16-le"),
        "encoding-utf16-be-no-bom": declared(JAPANESE, "UTF-16").encode("utf-16-be"),
        "encoding-utf32": declared(JAPANESE, "UTF-32").encode("utf-32"),
        "encoding-latin1": declared(FRENCH, "iso-8859-1").encode("cp1252"),
        "encoding-cp1252": declared(FRENCH, "windows-1252").encode("cp1252"),
        "encoding-claims-utf8-is-cp1252": FRENCH.encode("cp1252"),
        "encoding-shift-jis": declared(JAPANESE, "Shift_JIS").encode("cp932"),
        "encoding-euc-jp": declared(JAPANESE, "EUC-JP").encode("euc-jp"),
        "encoding-iso-2022-jp": declared(JAPANESE, "ISO-2022-JP").encode("iso-2022-jp"),
        "encoding-gb2312": declared(rss(item("<description>灯夫和夜晚的城市</description>")).decode(), "gb2312").encode(
            "gb18030"
        ),
        "encoding-koi8": declared(rss(item("<description>Фонарщик</description>")).decode(), "koi8-r").encode("koi8-r"),
        "encoding-unknown-name": declared(JAPANESE, "x-foo").encode(),
        "encoding-bom-and-other-name": b"\xef\xbb\xbf" + declared(JAPANESE, "iso-8859-1").encode(),
        "encoding-claims-latin1-is-utf8": declared(FRENCH, "iso-8859-1").encode(),
        "encoding-one-stray-byte": JAPANESE.encode().replace(b"A comic", b"A com\xe9dy"),
        "encoding-nul": JAPANESE.encode().replace(b"Part 1", b"Pa\x00rt 1"),
        "encoding-control": JAPANESE.encode().replace(b"Part 1", b"Pa\x0brt\x1f 1"),
        "encoding-surrogate-reference": JAPANESE.encode().replace(b"Part 1", b"Pa&#xD800;rt 1"),
        "encoding-double": FRENCH.encode().decode("latin-1").encode(),
        "encoding-c1-reference": rss(item("<description>it&#146;s &#150; fine</description>")),
    }


def _broken() -> dict[str, bytes]:
    sound = rss(item("<description>words</description>"), item(number=2))
    return {
        "broken-bare-ampersand": sound.replace(b"words", b"salt & pepper"),
        "broken-html-entity": sound.replace(b"words", b"salt&nbsp;&mdash; pepper"),
        "broken-unclosed-tag": sound.replace(b"words", b"one<br>two"),
        "broken-unclosed-item": sound.replace(b"</item>\n<item>", b"<item>"),
        "broken-truncated": sound[: sound.index(b"Part 2")],
        "broken-truncated-in-tag": sound[: sound.index(b"</channel>") + 4],
        "broken-junk-before": b"Warning: date() in /var/www on line 3<br />\n" + sound,
        "broken-junk-after": sound + b"<script>count()</script>\n<!-- cached -->",
        "broken-undeclared-prefix": sound.replace(b"<description>", b"<dc:creator>Ada</dc:creator><description>"),
        "broken-attribute-without-quotes": sound.replace(b'isPermaLink="false"', b"isPermaLink=false"),
        "broken-crossed-tags": sound.replace(b"words", b"<b><i>words</b></i>"),
        "broken-cdata-end": sound.replace(b"words", b"a ]]> b"),
        "broken-lone-less-than": sound.replace(b"words", b"1 < 2"),
        "broken-two-declarations": b'<?xml version="1.0"?>\n' + sound,
        "broken-space-before-declaration": b"  \n" + sound,
        "broken-case-of-end-tag": sound.replace(b"</title>", b"</TITLE>"),
    }


def _json() -> dict[str, bytes]:
    version = "https://jsonfeed.org/version/1.1"
    page = "https://comic.example/part/1"

    def feed(*items: object, **over: object) -> bytes:
        document = {"version": version, "title": "The Lamplighter", "home_page_url": "https://comic.example/", **over}
        return json.dumps(document | {"items": list(items)}, ensure_ascii=False, indent=1).encode()

    return {
        "json11": feed({"id": "1", "url": page, "title": "Part 1", "content_html": "<p>x</p>", "tags": ["a", "b"],
                        "date_published": "2024-03-01T10:20:30Z", "authors": [{"name": "Ada"}]}),
        "json10": feed({"id": "1", "url": page, "content_text": "1 < 2\nnext", "author": {"name": "Ada"}},
                       version="https://jsonfeed.org/version/1"),
        "json-numeric-id": feed({"id": 7, "url": page}),
        "json-attachment": feed({"id": "1", "attachments": [{"url": "/1.mp3", "mime_type": "audio/mpeg",
                                                            "size_in_bytes": 10, "duration_in_seconds": 61}]}),
        "json-images": feed({"id": "1", "image": "/i.png", "banner_image": "/b.png"}),
        "json-feed-fields": feed(icon="/icon.png", favicon="/f.ico", language="ja", description="d",
                                 hubs=[{"type": "WebSub", "url": "https://hub.example/"}],
                                 feed_url="https://comic.example/feed.json", authors=[{"name": "Ada"}, {"name": "Bo"}]),
        "json-external-url": feed({"id": "1", "external_url": "https://other.example/"}),
        "json-wrong-types": feed({"id": None, "url": 5, "title": ["x"], "tags": "a", "authors": {}, "attachments": [1]},
                                 "not an item", title=3, hubs="x"),
        "json-summary": feed({"id": "1", "content_html": "<p>long</p>", "summary": "short"}),
        "json-bom": b"\xef\xbb\xbf" + feed({"id": "1"}),
        "json-empty": feed(),
    }  # fmt: skip


def recipes() -> dict[str, bytes]:
    files = {f"{name}.xml": body for name, body in (_encodings() | _broken()).items()}
    return files | {f"{name}.json": body for name, body in _json().items()}
