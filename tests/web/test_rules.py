"""What holds for every page that the router has; a new one joins these tests by itself."""

import re
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from structlog.testing import capture_logs

import tsuzuki.web
from tests.api.people import API, PASSWORD, RunningApp, a_running_app
from tests.authorisation.callers import CALLERS, visitor
from tests.authorisation.objects import MISSING
from tests.authorisation.policy import POLICY, PUBLIC, UNDECLARED, is_page, routes
from tests.web.guests import BROWSER, FORM, Guest, a_guest
from tsuzuki.http.middleware import HEADERS
from tsuzuki.web.navigation import MANAGING, READING, RUNNING
from tsuzuki.web.renderer import Pages

CANARY = "canary-5ecret-value"
OWN_SCRIPT = r'<script src="/static/[\w./-]+\.js"(?: defer| type="module")>'


@pytest.fixture
async def app(tmp_path) -> AsyncIterator[RunningApp]:
    async with a_running_app(tmp_path) as app:
        yield app


def pages(app: RunningApp, method: str) -> dict[str, str]:
    """The paths of pages that take this method, each with its policy."""
    found = {}
    assert set(routes(app.app)) - set(POLICY) == set(), UNDECLARED
    for name in routes(app.app):
        verb, path = name.split()
        if verb == method and is_page(path):
            found[re.sub(r"\{\w+\}", MISSING, path)] = POLICY[name]
    return found


def test_there_are_pages_to_hold_to_these_rules(app):
    assert {"/", "/setup", "/sign-in", "/invite", "/account"} <= set(pages(app, "GET"))
    assert {"/sign-out", "/account/tokens", f"/account/tokens/{MISSING}/revoke"} <= set(pages(app, "POST"))


async def test_sec_15_every_page_and_refusal_has_the_strict_policy(app):
    for guest in (Guest(app.client), await a_guest(app, await app.add(role="admin"))):
        answers = [await guest.see(path) for path in (*pages(app, "GET"), "/nope", "/sign-out")]
        answers += [await guest.send(path, origin="https://evil.example") for path in pages(app, "POST")]
        answers += [await Guest(app.client).send(path) for path in pages(app, "POST")]
        for answer in answers:
            assert answer.headers["content-security-policy"] == HEADERS["content-security-policy"]
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert not re.search(r"<(style|iframe|base)\b|\sstyle=|\son\w+=", answer.text)
            scripts = re.findall(r"<script\b[^>]*>[^<]*", answer.text)
            assert [one for one in scripts if not re.fullmatch(OWN_SCRIPT, one)] == []


async def test_what_belongs_to_somebody_is_kept_in_no_cache(app):
    guest = await a_guest(app, await app.admin())
    for path in pages(app, "GET"):
        if path != f"{API}/docs":
            assert (await guest.see(path)).headers["cache-control"] == "no-store", path


HOSTILE = [
    {"sec_fetch_site": "cross-site"},
    {"sec_fetch_site": "same-site"},
    {"sec_fetch_site": "cross-site", "origin": "http://127.0.0.1"},
    {"origin": "https://evil.example"},
    {"origin": "null"},
    {"origin": "https://evil.example", "content_type": "text/plain"},
    {"origin": "https://evil.example", "authorization": "Bearer tsz_nothing"},
]


async def test_sec_42_no_form_takes_anything_from_another_sites_page(app):
    """A bearer token is no excuse here: pages take none."""
    guest = await a_guest(app, await app.admin())
    wrong = {}
    for path in pages(app, "POST"):
        for headers in HOSTILE:
            for who in (guest, Guest(app.client)):
                status = (await who.send(path, {"username": "admin", "password": PASSWORD}, **headers)).status
                if status != 403:
                    wrong[path, str(headers)] = status
    assert wrong == {}
    assert list(guest.cookies) == ["tsuzuki"]
    assert (await guest.see("/account")).status == 200


