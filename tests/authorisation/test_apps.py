"""What reader apps call: nobody gets in by a cookie, a bearer token, or another protocol's password."""

import base64

from starlette.routing import Match

from tests.api.people import RunningApp
from tests.app import Answer
from tests.authorisation.policy import app_resources, routes_of
from tests.protocols.people import an_app_reader
from tsuzuki.http.routing import Resource, Routes, _shape
from tsuzuki.model.times import MINUTE
from tsuzuki.protocols.access import AppResource

FEVER_REFUSAL = {"api_version": 3, "auth": 0}


def is_refused(answer: Answer) -> bool:
    """In the protocol's own way: by its status, or as Fever says it."""
    return answer.status in {401, 404} or (answer.status == 200 and answer.json() == FEVER_REFUSAL)


def paths(app: RunningApp, *, is_public: bool) -> list[tuple[str, str]]:
    """Every method and path, with numbers for what is in braces."""
    filled = []
    for resource in app_resources(app.app):
        if resource.is_public == is_public:
            path = "/".join("1" if part.startswith("{") else part for part in resource.path.split("/"))
            filled += [(method, path) for method in resource.handlers if method not in {"HEAD", "OPTIONS"}]
    return filled


async def test_nothing_opens_without_a_device_password(app):
    user = await app.admin()
    token = await app.with_token(user, "read", "write", "admin")
    session = await app.signed_in(user)
    reader = await an_app_reader(app, "fever")
    wrong = {}
    basic = base64.b64encode(f"{reader.user.username}:{reader.key}".encode()).decode()
    strangers = {
        "nobody": {},
        "cookie": session.headers,
        "bearer": token.headers,
        "another protocol's": {"authorization": f"Basic {basic}", "x-auth-token": reader.key},
    }
    for method, path in paths(app, is_public=False):
        app.time.pass_(6 * MINUTE)  # nobody is refused for having been wrong too often
        for name, headers in strangers.items():
            answer = await app.client.ask(method, path, headers=headers)
            if not is_refused(answer):
                wrong[name, method, path] = answer.status
    assert wrong == {}


async def test_what_is_open_tells_nothing_and_sends_nobody_elsewhere(app):
    for method, path in [*paths(app, is_public=True), *paths(app, is_public=False)]:
        answer = await app.client.ask(method, path)
        assert answer.status not in range(300, 400), path  # a redirect turns a POST into a GET and loses the key
        assert "set-cookie" not in answer.headers, path


async def test_permission_for_other_sites_tells_nothing(app):
    """A browser asks for it before it may send a password; pages of other sites have no cookie that counts."""
    paths = [resource.path for resource in app_resources(app.app) if "OPTIONS" in resource.handlers]
    for path in paths:
        answer = await app.client.ask("OPTIONS", path.replace("{call:path}", "1"))
        assert (answer.status, answer.body) == (204, b""), path
        assert "access-control-allow-credentials" not in answer.headers


async def test_apps_take_no_address_from_the_site_or_the_api(app):
    """Some of their paths begin with nothing of their own, and some match whatever follows."""
    everything = routes_of(app.app)
    without = Routes(one for one in everything.resources if not isinstance(one, AppResource))
    for resource in without.resources:
        path = "/".join("1" if part.startswith("{") else part for part in resource.path.split("/"))
        assert found_by(everything, path) == found_by(without, path), resource.path
    assert not isinstance(found_by(everything, "/"), AppResource)


def found_by(routes: Routes, path: str) -> Resource:
    """What answers this path."""
    scope = {"type": "http", "method": "GET", "path": path, "root_path": "", "headers": []}
    known = routes._known(*_shape(path))
    matching = (route for route in routes._routes_of(known) if route.matches(scope)[0] is Match.FULL)
    found = next(matching).app
    assert isinstance(found, Resource)
    return found
