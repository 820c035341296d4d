"""The ways in and out, as a browser without scripts sees them."""

from collections.abc import AsyncIterator
from io import BytesIO
from typing import get_args
from urllib.parse import urlencode

import pytest
from structlog.testing import capture_logs

from tests.accounts.redirect_targets import EVIL, KEPT
from tests.api.people import PASSWORD, RunningApp, a_running_app
from tests.web.guests import FORM, Guest, a_guest, error_of, focus_of, value_of
from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.oidc import Reason
from tsuzuki.accounts.sign_in import WRONG_PAIR
from tsuzuki.web.labels import label_of
from tsuzuki.web.texts import wait_in_words

ADMIN = {"username": "admin", "password": PASSWORD}


@pytest.fixture
async def app(tmp_path) -> AsyncIterator[RunningApp]:
    async with a_running_app(tmp_path) as app:
        yield app


async def caller_of(app: RunningApp, guest: Guest) -> Caller | None:
    key = guest.cookies.get("tsuzuki")
    resumed = None if key is None else await app.accounts.sessions.resume(key, "")
    return None if resumed is None else resumed.caller


# -- the first visit


async def test_the_first_visit_ends_as_signed_in_administrator(tmp_path):
    with capture_logs() as lines:
        async with a_running_app(tmp_path, password="") as app:
            [code] = [line["setup_code"] for line in lines if line["event"] == "nobody_can_sign_in_yet"]
            guest = Guest(app.client)
            front = await guest.see("/")
            assert 'href="/setup"' in front.text
            assert 'class="button" href="/sign-in"' not in front.text
            assert (await guest.see("/sign-in")).headers["location"] == "/setup"
            form = await guest.see("/setup")
            assert (form.status, value_of(form, "username"), focus_of(form)) == (200, "admin", ["code"])
            typed = {"code": f" {code.upper()} ", "username": "Me", "password": PASSWORD, "repeat": PASSWORD}
            done = await guest.send("/setup", typed)
            assert (done.status, done.headers["location"]) == (303, "/")
            assert "HttpOnly; SameSite=Lax" in done.headers["set-cookie"]
            assert "<span>me</span>" in (await guest.see("/")).text
            caller = await caller_of(app, guest)
            assert caller is not None
            assert caller.role == "admin"
            stranger = Guest(app.client)
            assert (await stranger.see("/setup")).headers["location"] == "/sign-in"
            assert (await stranger.send("/setup", typed)).headers["location"] == "/sign-in"
            assert stranger.cookies == {}
            assert 'href="/sign-in"' in (await stranger.see("/")).text


@pytest.mark.parametrize(
    ("wrong", "field", "status"),
    [
        ({"code": "guess"}, "code", 401),
        ({"username": "a b"}, "username", 400),
        ({"password": "short", "repeat": "short"}, "password", 400),
        ({"repeat": "another password"}, "repeat", 400),
    ],
)
async def test_problems_of_the_first_visit_keep_the_inputs(tmp_path, wrong, field, status):
    with capture_logs() as lines:
        async with a_running_app(tmp_path, password="") as app:
            [code] = [line["setup_code"] for line in lines if line["event"] == "nobody_can_sign_in_yet"]
            guest = Guest(app.client)
            typed = {"code": code, "username": "me", "password": PASSWORD, "repeat": PASSWORD} | wrong
            answer = await guest.send("/setup", typed)
            assert (answer.status, focus_of(answer)) == (status, [field])
            assert error_of(answer, field)
            assert f'aria-describedby="{field}-error' in answer.text
            assert (value_of(answer, "code"), value_of(answer, "username")) == (typed["code"], typed["username"])
            assert typed["password"] not in answer.text
            assert typed["repeat"] not in answer.text
            assert guest.cookies == {}
            assert (await guest.see("/setup")).status == 200


# -- signing in


async def test_a_wrong_password_and_an_unknown_name_read_the_same(app):
    """SEC-38 in words: nothing of the page tells which it was."""
    answers = [
        await Guest(app.client).send("/sign-in", {"username": name, "password": "guess"})
        for name in ("admin", "nobody")
    ]
    known, unknown = answers
    assert (known.status, error_of(known, "password"), focus_of(known)) == (401, WRONG_PAIR, ["password"])
    assert value_of(known, "username") == "admin"
    assert known.text == unknown.text.replace('value="nobody"', 'value="admin"')
    assert "guess" not in known.text
    assert "set-cookie" not in known.headers


