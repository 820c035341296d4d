"""Signing in, oneself and the operator's side, seen from outside."""

import re

import aiohttp
import pytest
from structlog.testing import capture_logs

from tests.api.people import PASSWORD, Visitor, a_running_app
from tsuzuki.accounts.devices import AppRequest
from tsuzuki.model.ids import show_id
from tsuzuki.model.times import MINUTE
from tsuzuki.protocols.fever import digest

COOKIE = re.compile(r"tsuzuki=([\w-]{43}); Max-Age=2592000; Path=/; HttpOnly; SameSite=Lax")


@pytest.fixture
async def app(tmp_path):
    async with a_running_app(tmp_path) as app:
        yield app


# -- sessions


async def test_signing_in_answers_with_the_person_and_a_cookie(app):
    answer = await app.anyone.post("/sessions", {"password": PASSWORD})
    assert answer.status == 200
    user = answer.json()["data"]["user"]
    assert (user["username"], user["role"]) == ("admin", "admin")
    found = COOKIE.fullmatch(answer.headers["set-cookie"])
    assert found
    me = (await Visitor(app.client, cookie=found[1]).get("/me")).json()["data"]
    assert me["id"] == user["id"]
    assert me["tenant"]["name"] == "Home"
    assert [(shelf["name"], shelf["plan"]) for shelf in me["shelves"]] == [("Main", "self-hosted")]
    assert me["default_shelf_id"] == me["shelves"][0]["id"]


@pytest.mark.parametrize(
    "body", [{"password": "wrong"}, {"username": "nobody", "password": PASSWORD}, {"password": ""}], ids=str
)
async def test_a_wrong_name_and_a_wrong_password_answer_alike(app, body):
    answer = await app.anyone.post("/sessions", body)
    assert (answer.status, answer.json()) == (
        401,
        {"error": "Wrong username or password.", "code": "UNAUTHORIZED"},
    )
    assert "set-cookie" not in answer.headers


async def test_the_eleventh_failure_is_429_with_retry_after(app):
    """SEC-37, without any Redis."""
    answers = [await app.anyone.post("/sessions", {"password": "wrong"}) for _ in range(11)]
    assert [answer.status for answer in answers] == [401] * 10 + [429]
    assert 295 <= int(answers[-1].headers["retry-after"]) <= 300
    assert answers[-1].json()["code"] == "RATE_LIMITED"
    assert (await app.anyone.post("/sessions", {"password": PASSWORD})).status == 429


async def test_a_known_browser_can_sign_in_during_an_attack(app):
    """Its second cookie opens nothing and stays when it signs out."""
    jar = aiohttp.CookieJar(unsafe=True)
    async with aiohttp.ClientSession(app.client.base, cookie_jar=jar) as browser:
        await browser.post("/api/v1/sessions", json={"password": PASSWORD})
        device = {cookie.key: cookie for cookie in jar}["tsuzuki_device"]
        assert (device["max-age"], device["httponly"], device["samesite"]) == ("31536000", True, "Lax")
        await browser.delete("/api/v1/sessions")
        assert [cookie.key for cookie in jar] == ["tsuzuki_device"]
        assert (await browser.get("/api/v1/me")).status == 401
        answers = [await app.anyone.post("/sessions", {"password": "wrong"}) for _ in range(11)]
        assert answers[-1].status == 429
        assert (await browser.post("/api/v1/sessions", json={"password": PASSWORD})).status == 200


async def test_signing_out_ends_the_session_and_takes_the_cookie_back(app):
    visitor = await app.signed_in(await app.admin())
    answer = await visitor.ask("DELETE", "/sessions")
    assert (answer.status, answer.body) == (204, b"")
    assert answer.headers["set-cookie"].startswith("tsuzuki=; Max-Age=0;")
    assert (await visitor.get("/me")).status == 401
    assert (await visitor.ask("DELETE", "/sessions")).status == 204


