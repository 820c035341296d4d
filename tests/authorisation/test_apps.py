"""What reader apps call: nobody gets in by a cookie, a bearer token, or another protocol's password."""

import base64

from tests.api.people import RunningApp
from tests.app import Answer
from tests.authorisation.policy import app_resources
from tests.protocols.people import an_app_reader
from tsuzuki.model.times import MINUTE

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
            filled += [(method, path) for method in resource.handlers if method != "HEAD"]
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
