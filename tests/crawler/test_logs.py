"""Places in a log, and what a running job writes into it."""

import os

import pytest

from tests.builders import NOON
from tsuzuki.api.crawler_jobs import read_place, show_place
from tsuzuki.crawler.journal import JobNotes
from tsuzuki.crawler.store import log_id, storable_json
from tsuzuki.crawler.types import JobLogRow, LogPlace
from tsuzuki.model.errors import HttpStatus, Invalid, RateLimited
from tsuzuki.model.requests import Ask, Reply

ASK = Ask("https://example.org/one")


def test_ids_of_one_millisecond_sort_by_their_number():
    numbers = [0, 1, 2, 2**20 - 1, 2**20, 2**20 + 1, 2**31]
    ids = [log_id(NOON, number, os.urandom) for number in numbers]
    assert ids == sorted(ids)
    assert all(one[6] >> 4 == 7 and one[8] >> 6 == 2 for one in ids)


def test_a_given_page_is_the_one_that_is_meant():
    """R49."""
    row = JobLogRow(log_id(NOON, 7, os.urandom), "info", "x", None, NOON)
    assert read_place(show_place(row)) == LogPlace(NOON, row.id)
    assert read_place(None) == LogPlace()


@pytest.mark.parametrize("text", ["", "x", "2026-02-22T00:00:00Z_", "_", "1969-01-01T00:00:00Z", "_01952ff9"])
def test_what_is_no_place_is_refused_or_is_a_time(text):
    if text == "2026-02-22T00:00:00Z_":
        assert read_place(text).id == b"\xff" * 16
        return
    with pytest.raises(Invalid):
        read_place(text)


def test_every_call_is_told_with_what_came_of_it():
    notes = JobNotes()
    notes.on_call(ASK, Reply(url=ASK.url, status=200, headers={}, body=b"", received_at=NOON), 0.012)
    notes.on_call(ASK, RateLimited("Slow down.", status=429, retry_after=60_000), 0.1)
    notes.on_call(ASK, HttpStatus("It said 500.", status=500), 0.1)
    lines, _, errors = notes.taken()
    assert [(line.level, line.message) for line in lines] == [
        ("debug", "GET https://example.org/one"),
        ("warn", "Rate limit hit, not tried again: Slow down."),
        ("warn", "It said 500."),
    ]
    assert lines[0].meta == {"url": ASK.url, "durationms": 12, "httpstatus": 200}
    assert lines[1].meta == {"url": ASK.url, "durationms": 100, "httpstatus": 429, "retryafter": 60}
    assert errors == 2


def test_a_rate_limit_that_was_waited_out_is_no_error():
    """It is told as the crawler's document words it, before what came of it."""
    notes = JobNotes()
    waited = Reply(url=ASK.url, status=200, headers={}, body=b"", received_at=NOON, retried=((429, 2000),))
    notes.on_call(ASK, waited, 2.1)
    lines, _, errors = notes.taken()
    assert [line.message for line in lines] == ["Rate limit hit — retrying after 2s", "GET https://example.org/one"]
    assert lines[0].meta == {"url": ASK.url, "httpstatus": 429, "retryafter": 2}
    assert errors == 0


def test_no_secret_gets_into_a_log():
    """R47."""
    notes = JobNotes()
    notes.say("info", "GET https://me:hunter2@example.org", token="abc", url="https://example.org/?token=xyz")
    [line] = notes.taken()[0]
    assert "hunter2" not in line.message
    assert line.meta == {"token": "***", "url": "https://example.org/?token=***"}


def test_text_that_no_engine_stores_is_mended():
    assert storable_json({"a": "x\0y", "b": ["\ud800"]}) == '{"a":"x�y","b":["?"]}'
