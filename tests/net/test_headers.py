"""Freshness, Retry-After, rate limits and validators: tables of vectors."""

import pytest

from tsuzuki import __version__
from tsuzuki.model.requests import RateHeaders, Validators
from tsuzuki.model.times import DAY, HOUR, SECOND, Millis
from tsuzuki.net.headers import (
    LONGEST_FRESHNESS,
    PROJECT_URL,
    echo,
    freshness,
    harmless,
    has_credentials,
    http_date,
    rate_limit_wait,
    retry_after,
    sendable,
    user_agent,
)

NOON = Millis(1_771_761_600_000)
"""2026-02-22T12:00:00Z."""
CEILING = Millis(2 * DAY)
NOON_TEXT = "Sun, 22 Feb 2026 12:00:00 GMT"
ONE_O_CLOCK = "Sun, 22 Feb 2026 13:00:00 GMT"


@pytest.mark.parametrize(
    ("value", "wait"),
    [
        ("120", 120 * SECOND),
        (" 120 ", 120 * SECOND),
        ("0", 0),
        ("1.5", 1500),
        (ONE_O_CLOCK, HOUR),
        ("Sunday, 22-Feb-26 13:00:00 GMT", HOUR),
        ("Sun Feb 22 13:00:00 2026", HOUR),
        ("Sun, 22 Feb 2026 11:00:00 GMT", 0),
        ("1000000000", CEILING),
        ("1e9", CEILING),
        ("Fri, 31 Dec 9999 23:59:59 GMT", CEILING),
        ("-5", None),
        ("abc", None),
        ("", None),
        ("Tue, 31 Feb 2026 12:00:00 GMT", None),
        ("9" * 400, None),
        ("60, 120", 120 * SECOND),
        (f"{ONE_O_CLOCK}, 60", HOUR),
        ("abc, 60", 60 * SECOND),
        (None, None),
    ],
)
def test_retry_after_is_read_in_every_form_and_capped(value, wait):
    """REL-21, R21."""
    assert retry_after(value, NOON, ceiling=CEILING) == wait


@pytest.mark.parametrize(
    ("headers", "fresh"),
    [
        ({}, None),
        ({"cache-control": "private"}, None),
        ({"cache-control": "max-age=600"}, 600 * SECOND),
        ({"cache-control": "public, MAX-AGE = 600"}, 600 * SECOND),
        ({"cache-control": 'max-age="600"'}, 600 * SECOND),
        ({"cache-control": "max-age=600", "age": "100"}, 500 * SECOND),
        ({"cache-control": "max-age=600", "age": "601"}, 0),
        ({"cache-control": "max-age=600", "age": "x"}, 600 * SECOND),
        ({"cache-control": "max-age=600, max-age=60"}, 60 * SECOND),
        ({"cache-control": "max-age=600, no-cache"}, 0),
        ({"cache-control": "no-store"}, 0),
        ({"cache-control": "max-age=-1"}, 0),
        ({"cache-control": "max-age=abc"}, 0),
        ({"cache-control": "max-age"}, 0),
        ({"cache-control": "max-age=" + "9" * 30}, LONGEST_FRESHNESS),
        ({"cache-control": "s-maxage=5"}, None),
        ({"cache-control": "max-age=60", "expires": ONE_O_CLOCK}, 60 * SECOND),
        ({"expires": ONE_O_CLOCK}, HOUR),
        ({"expires": ONE_O_CLOCK, "date": "Sun, 22 Feb 2026 12:30:00 GMT"}, HOUR // 2),
        ({"expires": ONE_O_CLOCK, "date": NOON_TEXT, "age": "600"}, HOUR - 600 * SECOND),
        ({"expires": ONE_O_CLOCK, "date": "never"}, HOUR),
        ({"expires": "Sun, 22 Feb 2026 11:00:00 GMT"}, 0),
        ({"expires": "0"}, 0),
        ({"expires": "-1"}, 0),
        ({"expires": "Fri, 01 Jan 2100 00:00:00 GMT"}, LONGEST_FRESHNESS),
    ],
)
def test_freshness_counts_what_is_left_of_it(headers, fresh):
    assert freshness(headers, NOON) == fresh


@pytest.mark.parametrize(
    ("headers", "how", "wait"),
    [
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "30"}, RateHeaders(), 30 * SECOND),
        ({"x-ratelimit-remaining": "1", "x-ratelimit-reset": "30"}, RateHeaders(), None),
        ({"x-ratelimit-remaining": "0"}, RateHeaders(), None),
        ({"x-ratelimit-reset": "30"}, RateHeaders(), None),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "soon"}, RateHeaders(), None),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1e9"}, RateHeaders(), CEILING),
        (
            {"x-ratelimit-remaining": "0", "x-ratelimit-retry-after": str(NOON // 1000 + 42)},
            RateHeaders(reset="x-ratelimit-retry-after", unit="epoch_seconds"),
            42 * SECOND,
        ),
        (
            {"left": "0", "x-ratelimit-reset": str(NOON + 42)},
            RateHeaders(remaining="left", unit="epoch_millis"),
            42,
        ),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "7"}, RateHeaders(unit="epoch_seconds"), 0),
    ],
)
def test_a_source_says_how_its_rate_headers_are_read(headers, how, wait):
    assert rate_limit_wait(headers, how, NOON, ceiling=CEILING) == wait