async def test_a_planted_cookie_is_worth_nothing_after_signing_in(app):
    """SEC-34."""
    planted = await app.signed_in(await app.add())
    answer = await planted.post("/sessions", {"password": PASSWORD})
    assert answer.status == 200
    assert planted.headers["cookie"] not in answer.headers["set-cookie"]
    assert (await planted.get("/me")).status == 401


async def test_over_https_the_cookie_has_the_host_prefix(tmp_path):
    async with a_running_app(tmp_path, trusted_proxies="127.0.0.1") as app:
        https = {"x_forwarded_proto": "https"}
        answer = await app.anyone.post("/sessions", {"password": PASSWORD}, **https)
        cookie = answer.headers["set-cookie"]
        assert re.fullmatch(r"__Host-tsuzuki=[\w-]{43}; .*; SameSite=Lax; Secure", cookie)
        secure = Visitor(app.client)
        secure.headers["cookie"] = cookie.partition(";")[0]
        assert (await secure.get("/me", **https)).status == 200
        assert (await secure.get("/me")).status == 401
        plain = await app.signed_in(await app.admin())
        assert (await plain.get("/me", **https)).status == 401


async def test_a_session_that_lives_on_sends_its_cookie_again(app):
    visitor = await app.signed_in(await app.admin())
    assert "set-cookie" not in (await visitor.get("/me")).headers
    app.time.pass_(5 * MINUTE)
    again = (await visitor.get("/me")).headers["set-cookie"]
    assert again.startswith(visitor.headers["cookie"])


async def test_a_forwarded_address_counts_only_from_a_trusted_proxy(tmp_path):
    """SEC-40."""
    for folder, trusted, expected in (("a", "", "127.0.0.1"), ("b", "127.0.0.1", "203.0.113.9")):
        async with a_running_app(tmp_path / folder, trusted_proxies=trusted) as app:
            spoofed = {
                "x_forwarded_for": "198.51.100.1, 203.0.113.9",
                "x_real_ip": "198.51.100.2",
                "forwarded": "for=1",
            }
            answer = await app.anyone.post("/sessions", {"password": PASSWORD}, **spoofed)
            visitor = Visitor(app.client, cookie=answer.headers["set-cookie"].partition(";")[0].partition("=")[2])
            [session] = (await visitor.get("/me/sessions")).json()["data"]
            assert session["address"] == expected


async def test_an_empty_password_opens_only_by_a_local_name(tmp_path):
    """R76: a page of another site can have its name rebound to 127.0.0.1, but not its Host."""
    with capture_logs() as lines:
        async with a_running_app(tmp_path, password="", allow_empty_password="on") as app:
            pass
    assert "open_without_password" in [line["event"] for line in lines]
    async with a_running_app(tmp_path, password="", allow_empty_password="on") as app:
        assert (await app.anyone.post("/sessions", {"password": ""}, host="evil.example")).status == 401
        assert (await app.anyone.post("/sessions", {"password": ""})).status == 200


# -- the first visit


async def test_the_first_visit_uses_the_code_from_the_log(tmp_path):
    with capture_logs() as lines:
        async with a_running_app(tmp_path, password="") as app:
            [said] = [line for line in lines if line["event"] == "nobody_can_sign_in_yet"]
            body = {"code": said["setup_code"], "password": PASSWORD}
            assert (await app.anyone.get("/setup")).json() == {"data": {"needed": True}}
            assert (await app.anyone.post("/setup", body | {"code": "wrong"})).status == 401
            answer = await app.anyone.post("/setup", body)
            assert (answer.status, answer.json()["data"]["user"]["role"]) == (201, "admin")
            assert (await app.anyone.get("/setup")).json() == {"data": {"needed": False}}
            assert (await app.anyone.post("/setup", body | {"username": "two"})).status == 409


