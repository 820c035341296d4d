"""The page about oneself: devices, tokens, password, identity."""

import re
from collections.abc import AsyncIterator
from html import unescape

import pytest

from tests.accounts.provider import StrictProvider, strict_provider
from tests.api.people import PASSWORD, RunningApp, Visitor, a_running_app
from tests.app import Answer
from tests.web.guests import Guest, a_guest, error_of, focus_of, oidc_settings, value_of
from tsuzuki.model.ids import show_id
from tsuzuki.model.times import DAY

NEW = "another horse battery"


@pytest.fixture
async def app(tmp_path) -> AsyncIterator[RunningApp]:
    async with a_running_app(tmp_path) as app:
        yield app


@pytest.fixture
async def guest(app) -> Guest:
    return await a_guest(app, await app.admin())


def ids(answer: Answer, kind: str) -> list[str]:
    return re.findall(rf'(?:action|href)="/account/{kind}/([0-9a-f-]{{36}})/', answer.text)


async def is_signed_in(guest: Guest) -> bool:
    return (await guest.see("/account")).status == 200


async def test_it_says_who_i_am_and_escapes_what_people_typed(app):
    user = await app.add(username="alice", email="<b>@example.org", tenant_id=app.other_tenant)
    answer = await (await a_guest(app, user)).see("/account")
    assert all(text in answer.text for text in ("alice", "Reader", "Other", "&lt;b&gt;@example.org"))
    assert answer.headers["cache-control"] == "no-store"
    assert 'value="admin"' not in answer.text  # the scope that a reader's token cannot have


# -- devices


async def test_devices_are_named_and_signed_out_one_by_one(app, guest):
    other = Guest(app.client)
    firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
    await other.send("/sign-in", {"username": "admin", "password": PASSWORD}, user_agent=firefox)
    page = await guest.see("/account")
    assert "Firefox on Linux" in page.text
    assert page.text.count("this device") == 1
    mine = show_id((await app.accounts.sessions.resume(guest.cookies["tsuzuki"], "")).caller.key_public_id)
    [theirs] = [one for one in ids(page, "devices") if one != mine]
    done = await guest.send(f"/account/devices/{theirs}/sign-out")
    assert (done.status, done.headers["location"]) == (303, "/account?done=device")
    assert "Device signed out." in (await guest.see(done.headers["location"])).text
    assert not await is_signed_in(other)
    assert (await guest.send(f"/account/devices/{mine}/sign-out")).headers["location"] == "/sign-in?done=signed_out"
    assert guest.cookies == {}


async def test_all_others_or_all_are_signed_out_at_once(app, guest):
    user = await app.admin()
    others = [await a_guest(app, user) for _ in range(3)]
    stranger = await a_guest(app, await app.add())
    assert (await guest.send("/account/devices/sign-out-others")).headers["location"] == "/account?done=others"
    assert [await is_signed_in(one) for one in (*others, guest, stranger)] == [False, False, False, True, True]
    last = await a_guest(app, user)
    done = await guest.send("/account/devices/sign-out-all")
    assert "You are signed out everywhere." in (await guest.see(done.headers["location"])).text
    assert [await is_signed_in(one) for one in (last, guest, stranger)] == [False, False, True]


async def test_sec_31_what_is_somebody_elses_is_not_there(app, guest):
    stranger = await a_guest(app, await app.add())
    await guest.send("/account/tokens", {"name": "t", "scopes": "read", "life": "30"})
    page = await guest.see("/account")
    for path in (f"devices/{ids(page, 'devices')[0]}/sign-out", f"tokens/{ids(page, 'tokens')[0]}/revoke"):
        assert (await stranger.send(f"/account/{path}")).status == 404
    for nonsense in ("devices/x/sign-out", "tokens/..%2f/revoke", f"tokens/{'0' * 36}/revoke"):
        assert (await guest.send(f"/account/{nonsense}")).status == 404
    assert (await guest.see("/account")).text == page.text


# -- tokens


