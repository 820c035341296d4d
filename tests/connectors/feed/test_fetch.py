"""R26, R27, R29: the one verb of a feed, from an answer to an outcome."""

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

import pytest

from tests.connectors.feed.builders import URL, Outside, a_reply
from tests.data.feeds.make import corpus
from tests.data.feeds.recipes.shapes import item, rss
from tsuzuki.connectors.feed import FeedOutcome, parse_anyhow, parse_leniently, visit
from tsuzuki.connectors.feed.fetch import body_hash, moved_to
from tsuzuki.model.errors import NotAFeed, TooLarge
from tsuzuki.model.requests import Hop, Reply, Validators
from tsuzuki.model.times import DAY, SECOND, Millis
from tsuzuki.net.headers import retry_after

SOUND = rss(item())
BROKEN = corpus()["broken-html-entity.xml"]
LARGE = rss(*(item(f"<description>{'words ' * 200}</description>", number=n) for n in range(200)))


NOTHING = Validators()


def visited(
    reply: Reply, validators: Validators = NOTHING, previous: bytes | None = None
) -> tuple[FeedOutcome, Outside]:
    outside = Outside({URL: reply})
    return outside.run(visit(URL, validators, previous)), outside


def test_the_validators_are_echoed_byte_for_byte():
    validators = Validators('W/"a b"', "Fri, 01 Mar 2024 10:00:00 GMT")
    _, outside = visited(a_reply(SOUND), validators)
    assert outside.asked[0].validators == validators
    assert "application/rss+xml" in outside.asked[0].headers["Accept"]


def test_a_first_visit_returns_harvest_validators_and_hash():
    outcome, _ = visited(a_reply(SOUND, etag='"1"', last_modified="yesterday", cache_control="max-age=60"))
    assert outcome.harvest is not None
    assert outcome.validators == Validators('"1"', "yesterday", URL)
    assert outcome.body_hash == body_hash(SOUND)
    assert (outcome.status, outcome.moved_to, outcome.retry_after) == (200, None, None)
    assert outcome.headers["cache-control"] == "max-age=60"


def test_rel_21_every_retry_after_on_the_way_is_kept():
    """Retry-After on 200 and on redirects; which of them counts, `retry_after` decides."""
    hops = (Hop(301, "https://a.example/", retry_after="30"), Hop(302, URL))
    outcome, _ = visited(a_reply(SOUND, hops=hops, retry_after="20"))
    assert outcome.retry_after == "30, 20"
    assert retry_after(outcome.retry_after, Millis(0), ceiling=DAY) == 30 * SECOND


def test_a_304_is_unchanged_and_keeps_what_it_omits():
    """R26."""
    outcome, _ = visited(a_reply(status=304, etag='"2"'), Validators('"1"', "yesterday"), b"hash")
    assert outcome.harvest is None
    assert outcome.validators == Validators('"2"', "yesterday", URL)
    assert outcome.body_hash == b"hash"


def test_the_same_body_again_is_unchanged_and_not_parsed():
    """R27: not even looked at, so that a body which cannot be parsed shows it."""
    junk = b"not a feed at all"
    outcome, outside = visited(a_reply(junk, etag='"2"'), Validators('"1"'), body_hash(junk))
    assert outcome.harvest is None
    assert outcome.validators == Validators('"2"', None, URL)
    assert outside.parsed == []


def test_a_changed_body_is_parsed():
    outcome, _ = visited(a_reply(SOUND), previous=body_hash(BROKEN))
    assert outcome.harvest is not None


@pytest.mark.parametrize(("body", "items"), [(SOUND, 1), (BROKEN, 2), (LARGE, 200)])
def test_every_document_is_read_in_the_process_pool(body: bytes, items: int):
    outcome, outside = visited(a_reply(body))
    assert outcome.harvest is not None
    assert len(outcome.harvest.items) == items
    assert outside.parsed == [parse_anyhow]


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as executor:
        yield executor


def test_a_harvest_travels_out_of_a_process(pool: ProcessPoolExecutor):
    assert pool.submit(parse_leniently, BROKEN, URL).result() == parse_leniently(BROKEN, URL)
    assert pool.submit(parse_anyhow, SOUND, URL).result() == parse_anyhow(SOUND, URL)


def test_errors_travel_too(pool: ProcessPoolExecutor):
    with pytest.raises(NotAFeed, match="web page"):
        pool.submit(parse_anyhow, b"<html></html>", URL).result()


@pytest.mark.parametrize("body", [b"", b"  \n ", b"\x00\x00"])
def test_an_empty_answer_is_no_feed(body: bytes):
    with pytest.raises(NotAFeed, match="empty"):
        visited(a_reply(body))


def test_a_captive_portal_is_no_feed():
    with pytest.raises(NotAFeed, match="web page"):
        visited(a_reply(b"<!DOCTYPE html><html><title>Hotel</title></html>", content_type="text/html"))


def test_a_page_that_claims_to_be_xml_is_no_feed():
    with pytest.raises(NotAFeed, match="web page"):
        visited(a_reply(b"<html><body>x</body></html>", content_type="application/rss+xml"))


def test_a_feed_served_as_html_is_a_feed():
    outcome, _ = visited(a_reply(SOUND, content_type="text/html; charset=utf-8"))
    assert outcome.harvest is not None


def test_an_empty_feed_is_a_harvest_without_items():
    """R28 is polling's: it knows whether there was content before."""
    outcome, _ = visited(a_reply(rss()))
    assert outcome.harvest is not None
    assert outcome.harvest.items == ()


def test_a_bomb_is_too_large():
    with pytest.raises(TooLarge):
        visited(a_reply(rss("<d>" * 500 + "</d>" * 500)))


def test_the_charset_of_the_header_is_a_hint():
    body = rss(item("<description>夜の街</description>")).decode().replace(' encoding="UTF-8"', "").encode("cp932")
    outcome, _ = visited(a_reply(body, content_type="text/xml; charset=Shift_JIS"))
    assert outcome.harvest is not None
    assert outcome.harvest.items[0].content == "夜の街"


def test_relative_links_are_relative_to_where_the_feed_was_found():
    found = rss("<item><title>x</title><link>part/1</link></item>")
    outcome, _ = visited(a_reply(found, url="https://moved.example/rss/all"))
    assert outcome.harvest is not None
    assert outcome.harvest.items[0].link == "https://moved.example/rss/part/1"


@pytest.mark.parametrize(
    ("hops", "expected"),
    [
        ((), None),
        ((Hop(301, "b"),), "b"),
        ((Hop(301, "b"), Hop(308, "c")), "c"),
        ((Hop(301, "b"), Hop(302, "c")), "b"),
        ((Hop(302, "b"), Hop(301, "c")), None),
        ((Hop(307, "b"),), None),
    ],
)
def test_only_a_way_that_begins_permanently_moves_a_feed(hops: tuple[Hop, ...], expected: str | None):
    """R29: what comes after a temporary hop may be another place tomorrow."""
    assert moved_to(hops) == expected
