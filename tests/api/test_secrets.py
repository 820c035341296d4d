"""SEC-39: what proves who somebody is stands in no log, on success or failure."""

import pytest
from structlog.testing import capture_logs

from tests.api.people import PASSWORD, a_town

CANARY = "canary-5ecret-value"


@pytest.fixture
async def town(tmp_path):
    async with a_town(tmp_path) as town:
        yield town


async def test_no_credential_is_in_any_log_line(town):
    with capture_logs() as lines:
        answers = [
            await town.anyone.post("/sessions", {"password": CANARY}),
            await town.anyone.post("/sessions", {"username": CANARY, "password": CANARY}),
            await town.anyone.post("/setup", {"code": CANARY, "password": CANARY}),
            await town.anyone.post("/invites/accept", {"code": CANARY, "username": "a", "password": CANARY}),
            await town.anyone.get("/me", authorization=f"Bearer tsz_{CANARY}"),
            await town.anyone.get("/me", cookie=f"tsuzuki={CANARY}"),
            await town.anyone.get(f"/oidc/callback?code={CANARY}&state={CANARY}"),
            await town.anyone.post("/sessions", {"password": [CANARY]}),
            await town.anyone.post("/sessions", {"password": PASSWORD}),
        ]
        made = await (await town.signed_in(await town.admin())).post("/me/tokens", {"name": "t", "scopes": ["read"]})
    text = repr(lines)
    assert len(lines) >= len(answers)
    for secret in (CANARY, PASSWORD, made.json()["data"]["token"], answers[-1].headers["set-cookie"][8:40]):
        assert secret not in text
    for answer in answers:
        assert CANARY not in answer.text