@pytest.mark.parametrize(
    "etag",
    [
        '"abc"',
        'W/"abc"',
        "abc",
        '"a-gzip"',
        '"a;gzip"',
        "'single'",
        '"with space"',
        '"ünï"',
        '"' + "x" * 8000 + '"',
        '""',
    ],
)
def test_a_validator_is_echoed_byte_for_byte(etag):
    """REL-25, R26."""
    assert echo(Validators(etag, "yesterday, about noon")) == {
        "if-none-match": etag,
        "if-modified-since": "yesterday, about noon",
    }


@pytest.mark.parametrize("bad", ["", '"a"\r\nX-Evil: 1', '"a\nb"', "a\x00b", '"\udce9"', "x" * 8193])
def test_a_validator_that_cannot_be_echoed_is_not_sent(bad):
    """REL-25: no header injection by what a source once sent."""
    assert echo(Validators(bad, bad)) == {}


def test_a_source_cannot_set_the_headers_that_frame_a_request():
    hostile = {
        "Host": "internal",
        "Content-Length": "5",
        "Transfer-Encoding": "chunked",
        "Connection": "upgrade",
        "Via": "1.1 x",
        "X-Split": "a\r\nX-Evil: 1",
        "X Space": "1",
        "": "1",
        "X-Fine": " kept ",
    }
    assert sendable(hostile) == {"x-fine": "kept"}


def test_only_known_harmless_headers_go_to_another_origin():
    """SEC-09: what is not known to be harmless may be a credential under any name."""
    sent = {"authorization": "s", "cookie": "s", "x-api-key": "s", "x-anything": "s", "accept": "*/*", "referer": "r"}
    assert harmless(sent) == {"accept": "*/*", "referer": "r"}
    assert has_credentials(sent)
    assert not has_credentials(harmless(sent))


def test_a_strange_http_date_is_right_or_none():
    assert http_date(NOON_TEXT) == NOON
    assert http_date("Thu, 01 Jan 1970 00:00:00 GMT") == 0
    assert http_date("Sun, 00 Feb 2026 12:00:00 GMT") is None
    assert http_date("tomorrow") is None


def test_the_user_agent_is_honest():
    assert user_agent("https://example.org/about") == f"Tsuzuki/{__version__} (+https://example.org/about)"
    assert user_agent(None) == f"Tsuzuki/{__version__} (+{PROJECT_URL})"