async def test_sessions_survive_a_restart_and_no_second_code_is_printed(tmp_path):
    async with a_running_app(tmp_path) as app:
        cookie = await app.session(await app.admin())
    with capture_logs() as lines:
        async with a_running_app(tmp_path, password="") as app:
            assert (await Visitor(app.client, cookie=cookie).get("/me")).status == 200
    assert "nobody_can_sign_in_yet" not in [line["event"] for line in lines]


# -- oneself


async def test_tokens_are_made_listed_and_revoked(app):
    visitor = await app.signed_in(await app.admin())
    body = {"name": "phone", "scopes": ["read", "admin"], "expires_at": "2999-01-01T00:00:00Z"}
    answer = await visitor.post("/me/tokens", body)
    assert answer.status == 201
    made = answer.json()["data"]
    assert made["token"].startswith("tsz_")
    token = Visitor(app.client, token=made["token"])
    assert (await token.get("/admin/users")).status == 200
    assert (await token.ask("DELETE", "/me/sessions")).status == 403
    [listed] = (await visitor.get("/me/tokens")).json()["data"]
    assert "token" not in listed
    assert (listed["name"], listed["scopes"], listed["expires_at"]) == (
        "phone",
        ["read", "admin"],
        "2999-01-01T00:00:00.000Z",
    )
    assert listed["last_used_at"] is not None
    assert (await visitor.ask("DELETE", f"/me/tokens/{listed['id']}")).status == 204
    refused = await token.get("/admin/users")
    assert (refused.status, refused.headers["www-authenticate"]) == (401, "Bearer")


async def test_device_passwords_are_made_for_protocols_kinds_and_a_shelf(app):
    user = await app.admin()
    visitor = await app.signed_in(user)
    listed = (await visitor.get("/me/protocols")).json()["data"]
    spoken = {one["name"]: one for one in listed}
    assert spoken["fever"]["path"] == "/fever/"
    assert [one.keys() for one in listed] == [{"name", "title", "path"}] * len(listed)
    shelf = (await visitor.get("/me")).json()["data"]["shelves"][0]
    body = {"name": "phone", "protocols": ["fever"], "kinds": "item", "shelf": shelf["id"]}
    made = (await visitor.post("/me/tokens", body)).json()["data"]
    [known] = (await visitor.get("/me/tokens")).json()["data"]
    assert known == made["details"]
    assert (known["kind"], known["scopes"], known["kinds"]) == ("device", ["fever"], "item")
    assert (known["client"], known["shelf_name"], known["last_used_at"]) == (None, shelf["name"], None)
    signed = AppRequest("fever", "192.0.2.1", "Reeder/5040")
    held = await app.accounts.devices.sign_in(signed, None, digest(user.username, made["token"]))
    assert (held.kind, show_id(held.shelf.public_id)) == ("item", shelf["id"])
    [known] = (await visitor.get("/me/tokens")).json()["data"]
    assert (known["client"], known["last_used_at"] is None) == ("Reeder/5040", False)
    assert (await Visitor(app.client, token=made["token"]).get("/me")).status == 401  # it opens nothing of the API


@pytest.mark.parametrize(
    "wrong",
    [
        {"protocols": ["gopher"]},
        {"protocols": ["fever"], "scopes": ["read"]},
        {"protocols": []},
        {"protocols": ["fever"], "kinds": "comics"},
        {"protocols": ["fever"], "shelf": "0198c3f2-0000-7000-8000-000000000000"},
        {"protocols": ["fever"], "expires_at": "2001-01-01T00:00:00Z"},
    ],
)
async def test_a_device_password_that_makes_no_sense_is_refused(app, wrong):
    visitor = await app.signed_in(await app.admin())
    assert (await visitor.post("/me/tokens", {"name": "phone"} | wrong)).status in {400, 422}
    assert (await visitor.get("/me/tokens")).json()["data"] == []


async def test_a_bad_token_is_refused_even_beside_a_good_cookie(app):
    visitor = await app.signed_in(await app.admin())
    assert (await visitor.get("/me", authorization="Bearer tsz_wrong")).status == 401
    assert (await visitor.get("/me", authorization="Basic eDp5")).status == 200


