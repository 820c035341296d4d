"""REL-34, SEC-04, SEC-09: redirects as a pure matter."""

import pytest

from tsuzuki.model.errors import HttpStatus, RedirectLoop, RefusedAddress
from tsuzuki.model.requests import Ask, SourceIdentity, Validators
from tsuzuki.net.redirects import OutgoingRequest, Trail, first_request, following
from tsuzuki.net.urls import parse

SECRETS = {"authorization": "Bearer s", "cookie": "s=1", "x-api-key": "s", "accept": "*/*", "if-none-match": '"1"'}


def a_request(url: str = "https://a.example/x", method: str = "GET", body: bytes | None = None) -> OutgoingRequest:
    return OutgoingRequest(method=method, url=parse(url), headers=dict(SECRETS), body=body)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_credentials_stay_behind_when_the_origin_changes(status):
    for there in ("https://b.example/", "https://a.example:8443/", "//sub.a.example/"):
        assert following(a_request(), status, there).headers == {"accept": "*/*", "if-none-match": '"1"'}
    assert following(a_request(), status, "/y").headers == SECRETS


@pytest.mark.parametrize("secret", ["authorization", "cookie", "x-api-key"])
def test_credentials_are_never_redirected_from_https_to_http(secret):
    request = OutgoingRequest("GET", parse("https://a.example/"), {secret: "s"})
    with pytest.raises(RefusedAddress, match="from https to plain http"):
        following(request, 301, "http://a.example/")


def test_a_redirect_to_http_drops_cookies():
    trail = Trail(OutgoingRequest("GET", parse("https://a.example/"), {"accept": "*/*"}))
    trail.follow(301, "/x")
    assert trail.takes_cookies
    trail.follow(301, "http://a.example/x")
    assert str(trail.request.url) == "http://a.example/x"
    assert not trail.takes_cookies


@pytest.mark.parametrize(
    ("status", "method", "then"),
    [
        (301, "POST", "GET"),
        (302, "POST", "GET"),
        (303, "POST", "GET"),
        (307, "POST", "POST"),
        (308, "POST", "POST"),
        (303, "HEAD", "HEAD"),
        (302, "PUT", "PUT"),
        (303, "PUT", "GET"),
    ],
)
def test_the_method_after_a_redirect_is_the_customary_one(status, method, then):
    body = None if method == "HEAD" else b"{}"
    request = following(a_request(method=method, body=body), status, "/y")
    assert (request.method, request.body) == (then, body if then == method else None)


def test_a_body_is_not_sent_on_to_another_origin():
    with pytest.raises(HttpStatus, match=r"body on to b\.example"):
        following(a_request(method="POST", body=b"secret"), 307, "https://b.example/")


@pytest.mark.parametrize("location", [None, "", "   "])
def test_a_redirect_without_a_target_is_a_named_error(location):
    with pytest.raises(HttpStatus, match="without saying where"):
        following(a_request(), 302, location)


def test_circular_and_endless_redirects_are_named():
    circle = Trail(OutgoingRequest("GET", parse("http://a.example/1"), {}))
    circle.visit("")
    circle.follow(301, "/2")
    circle.visit("")
    circle.follow(301, "/1")
    with pytest.raises(RedirectLoop, match=r"form a loop: http://a\.example/2 -> http://a\.example/1"):
        circle.visit("")
    endless = Trail(OutgoingRequest("GET", parse("http://a.example/0"), {}))
    for step in range(5):
        endless.follow(302, f"/{step + 1}")
    with pytest.raises(RedirectLoop, match="More than 5"):
        endless.follow(302, "/6")


def test_coming_again_with_a_new_cookie_is_no_circle():
    trail = Trail(OutgoingRequest("GET", parse("http://a.example/"), {}))
    trail.visit("")
    trail.follow(302, "/")
    trail.visit("session=1")


def test_what_a_source_configured_goes_to_its_own_host_only():
    """SEC-09: no credential reaches the host of an image."""
    origin = SourceIdentity(
        source="s", home_url="https://a.example/feed", headers={"Authorization": "s", "Referer": "r", "User-Agent": "U"}
    )
    sent = {
        url: first_request(Ask(url), origin, user_agent="T").headers
        for url in ("https://a.example/", "https://api.a.example/", "https://b.example/", "http://a.example/")
    }
    secret = {"user-agent": "U", "accept": "*/*", "authorization": "s", "referer": "r"}
    public = {"user-agent": "U", "accept": "*/*", "referer": "r"}
    assert list(sent.values()) == [secret, secret, public, public]


def test_a_connector_cannot_hide_who_we_are():
    origin = SourceIdentity(source="s")
    ask = Ask(
        "https://a.example/", headers={"User-Agent": "Mozilla", "Accept": "text/html"}, validators=Validators('"1"')
    )
    headers = Trail(first_request(ask, origin, user_agent="Tsuzuki/1"), ask.validators).request.headers
    assert headers == {"user-agent": "Tsuzuki/1", "accept": "text/html", "if-none-match": '"1"'}
