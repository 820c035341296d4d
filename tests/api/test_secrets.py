"""SEC-39: what proves who somebody is stands in no log, on success or failure."""

import pytest
from structlog.testing import capture_logs

from tests.api.people import PASSWORD, a_running_app

CANARY = "canary-5ecret-value"


@pytest.fixture
async def app(tmp_path):
    async with a_running_app(tmp_path) as app:
        yield app


async def test_no_credential_is_in_any_log_line(app):
    with capture_logs() as lines:
        answers = [
            await app.anyone.post("/sessions", {"password": CANARY}),
            await app.anyone.post("/sessions", {"username": CANARY, "password": CANARY}),
            await app.anyone.post("/setup", {"code": CANARY, "password": CANARY}),
            await app.anyone.post("/invites/accept", {"code": CANARY, "username": "a", "password": CANARY}),
            await app.anyone.get("/me", authorization=f"Bearer tsz_{CANARY}"),
            await app.anyone.get("/me", cookie=f"tsuzuki={CANARY}"),
            await app.anyone.get(f"/oidc/callback?code={CANARY}&state={CANARY}"),
            await app.anyone.post("/sessions", {"password": [CANARY]}),
            await app.anyone.post("/sessions", {"password": PASSWORD}),
        ]
        made = await (await app.signed_in(await app.admin())).post("/me/tokens", {"name": "t", "scopes": ["read"]})
    text = repr(lines)
    assert len(lines) >= len(answers)
    for secret in (CANARY, PASSWORD, made.json()["data"]["token"], answers[-1].headers["set-cookie"][8:40]):
        assert secret not in text
    for answer in answers:
        assert CANARY not in answer.text