async def test_sessions_are_listed_and_ended(app):
    admin = await app.admin()
    visitor, other = await app.signed_in(admin), await app.signed_in(admin)
    listed = (await visitor.get("/me/sessions")).json()["data"]
    assert sorted(session["is_current"] for session in listed) == [False, True]
    assert (await visitor.ask("DELETE", "/me/sessions")).json() == {"data": {"ended": 1}}
    assert (await other.get("/me")).status == 401
    assert (await visitor.get("/me")).status == 200


async def test_changing_a_password_takes_the_old_one_and_limits_guesses(app):
    visitor = await app.signed_in(await app.admin())
    for _ in range(10):
        wrong = await visitor.ask("PUT", "/me/password", {"current_password": "x", "new_password": PASSWORD})
        assert (wrong.status, wrong.json()["details"][0]["field"]) == (400, "current_password")
    right = {"current_password": PASSWORD, "new_password": "another password"}
    assert (await visitor.ask("PUT", "/me/password", right)).status == 429


async def test_a_changed_password_counts_at_once(app):
    visitor = await app.signed_in(await app.admin())
    right = {"current_password": PASSWORD, "new_password": "another password"}
    assert (await visitor.ask("PUT", "/me/password", right)).status == 204
    assert (await visitor.get("/me")).status == 200
    assert (await app.anyone.post("/sessions", {"password": PASSWORD})).status == 401
    assert (await app.anyone.post("/sessions", {"password": "another password"})).status == 200


async def test_a_default_shelf_is_one_of_the_tenants_own(app):
    """SEC-31."""
    visitor = await app.signed_in(await app.admin())
    stranger = await app.signed_in(await app.add(tenant_id=app.other_tenant))
    mine = (await visitor.get("/me")).json()["data"]["default_shelf_id"]
    theirs = (await stranger.get("/me")).json()["data"]["default_shelf_id"]
    assert mine != theirs
    assert (await visitor.ask("PATCH", "/me", {"default_shelf_id": mine})).status == 200
    assert (await visitor.ask("PATCH", "/me", {"default_shelf_id": theirs})).status == 404
    assert (await visitor.ask("PATCH", "/me", {"default_shelf_id": "nonsense"})).status == 400
    assert (await visitor.ask("PATCH", "/me", {"default_shelf_id": None})).json()["data"]["default_shelf_id"] == mine


async def test_a_request_uses_the_named_shelf_or_the_default(app):
    """I8: another tenant's shelf is as unknown as one that is not there."""
    visitor = await app.signed_in(await app.admin())
    stranger = await app.signed_in(await app.add(tenant_id=app.other_tenant))
    mine, theirs = [(await who.get("/shelf")).json()["data"]["id"] for who in (visitor, stranger)]
    assert (await visitor.get(f"/shelf?shelf={mine}")).json()["data"]["id"] == mine
    assert (await visitor.get(f"/shelf?shelf={theirs}")).status == 404
    assert (await visitor.get("/shelf?shelf=01952ff9-0000-7000-8000-000000000000")).status == 404
    assert (await visitor.get("/shelf?shelf=nonsense")).status == 400


# -- the operator's side


