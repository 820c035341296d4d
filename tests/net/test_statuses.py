"""What a status means, as one table."""

import pytest

from tsuzuki.model.errors import Blocked, Gone, HttpStatus, RateLimited
from tsuzuki.model.times import SECOND, Millis
from tsuzuki.net.failures import challenge_error, status_error

CLOUDFLARE = b"<!DOCTYPE html><html><head><title>Just a moment...</title></head><script>window._cf_chl_opt={}</script>"


@pytest.mark.parametrize(
    ("status", "wait", "kind", "says"),
    [
        (200, None, None, ""),
        (206, None, None, ""),
        (401, None, HttpStatus, "sign-in"),
        (403, None, Blocked, "refuses"),
        (403, 90, Blocked, "refuses"),
        (500, 90, HttpStatus, "500"),
        (404, None, HttpStatus, "nothing at this address"),
        (410, None, Gone, "gone for good"),
        (418, None, HttpStatus, "418"),
        (429, None, RateLimited, "slow down"),
        (429, 90, RateLimited, "for 90 s"),
        (451, None, HttpStatus, "legal"),
        (500, None, HttpStatus, "internal server error"),
        (503, None, HttpStatus, "service unavailable"),
        (503, 90, RateLimited, "for 90 s"),
        (511, None, HttpStatus, "login page"),
        (599, None, HttpStatus, "599"),
        (999, None, HttpStatus, "999"),
        (300, None, HttpStatus, "300"),
    ],
)
def test_each_status_has_its_error(status, wait, kind, says):
    """REL-38: 429 and 503 are never a matter of parsing."""
    told = None if wait is None else Millis(wait * SECOND)
    error = status_error(status, "a.example", {}, conditional=False, wait=told)
    if kind is None:
        assert error is None
        return
    assert error is not None
    assert type(error) is kind
    assert says in str(error)
    assert error.status == status
    assert error.retry_after == told


def test_not_modified_answers_a_conditional_question_only():
    """REL-26."""
    assert status_error(304, "a.example", {}, conditional=True, wait=None) is None
    error = status_error(304, "a.example", {}, conditional=False, wait=None)
    assert isinstance(error, HttpStatus)
    assert "nothing to compare" in str(error)


@pytest.mark.parametrize(
    ("status", "body", "is_blocked"),
    [
        (200, CLOUDFLARE, True),
        (503, CLOUDFLARE, True),
        (503, b'<div class="g-recaptcha" data-sitekey="x">', True),
        (200, b'<h1>A comic</h1><form><div class="g-recaptcha"></div></form>', False),
        (200, b"<title>Just a moment in time</title>", False),
        (500, b"<h1>Oops</h1>", False),
    ],
)
def test_a_human_check_differs_from_a_page_with_captcha(status, body, is_blocked):
    error = challenge_error(status, "a.example", {"content-type": "text/html; charset=utf-8"}, body)
    assert (error is not None) is is_blocked


def test_only_html_or_a_header_marks_a_browser_check():
    assert challenge_error(200, "a.example", {"content-type": "application/xml"}, CLOUDFLARE) is None
    assert isinstance(
        status_error(429, "a.example", {"cf-mitigated": "challenge"}, conditional=False, wait=None), Blocked
    )