async def test_sec_16_no_get_changes_anything(app):
    """Every address that takes a post is no page at all, or one that only shows a form."""
    guest = await a_guest(app, await app.admin())
    before = await _state(app)
    shown = pages(app, "GET")
    for path in pages(app, "POST"):
        answer = await guest.see(f"{path}?username=admin&password=guess&name=t&scopes=read&life=30")
        found = (404,) if MISSING in path else (200, 303)
        assert answer.status in (found if path in shown else (405,)), path
    for path in shown:
        await guest.see(path)
    assert await _state(app) == before


async def _state(app: RunningApp) -> list[str]:
    admin = await a_guest(app, await app.admin())
    listed = (await admin.see(f"{API}/admin/auditlog?limit=500")).json()["data"]
    return [line["action"] for line in listed if line["action"] != "session.create"]


async def test_only_somebody_who_is_signed_in_gets_in(app):
    """Who may read and write by a session may use these pages; a token opens none, whatever its scopes."""
    wrong = {}
    for caller, table in CALLERS.items():
        for method in ("GET", "POST"):
            for path, policy in pages(app, method).items():
                if policy == PUBLIC:
                    continue
                who = await visitor(app, caller)
                headers = BROWSER | who.headers | {"content-type": FORM}
                answer = await app.client.ask(method, path, headers=headers, data=b"")
                is_sent_away = answer.headers.get("location", "").startswith("/sign-in?next=%2F")
                is_let_in = "token" not in caller and table[policy] != 401
                is_forbidden = is_let_in and table[policy] == 403
                if (is_sent_away, answer.status == 403) != (not is_let_in, is_forbidden):
                    wrong[caller, method, path] = answer.status
    assert wrong == {}


async def test_sec_39_secrets_are_only_on_the_page_that_shows_them(app):
    guest = await a_guest(app, await app.admin())
    twice = {"password": CANARY, "repeat": CANARY}
    with capture_logs() as lines:
        answers = [
            await Guest(app.client).send("/sign-in", {"username": "admin", "password": CANARY}),
            await Guest(app.client).send("/setup", {"code": "x", "username": "a"} | twice),
            await Guest(app.client).send("/invite", {"code": "x", "username": "a"} | twice),
            await Guest(app.client).send("/invite", {"code": "x", "username": "a b"} | twice),
            await guest.send("/account/password", {"current_password": CANARY, "new_password": CANARY, "repeat": ""}),
            await guest.send(
                "/account/password", {"current_password": CANARY, "new_password": CANARY, "repeat": CANARY}
            ),
            await Guest(app.client, tsuzuki=CANARY).see("/account"),
        ]
        await guest.see(f"/invite?code={CANARY}")
        made = await guest.send("/account/tokens", {"name": "t", "scopes": "read", "life": "30"})
        answers += [await guest.see(path) for path in pages(app, "GET")]
    [token] = re.findall(r"tsz_[\w-]+", made.text)
    for secret in (CANARY, PASSWORD, token, guest.cookies["tsuzuki"]):
        assert secret not in repr(lines)
        assert not [answer for answer in answers if secret in answer.text]
    assert len(lines) > len(answers)


def test_no_two_places_have_the_same_key():
    places = (*READING, *MANAGING, *RUNNING)
    keys = Counter(place.key for place in places)
    assert [place.name for place in places if keys[place.key] > 1] == [], (
        "give one of these another key in navigation.py"
    )


def test_no_global_of_the_templates_takes_the_context():
    assert [name for name, it in Pages("1")._templates.globals.items() if hasattr(it, "jinja_pass_arg")] == []


def test_templates_use_what_they_import():
    unused: dict[tuple[str, str], str] = {}
    for file in Path(tsuzuki.web.__file__).parent.rglob("*.html"):
        text = file.read_text("utf-8")
        for line, names in re.findall(r'(\{% from "[^"]+" import ([^%]+?) (?:with context )?%\})', text):
            own = {name.rpartition(" as ")[2].strip() for name in names.split(",")}
            rest = text.replace(line, "")
            unused |= {(file.name, name): line for name in own if not re.search(rf"\b{name}\(", rest)}
    assert unused == {}
