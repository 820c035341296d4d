"""Signing in at a real provider, which runs as a process of its own."""

import subprocess
import sys
import time
from urllib.parse import parse_qs, urlsplit

import aiohttp
import pytest

from tests.api.people import API, Visitor, a_running_app
from tests.servers import free_port


@pytest.fixture(scope="module")
def provider(tmp_path_factory):
    """The address of an oidc-provider-mock."""
    port = free_port()
    log = (tmp_path_factory.mktemp("provider") / "log").open("wb")
    process = subprocess.Popen(
        [sys.executable, "-m", "oidc_provider_mock", "--port", str(port), "--require-nonce", "true"],
        stdout=log,
        stderr=log,
    )
    try:
        _wait_for(port)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(20)
        log.close()


def _wait_for(port: int) -> None:
    import socket

    for _ in range(300):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError("the provider does not start")


def settings(issuer: str, **over: str) -> dict[str, str]:
    return {
        "oidc_issuer": issuer,
        "oidc_client_id": "tsuzuki",
        "oidc_client_secret": "canary",
        "oidc_redirect_uri": f"http://reader.example.org{API}/oidc/callback",
        "oidc_allowed_user": "alice@example.org",
    } | over


async def agree(auth_url: str, subject: str, **claims: object) -> str:
    """What the person does at the provider; the path that the browser is then sent to."""
    base = "{0.scheme}://{0.netloc}".format(urlsplit(auth_url))
    async with aiohttp.ClientSession() as session:
        async with session.put(f"{base}/users/{subject}", json=claims) as stored:
            assert stored.status == 204
        async with session.post(auth_url, data={"sub": subject}, allow_redirects=False) as answer:
            location = urlsplit(answer.headers["location"])
    assert (location.scheme, location.netloc) == ("http", "reader.example.org")
    return f"{location.path.removeprefix(API)}?{location.query}"


async def begin(visitor: Visitor, path: str = "/inbox") -> tuple[str, str]:
    """The provider's URL and the flow's cookie."""
    answer = await visitor.get(f"/oidc/login?next={path}")
    assert answer.status == 200
    return answer.json()["data"]["auth_url"], answer.headers["set-cookie"].partition(";")[0]


VERIFIED = {"email": "alice@example.org", "email_verified": True, "preferred_username": "alice"}


async def test_without_a_provider_there_is_no_sign_in_by_one(tmp_path):
    async with a_running_app(tmp_path) as app:
        assert (await app.anyone.get("/oidc/enabled")).json() == {"data": {"enabled": False}}
        assert (await app.anyone.get("/oidc/login")).status == 404
        callback = await app.anyone.get("/oidc/callback?state=a&code=b")
        assert (callback.status, callback.headers["location"]) == (303, "/sign-in?reason=oidc_off")


async def test_someone_signs_in_at_the_provider(tmp_path, provider):
    async with a_running_app(tmp_path, **settings(provider)) as app:
        assert (await app.anyone.get("/oidc/enabled")).json() == {"data": {"enabled": True}}
        auth_url, flow = await begin(app.anyone)
        query = parse_qs(urlsplit(auth_url).query)
        assert query["code_challenge_method"] == ["S256"]
        assert query["nonce"]
        back = await agree(auth_url, "alice", **VERIFIED)
        answer = await app.client.get(API + back, headers={"cookie": flow})
        assert (answer.status, answer.headers["location"]) == (303, "/inbox")
        assert "canary" not in answer.text
        user = await app.accounts.users.find("alice")
        assert (user.role, user.email) == ("reader", "alice@example.org")
        replayed = await app.client.get(API + back, headers={"cookie": flow})
        assert replayed.headers["location"] == "/sign-in?reason=oidc_expired"


async def test_people_return_to_the_configured_public_address(tmp_path, provider):
    public = {"oidc_redirect_uri": "", "public_url": "https://reader.example.org"}
    async with a_running_app(tmp_path, **settings(provider, **public)) as app:
        auth_url, _ = await begin(app.anyone)
    back = parse_qs(urlsplit(auth_url).query)["redirect_uri"]
    assert back == ["https://reader.example.org/api/v1/oidc/callback"]


async def test_the_session_works_and_the_flows_cookie_is_taken_back(tmp_path, provider):
    async with a_running_app(tmp_path, **settings(provider)) as app:
        auth_url, flow = await begin(app.anyone)
        back = await agree(auth_url, "alice", **VERIFIED)
        async with (
            aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session,
            session.get(app.client.base + API + back, headers={"cookie": flow}, allow_redirects=False) as answer,
        ):
            cookies = dict(line.partition(";")[0].split("=", 1) for line in answer.headers.getall("set-cookie"))
        assert cookies["tsuzuki_oidc"] == ""
        me = await Visitor(app.client, cookie=cookies["tsuzuki"]).get("/me")
        assert me.json()["data"]["username"] == "alice"


@pytest.mark.parametrize(
    ("subject", "claims"),
    [
        ("mallory", {"email": "mallory@example.org", "email_verified": True}),
        ("unverified", {"email": "alice@example.org", "email_verified": False}),
        ("silent", {}),
    ],
)
async def test_a_stranger_goes_to_the_sign_in_page(tmp_path, provider, subject, claims):
    async with a_running_app(tmp_path, **settings(provider)) as app:
        auth_url, flow = await begin(app.anyone)
        back = await agree(auth_url, subject, **claims)
        answer = await app.client.get(API + back, headers={"cookie": flow})
        assert (answer.status, answer.headers["location"]) == (303, "/sign-in?reason=oidc_not_allowed")
        assert "tsuzuki=" not in answer.headers.get("set-cookie", "")


async def test_an_answer_that_another_browser_asked_for_signs_nobody_in(tmp_path, provider):
    async with a_running_app(tmp_path, **settings(provider)) as app:
        auth_url, _ = await begin(app.anyone)
        back = await agree(auth_url, "alice", **VERIFIED)
        answer = await app.client.get(API + back)
        assert answer.headers["location"] == "/sign-in?reason=oidc_expired"


async def test_someone_signed_in_links_the_account_and_unlinks_it(tmp_path, provider):
    async with a_running_app(tmp_path, **settings(provider)) as app:
        admin = await app.signed_in(await app.admin())
        auth_url, flow = await begin(admin)
        back = await agree(auth_url, "alice", **VERIFIED)
        cookies = f"{admin.headers['cookie']}; {flow}"
        assert (await app.client.get(API + back, headers={"cookie": cookies})).headers["location"] == "/inbox"
        again = await app.signed_in(await app.admin())
        [listed] = [one for one in (await again.get("/admin/users")).json()["data"] if one["username"] == "admin"]
        assert listed["is_linked"]
        assert (await again.ask("DELETE", "/me/identity")).status == 204


async def test_a_redirect_to_another_site_leads_to_the_front_page(tmp_path, provider):
    """SEC-41."""
    async with a_running_app(tmp_path, **settings(provider)) as app:
        auth_url, flow = await begin(app.anyone, "//evil.example")
        back = await agree(auth_url, "alice", **VERIFIED)
        assert (await app.client.get(API + back, headers={"cookie": flow})).headers["location"] == "/"


async def test_a_provider_that_does_not_answer_is_503(tmp_path):
    async with a_running_app(tmp_path, **settings(f"http://127.0.0.1:{free_port()}")) as app:
        answer = await app.anyone.get("/oidc/login")
        assert (answer.status, answer.json()["code"]) == (503, "SERVICE_UNAVAILABLE")