async def test_a_name_is_asked_for_before_an_attempt_is_counted(tmp_path):
    async with a_running_app(tmp_path, login_limit=1) as app:
        guest = Guest(app.client)
        answer = await guest.send("/sign-in", {"username": " ", "password": "x"})
        assert (answer.status, error_of(answer, "username")) == (400, "Enter your username.")
        assert (await guest.send("/sign-in", ADMIN)).status == 303


async def test_sec_37_the_form_shares_the_apis_limit_and_explains_waiting(tmp_path):
    async with a_running_app(tmp_path, login_limit=4) as app:
        guest = Guest(app.client)
        for _ in range(2):
            assert (await guest.send("/sign-in", ADMIN | {"password": "guess"})).status == 401
            assert (await app.anyone.post("/sessions", {"password": "guess"})).status == 401
        answer = await guest.send("/sign-in", ADMIN)
        assert (answer.status, answer.headers["retry-after"]) == (429, "300")
        assert "Try again in 5 minutes." in answer.text
        assert 'role="alert" tabindex="-1" autofocus' in answer.text
        assert (value_of(answer, "username"), focus_of(answer)) == ("admin", [])
        fields = {"code": "x", "username": "a", "password": PASSWORD, "repeat": PASSWORD}
        assert [(await guest.send("/invite", fields)).status for _ in range(5)] == [401] * 4 + [429]
        assert (await guest.send("/setup", fields)).status == 429


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (1, "1 second"),
        (2, "2 seconds"),
        (119, "119 seconds"),
        (120, "2 minutes"),
        (121, "3 minutes"),
        (300, "5 minutes"),
    ],
)
def test_a_wait_in_words_is_never_too_short(seconds, words):
    assert wait_in_words(seconds) == words


async def test_sec_34_signing_in_replaces_the_former_session(app):
    guest = await a_guest(app, await app.admin())
    before = dict(guest.cookies)
    assert (await guest.send("/sign-in", ADMIN)).status == 303
    assert guest.cookies["tsuzuki"] != before["tsuzuki"]
    assert await caller_of(app, guest) is not None
    assert await caller_of(app, Guest(app.client, **before)) is None


async def test_sec_16_and_34_only_a_post_ends_the_session(app):
    guest = await a_guest(app, await app.admin())
    before = Guest(app.client, **guest.cookies)
    assert (await guest.see("/sign-out")).status == 405
    assert await caller_of(app, guest) is not None
    answer = await guest.send("/sign-out")
    assert (answer.status, answer.headers["location"]) == (303, "/sign-in?done=signed_out")
    assert guest.cookies == {}
    assert await caller_of(app, before) is None
    assert "You are signed out." in (await guest.see(answer.headers["location"])).text
    assert (await before.see("/account")).headers["location"] == "/sign-in?next=%2Faccount"
    assert (await before.see(f"/search?q={'a' * 5_000}")).headers["location"] == "/sign-in?next=%2F"


async def test_r76_without_passwords_the_form_accepts_local_names_only(tmp_path):
    async with a_running_app(tmp_path, password="", allow_empty_password="true") as app:
        nothing = {"username": "admin", "password": ""}
        assert (await Guest(app.client).send("/sign-in", nothing, host="rebound.example")).status == 401
        assert (await Guest(app.client).send("/sign-in", nothing)).status == 303


# -- where to afterwards


async def test_sec_41_no_redirect_leads_anywhere_but_to_our_own_paths(app):
    signed_in = await a_guest(app, await app.admin())
    stranger = Guest(app.client)
    wrong = {}
    for path, expected in [*((path, "/") for path in EVIL), *((path, path) for path in KEPT)]:
        query = urlencode({"next": path})
        form = await stranger.see(f"/sign-in?{query}")
        posted = await Guest(app.client).send("/sign-in", ADMIN | {"next": path})
        found = [
            value_of(form, "next"),
            (await signed_in.see(f"/sign-in?{query}")).headers["location"],
            expected if "\0" in path and posted.status == 400 else posted.headers["location"],
        ]
        if found != [expected] * 3:
            wrong[path] = found
    assert wrong == {}


