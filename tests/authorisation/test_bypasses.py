"""SEC-13, SEC-15, SEC-32, SEC-42: no other spelling, other site's page or frame gets around the table."""

from tests.api.people import a_running_app
from tests.authorisation.callers import visitor
from tests.authorisation.objects import filled
from tests.authorisation.policy import endpoints
from tsuzuki.http.auth import SAFE_METHODS

GUARDED = "/api/v1/admin/users"
DISGUISES = [
    "/api/v1/admin/users/",
    "//api/v1/admin/users",
    "/api/v1//admin/users",
    "/api/v1/./admin/users",
    "/api/v1/about/../admin/users",
    "/api/v1/about/%2e%2e/admin/users",
    "/api/v1/about%2f..%2fadmin%2fusers",
    "/api/v1/admin%2Fusers",
    "/api/v1/%61dmin/users",
    "/API/V1/ADMIN/USERS",
    "/api/v1/admin/users;a=b",
    "/api/v1/admin/users%00",
    "/api/v1/admin/users%20",
    "/api/v1/admin/users.json",
    "/static/../api/v1/admin/users",
    "/static/..%2fapi/v1/admin/users",
    "/healthz/../api/v1/admin/users",
]
HOSTS = [None, "evil.example", "localhost/api/v1/about?", "a b", "[::1", "x@y", ""]


async def test_no_spelling_of_path_or_host_bypasses_the_gate(app):
    """SEC-32: neither for a stranger nor for a reader; an administrator is let in by the right one."""
    wrong = {}
    for caller, gate in {"anonymous": 401, "reader": 403, "admin": 200}.items():
        keys = (await visitor(app, caller)).headers
        assert (await app.client.get(GUARDED, headers=keys)).status == gate
        if caller == "admin":
            continue
        for host in HOSTS:
            headers = keys if host is None else keys | {"host": host}
            for path in (GUARDED, *DISGUISES):
                status = (await app.client.get(path, headers=headers)).status
                if status not in (400, gate, 404):
                    wrong[caller, host, path] = status
    assert wrong == {}


async def test_every_write_that_another_sites_page_makes_is_refused(app):
    """SEC-42, for cookies and for doors alike; a token is no cookie."""
    admin = await app.add(role="admin")
    hostile: list[dict[str, str]] = [
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
        {"sec_fetch_site": "cross-site", "origin": app.client.base},
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "https://evil.example", "content_type": "text/plain"},
        {"origin": app.client.base + ".evil.example"},
    ]
    wrong = {}
    for name, endpoint in endpoints().items():
        if endpoint.method in SAFE_METHODS:
            continue
        who = await app.signed_in(admin)
        for headers in hostile:
            status = (await who.ask(endpoint.method, filled(endpoint.path), {}, **headers)).status
            if status != 403:
                wrong[name, str(headers)] = status
    assert wrong == {}
    bearer = await app.with_token(admin, "write")
    assert (await bearer.ask("DELETE", "/me/sessions", sec_fetch_site="cross-site")).status == 200
    own = await app.signed_in(admin)
    for headers in ({"sec_fetch_site": "same-origin"}, {"origin": app.client.base}, {"sec_fetch_site": "none"}, {}):
        assert (await own.ask("DELETE", "/me/sessions", **headers)).status == 200


async def test_every_answer_has_the_policy_and_forbids_framing(app):
    """SEC-13, SEC-15: refusals included."""
    for caller in ("anonymous", "reader", "admin"):
        who = await visitor(app, caller)
        for path in ("/me", "/admin/users", "/nope", "/sessions"):
            answer = await who.get(path)
            assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["cache-control"] == "no-store"


async def test_other_sites_may_read_only_where_the_operator_lists_them(tmp_path):
    friend = "https://friend.example"
    async with a_running_app(tmp_path, cors_allowed_origins=friend) as app:
        for origin, expected in ((friend, friend), ("https://evil.example", None), ("null", None)):
            answer = await app.anyone.get("/about", origin=origin)
            assert answer.headers.get("access-control-allow-origin") == expected
            assert "access-control-allow-credentials" not in answer.headers
