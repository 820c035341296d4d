"""SEC-14: every payload in every field, by every reader: markup is safe, addresses are http, text is text."""

import json
from html import escape
from urllib.parse import urlsplit

import pytest

from tests.cases import hold
from tests.connectors.feed.builders import URL
from tests.connectors.html.payloads import payloads
from tests.connectors.html.test_sanitiser import offences_in
from tests.data.feeds.recipes.shapes import atom, entry, item, rss
from tsuzuki.connectors.feed.parser import parse_anyhow, parse_leniently
from tsuzuki.connectors.html.sanitiser import sanitise, valid_text
from tsuzuki.model.errors import SourceError
from tsuzuki.model.harvest import FeedHarvest, FoundItem


def in_rss(payload: str) -> bytes:
    text = escape(valid_text(payload))
    return rss(
        item(
            f"<title>{text}</title><link>{text}</link><description>{text}</description><author>{text}</author>"
            f"<dc:creator>{text}</dc:creator><category>{text}</category><comments>{text}</comments>"
            f'<enclosure url="{text}" type="{text}"/><media:thumbnail url="{text}"/><itunes:image href="{text}"/>'
            f'<media:content url="{text}" medium="image"/><content:encoded>&lt;img alt="{text}" src="{text}"&gt; {text}'
            "</content:encoded>"
        ),
        f"<item><guid>{text}</guid><title>{text}</title></item>",
        channel=f"<image><url>{text}</url></image><managingEditor>{text}</managingEditor><language>{text}</language>",
        use=("dc", "media", "itunes", "content"),
    )


def in_atom(payload: str) -> bytes:
    text = escape(valid_text(payload))
    return atom(
        entry(
            f'<title type="html">{text}</title><link href="{text}"/>'
            f'<link rel="enclosure" href="{text}" title="{text}"/>'
            f'<content type="html">{text}</content><summary type="text">{text}</summary><author><name>{text}</name>'
            f'</author><category term="{text}" label="{text}"/>'
        ).replace("<id>tag:comic.example,2024:1</id>", f"<id>{text}</id>"),
        feed=f'<subtitle type="html">{text}</subtitle><icon>{text}</icon><link rel="hub" href="{text}"/>',
    )


def in_json(payload: str) -> bytes:
    payload = valid_text(payload)
    entry_ = dict.fromkeys(("id", "url", "title", "content_html", "summary", "image", "external_url"), payload)
    document = {
        **dict.fromkeys(("title", "home_page_url", "description", "icon", "feed_url"), payload),
        "version": "https://jsonfeed.org/version/1.1",
        "items": [entry_ | {"tags": [payload], "authors": [{"name": payload}], "attachments": [{"url": payload}]}],
    }
    return json.dumps(document).encode()


def check_item(found: FoundItem) -> None:
    assert offences_in(found.content) == []
    assert sanitise(found.content, URL) == found.content
    addresses = [
        found.link,
        found.image_url,
        found.comments_url,
        *found.page_urls,
        *(one.url for one in found.enclosures),
    ]
    check_addresses(addresses)
    for text in (found.title, found.summary, found.author, *found.categories, found.key):
        check_text(text)


def check_feed(harvest: FeedHarvest) -> None:
    check_addresses([harvest.site_url, harvest.icon_url, harvest.hub_url, harvest.self_url])
    for text in (harvest.title, harvest.description, harvest.author, harvest.language):
        check_text(text)
    for found in harvest.items:
        check_item(found)


def check_addresses(addresses: list[str | None]) -> None:
    for address in addresses:
        if address is not None:
            assert urlsplit(address).scheme in {"http", "https"}
            assert not set(address) & set("<>\"' \n\t`") - {"'"}


def check_text(text: str | None) -> None:
    """Plain text may hold any letter; it must be text, on one line, and harmless once it is escaped."""
    if text is not None:
        assert text == valid_text(text)
        assert "\n" not in text
        assert offences_in(escape(text)) == []


@pytest.mark.parametrize("build", [in_rss, in_atom, in_json])
def test_a_payload_in_every_field_is_harmless(build):
    hold(lambda payload: check_feed(parse_anyhow(build(payload), URL)), payloads())


@pytest.mark.parametrize("build", [in_rss, in_atom])
def test_a_payload_in_any_field_read_by_feedparser_is_harmless(build):
    hold(lambda payload: check_feed(parse_leniently(build(payload), URL)), payloads())


def test_a_payload_as_bare_markup_of_the_document_is_harmless():
    """Nobody escapes a payload before sending it: here it breaks the document as well."""
    read = []

    def check(payload: str) -> None:
        text = valid_text(payload)
        body = rss(f"<item><title>{text}</title><description>{text}</description></item>", item())
        try:
            harvest = parse_anyhow(body, URL)
        except SourceError:
            return
        read.append(payload)
        check_feed(harvest)

    hold(check, payloads())
    assert len(read) > len(payloads()) / 2, "hardly a document was read"


@pytest.mark.parametrize("site", ["a://[", "http://[", "//[x", "http://a]/", "http://[::1", "a:"])
def test_a_site_whose_address_cannot_be_read_costs_no_item(site):
    """It is what addresses of an item without a link would be relative to."""
    told = "<item><guid>1</guid><description>&lt;a href='/b'&gt;b&lt;/a&gt;</description></item>"
    body = rss(told).replace(b"<link>https://comic.example/</link>", f"<link>{site}</link>".encode())
    assert site.encode() in body
    [found] = parse_anyhow(body, URL).items
    assert f"{urlsplit(URL).scheme}://{urlsplit(URL).netloc}/b" in found.content