@pytest.mark.parametrize("reason", get_args(Reason))
async def test_every_reason_of_the_provider_is_a_sentence(app, reason):
    answer = await Guest(app.client).see(f"/sign-in?reason=oidc_{reason}")
    assert label_of("reason", f"oidc_{reason}") in answer.text
    signed_in = await a_guest(app, await app.admin())
    back = (await signed_in.see(f"/sign-in?reason=oidc_{reason}")).headers["location"]
    assert back == f"/account?reason=oidc_{reason}"
    assert label_of("reason", f"oidc_{reason}") in (await signed_in.see(back)).text


async def test_sec_13_a_reason_of_somebody_elses_making_is_not_shown(app):
    plain = await Guest(app.client).see("/sign-in")
    for query in ("reason=canary", "reason=<b>canary", "done=canary", "reason=done.signed_out", "x=canary"):
        assert (await Guest(app.client).see(f"/sign-in?{query}")).text == plain.text


# -- invitations


async def test_an_invitation_makes_one_account_and_no_second(app):
    inviter = await caller_of(app, await a_guest(app, await app.admin()))
    assert inviter is not None
    code = (await app.accounts.invites.make(inviter, "reader", None)).code
    guest = Guest(app.client)
    form = await guest.see(f"/invite?code={code}")
    assert (form.status, value_of(form, "code"), focus_of(form)) == (200, code, ["username"])
    assert focus_of(await guest.see("/invite")) == ["code"]
    typed = {"code": code, "username": "admin", "password": PASSWORD, "repeat": PASSWORD}
    taken = await guest.send("/invite", typed)
    assert (taken.status, error_of(taken, "username")) == (409, "The name admin is taken.")
    assert value_of(taken, "code") == code
    done = await guest.send("/invite", typed | {"username": "alice"})
    assert (done.status, done.headers["location"]) == (303, "/")
    caller = await caller_of(app, guest)
    assert caller is not None
    assert (caller.username, caller.role) == ("alice", "reader")
    again = await Guest(app.client).send("/invite", typed | {"username": "mallory"})
    assert (again.status, focus_of(again)) == (401, ["code"])


async def test_a_code_of_somebody_elses_making_is_not_shown(app):
    answer = await Guest(app.client).see("/invite?" + urlencode({"code": '"><script>' + "a" * 500}))
    assert "<script" not in answer.text
    assert "aaaa" not in answer.text


async def test_an_expired_invitation_leads_to_sign_in(app):
    inviter = await caller_of(app, await a_guest(app, await app.admin()))
    assert inviter is not None
    used, withdrawn, valid = [await app.accounts.invites.make(inviter, "reader", None) for _ in range(3)]
    await app.accounts.invites.revoke(inviter, withdrawn.public_id)
    guest = Guest(app.client)
    typed = {"code": used.code, "username": "alice", "password": PASSWORD, "repeat": PASSWORD}
    assert (await guest.send("/invite", typed)).status == 303
    for code in (used.code, withdrawn.code, "nonsense"):
        page = await Guest(app.client).see(f"/invite?code={code}")
        assert "This invitation is no longer valid" in page.text
        assert 'href="/sign-in"' in page.text
        assert 'action="/invite"' not in page.text
    assert 'action="/invite"' in (await Guest(app.client).see(f"/invite?code={valid.code.upper()}")).text


# -- what a form may be


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("application/json", b'{"username": "admin"}'),
        ("text/plain", b"username=admin"),
        ("multipart/form-data; boundary=x", b"--x--"),
        ("", b"username=admin"),
        (FORM, b"username=\xff"),
        (FORM, b"username=%ff"),
        (FORM, b"username=a%00b"),
        (FORM, b"a=b&" * 60),
    ],
)
async def test_what_is_no_form_of_ours_is_refused(app, content_type, body):
    headers = {"content-type": content_type, "accept": "text/html"}
    answer = await app.client.ask("POST", "/sign-in", data=body, headers=headers)
    assert (answer.status, answer.headers["content-type"]) == (400, "text/html; charset=utf-8")
    assert "The form could not be read." in answer.text


async def test_a_too_large_body_is_refused_unread(app):
    body = BytesIO(b"a=" + b"b" * 1_100_000)
    answer = await app.client.ask("POST", "/sign-in", data=body, headers={"content-type": FORM})
    assert answer.status == 413