async def test_a_token_is_shown_once_works_and_is_revoked(app, guest):
    answer = await guest.send(
        "/account/tokens", [("name", "backup"), ("scopes", "read"), ("scopes", "admin"), ("life", "30")]
    )
    [key] = re.findall(r"tsz_[\w-]+", answer.text)
    assert (answer.status, answer.headers["cache-control"]) == (200, "no-store")
    holder = Visitor(app.client, token=key)
    assert (await holder.get("/admin/users")).status == 200
    assert (await holder.ask("DELETE", "/me/sessions")).status == 403
    page = await guest.see("/account")
    assert "backup" in page.text
    assert key not in page.text
    [token] = ids(page, "tokens")
    asked = await guest.see(f"/account/tokens/{token}/revoke")
    assert "Revoke backup?" in asked.text
    assert "It was last used" in asked.text
    assert (await holder.get("/admin/users")).status == 200  # asking changes nothing
    assert (await guest.send(f"/account/tokens/{token}/revoke")).headers["location"] == "/account?done=revoked"
    assert (await holder.get("/admin/users")).status == 401
    assert ids(await guest.see("/account"), "tokens") == []


async def test_a_token_ends_when_the_form_said(app, guest):
    for life, days in (("30", 30), ("365", 365), ("never", None)):
        await guest.send("/account/tokens", {"name": life, "scopes": "read", "life": life})
        caller = (await app.accounts.sessions.resume(guest.cookies["tsuzuki"], "")).caller
        token = next(one for one in await app.accounts.tokens.list(caller) if one.name == life)
        assert (token.expires_at and round((token.expires_at - token.created_at) / DAY)) == days


async def test_tokens_end_with_the_password_unless_they_are_kept(app, guest):
    fields = {"current_password": PASSWORD, "new_password": NEW, "repeat": NEW}
    assert "Keep my tokens" not in (await guest.see("/account")).text
    for keep, status in (("yes", 200), (None, 401)):
        program = await app.with_token(await app.admin(), "read")
        assert "Keep my tokens and device passwords (" in (await guest.see("/account")).text
        await guest.send("/account/password", fields | ({"keep_tokens": keep} if keep else {}))
        assert (await program.get("/me")).status == status
        fields |= {"current_password": NEW}


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"name": " "}, "name"),
        ({"name": "x" * 101}, "name"),
        ({"scopes": ()}, "scopes"),
        ({"life": "forever"}, "life"),
        ({"scopes": ("everything",)}, None),
    ],
    ids=str,
)
async def test_what_is_wrong_with_a_token_stands_beside_its_field(guest, wrong, field):
    form = {"name": "mine", "scopes": ("write",), "life": "365"} | wrong
    pairs = [("name", form["name"]), ("life", form["life"]), *(("scopes", scope) for scope in form["scopes"])]
    answer = await guest.send("/account/tokens", pairs)
    assert answer.status == 400
    assert focus_of(answer) == ([field] if field else [])
    assert error_of(answer, field) if field else 'role="alert"' in answer.text
    assert value_of(answer, "name") == form["name"]
    assert ('value="write" checked' in answer.text) == ("write" in form["scopes"])
    assert ids(answer, "tokens") == []


async def test_a_reader_makes_no_token_that_administers(app):
    reader = await a_guest(app, await app.add())
    answer = await reader.send("/account/tokens", {"name": "t", "scopes": "admin", "life": "30"})
    assert (answer.status, focus_of(answer)) == (400, ["scopes"])


# -- the password


async def test_changing_the_password_ends_other_sessions(app, guest):
    other = await a_guest(app, await app.admin())
    fields = {"current_password": PASSWORD, "new_password": NEW, "repeat": NEW}
    done = await guest.send("/account/password", fields)
    assert (done.status, done.headers["location"]) == (303, "/account?done=password")
    assert [await is_signed_in(one) for one in (guest, other)] == [True, False]
    for password, status in ((PASSWORD, 401), (NEW, 303)):
        assert (await Guest(app.client).send("/sign-in", {"username": "admin", "password": password})).status == status


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"current_password": "canary guess"}, "current_password"),
        ({"new_password": "canary", "repeat": "canary"}, "new_password"),
        ({"repeat": "canary other"}, "repeat"),
    ],
)
async def test_problems_of_a_new_password_are_beside_its_field(guest, wrong, field):
    fields = {"current_password": PASSWORD, "new_password": NEW, "repeat": NEW} | wrong
    answer = await guest.send("/account/password", fields)
    assert (answer.status, focus_of(answer)) == (400, [field])
    assert error_of(answer, field)
    assert not [typed for typed in fields.values() if typed in answer.text]