async def test_people_are_added_changed_disabled_and_deleted(app):
    admin = await app.signed_in(await app.admin())
    body = {"username": "alice", "password": PASSWORD, "tenant_id": show_id(app.other_tenant)}
    added = await admin.post("/admin/users", body)
    assert added.status == 201
    path = f"/admin/users/{added.json()['data']['id']}"
    assert added.json()["data"]["tenant"]["name"] == "Other"
    assert (await admin.post("/admin/users", body)).status == 409
    assert (await admin.ask("PATCH", path, {"email": "a@example.org\n"})).status == 400
    assert (await admin.ask("PATCH", path, {"email": "a@example.org"})).json()["data"]["email"] == "a@example.org"
    signed_in = await app.anyone.post("/sessions", {"username": "alice", "password": PASSWORD})
    assert signed_in.status == 200
    disabled = await admin.post(f"{path}/disable", {"reason": "on leave"})
    assert disabled.json()["data"]["disabled_at"] is not None
    assert (await app.anyone.post("/sessions", {"username": "alice", "password": PASSWORD})).status == 401
    assert (await admin.ask("POST", f"{path}/enable")).json()["data"]["disabled_at"] is None
    assert (await admin.ask("PUT", f"{path}/password", {"password": "another password"})).status == 204
    contents = (await admin.get(f"{path}/contents")).json()
    assert contents["data"] | {"sessions": 0, "tokens": 0, "invites": 0, "shelves": 1} == contents["data"]
    assert (await admin.ask("DELETE", path)).json() == contents
    assert (await admin.get(path)).status == 404
    listing = (await admin.get("/admin/users?limit=1")).json()
    assert listing["meta"] == {"total": 1, "page": 1, "limit": 1, "pages": 1}
    assert listing["data"][0]["username"] == "admin"


async def test_the_last_administrator_stays(app):
    admin = await app.admin()
    visitor = await app.signed_in(admin)
    assert (await visitor.ask("DELETE", f"/admin/users/{show_id(admin.public_id)}")).status == 409


async def test_an_invitation_is_made_and_accepted(app):
    admin = await app.signed_in(await app.admin())
    made = (await admin.post("/admin/invites", {"role": "reader"})).json()["data"]
    assert made["path"] == f"/invite?code={made['code']}"
    assert [one["id"] for one in (await admin.get("/admin/invites")).json()["data"]] == [made["id"]]
    body = {"code": made["code"], "username": "guest", "password": PASSWORD}
    answer = await app.anyone.post("/invites/accept", body)
    assert (answer.status, answer.json()["data"]["user"]["username"]) == (201, "guest")
    assert COOKIE.fullmatch(answer.headers["set-cookie"])
    assert (await app.anyone.post("/invites/accept", body | {"username": "two"})).status == 401


async def test_tenants_are_added_renamed_and_deleted(app):
    admin = await app.signed_in(await app.admin())
    added = await admin.post("/admin/tenants", {"name": "Third"})
    assert added.status == 201
    path = f"/admin/tenants/{added.json()['data']['id']}"
    assert (await admin.ask("PATCH", path, {"name": "3rd"})).json()["data"]["name"] == "3rd"
    assert (await admin.get(f"{path}/contents")).json()["data"]["shelves"] == 1
    assert (await admin.ask("DELETE", path)).status == 200
    assert (await admin.get(path)).status == 404


async def test_the_audit_log_is_filtered_and_paged(app):
    admin = await app.admin()
    visitor = await app.signed_in(admin)
    await visitor.post("/admin/users", {"username": "alice", "password": PASSWORD})
    actor = show_id(admin.public_id)
    answer = await visitor.get(f"/admin/auditlog?actorid={actor}&action=user&entitytype=user&limit=500")
    [row] = answer.json()["data"]
    assert (row["action"], row["actor"], row["address"]) == ("user.create", "admin", "127.0.0.1")
    assert row["after"] == {"username": "alice", "role": "reader", "email": None}
    assert PASSWORD not in answer.text
    assert "$argon2id$" not in answer.text
    by_system = (await visitor.get("/admin/auditlog?actorid=system&action=tenant.*")).json()
    assert {row["actorid"] for row in by_system["data"]} == {None}
    assert by_system["meta"]["total"] == 2
    assert (await visitor.get("/admin/auditlog?to=2000-01-01T00:00:00Z")).json()["data"] == []
    assert (await visitor.get("/admin/auditlog?limit=501")).status == 400
    assert (await visitor.get("/admin/auditlog?from=yesterday")).status == 400