async def test_sec_37_a_stolen_session_guesses_passwords_under_the_limit(tmp_path):
    async with a_running_app(tmp_path, login_limit=2) as app:
        guest = await a_guest(app, await app.admin())
        fields = {"current_password": "guess", "new_password": NEW, "repeat": NEW}
        statuses = [(await guest.send("/account/password", fields)).status for _ in range(3)]
        assert statuses == [400, 400, 429]
        assert "Try again in 5 minutes." in (await guest.send("/account/password", fields)).text


async def test_somebody_without_a_password_sets_the_first_one(app):
    guest = await a_guest(app, await app.add(username="alice"))
    assert "Current password" not in (await guest.see("/account")).text
    assert (await guest.send("/account/password", {"new_password": NEW, "repeat": NEW})).status == 303
    assert "Current password" in (await guest.see("/account")).text


# -- the identity


@pytest.fixture
async def provider() -> AsyncIterator[StrictProvider]:
    async with strict_provider() as provider:
        yield provider


async def come_back(guest: Guest, provider: StrictProvider, page: Answer) -> Answer:
    """What a browser does with the page that leads to the provider, and the person there."""
    assert (page.status, page.headers["cache-control"]) == (200, "no-store")
    [refresh] = re.findall(r'http-equiv="refresh" content="0; url=([^"]+)"', page.text)
    [link] = re.findall(r'class="button" href="([^"]+)"', page.text)
    assert refresh == link
    state, code = provider.authorize(unescape(link))
    return await guest.see(f"/api/v1/oidc/callback?state={state}&code={code}")


async def test_an_account_is_linked_signed_in_with_and_unlinked(tmp_path, provider):
    async with a_running_app(tmp_path, **oidc_settings(provider.base)) as app:
        guest = await a_guest(app, await app.admin())
        assert "Sign in with 127.0.0.1" in (await Guest(app.client).see("/sign-in")).text
        stranger = Guest(app.client)
        refused = await come_back(stranger, provider, await stranger.send("/sign-in/provider", {"next": "/account"}))
        assert refused.headers["location"] == "/sign-in?reason=oidc_not_linked"
        linked = await come_back(guest, provider, await guest.send("/account/identity/link"))
        assert linked.headers["location"] == "/account?done=linked"
        assert "Account linked." in (await guest.see(linked.headers["location"])).text
        entered = await come_back(stranger, provider, await stranger.send("/sign-in/provider", {"next": "/account"}))
        assert entered.headers["location"] == "/account"
        assert "admin" in (await stranger.see("/account")).text
        assert (await guest.send("/account/identity/unlink")).headers["location"] == "/account?done=unlinked"
        assert "/account/identity/link" in (await guest.see("/account")).text
        other = await a_guest(app, await app.add())
        await come_back(other, provider, await other.send("/account/identity/link"))
        taken = await come_back(guest, provider, await guest.send("/account/identity/link"))
        sent = (await guest.see(taken.headers["location"])).headers["location"]
        assert "linked to another account" in (await guest.see(sent)).text
        assert "Set a password before you unlink" in (await other.see("/account")).text
        assert (await other.send("/account/identity/unlink")).status == 409


async def test_an_unreachable_provider_is_explained_on_the_page(tmp_path, provider):
    async with a_running_app(tmp_path, **oidc_settings(provider.base)) as app:
        provider.metadata = {"token_endpoint": None}
        stranger = Guest(app.client)
        assert (await stranger.send("/sign-in/provider")).headers["location"] == "/sign-in?reason=oidc_failed"


async def test_sec_37_too_many_flows_of_one_address_are_refused_in_words(tmp_path, provider):
    async with a_running_app(tmp_path, **oidc_settings(provider.base)) as app:
        guest = Guest(app.client)
        answers = [await guest.send("/sign-in/provider", {"next": "/"}) for _ in range(61)]
        assert [answer.status for answer in answers] == [200] * 60 + [429]
        assert "Try again in" in answers[-1].text
        assert (await app.anyone.get("/oidc/login")).status == 429


async def test_without_a_provider_nothing_of_it_is_there(app, guest):
    assert "Sign in with" not in (await Guest(app.client).see("/sign-in")).text
    assert "identity" not in (await guest.see("/account")).text
    assert (await Guest(app.client).send("/sign-in/provider")).status == 404
    assert (await guest.send("/account/identity/link")).status == 404
