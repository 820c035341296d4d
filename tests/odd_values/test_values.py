"""Whatever stands in a path, a query, a form or a body, on either engine: an answer, never a failure of ours.

Nothing here lists routes or fields by hand: both are found.
"""

from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlencode

import msgspec
import pytest

from tests.api.people import RunningApp, a_running_app
from tests.authorisation.objects import body_for
from tests.authorisation.policy import POLICY, endpoints
from tests.odd_values.attack import Attack, field_names, pages, with_text
from tests.odd_values.values import TEXTS, a_body, a_form
from tests.scale import scaled
from tsuzuki.api.binding import signature_of

pytestmark = [pytest.mark.soak, pytest.mark.timeout(600)]

FORM = {"content-type": "application/x-www-form-urlencoded"}
JSON = {"content-type": "application/json"}


@pytest.fixture
async def app(tmp_path: Path, database_url: str) -> AsyncIterator[RunningApp]:
    async with a_running_app(tmp_path, billing="on", database_url=database_url, login_limit=100_000) as app:
        yield app


async def test_no_text_in_a_path_makes_a_route_fail(app):
    attack = Attack(app, 1)
    texts = [text for text in TEXTS if text]
    await attack.enter()
    for name in POLICY:
        if "{" in name:
            for text in attack.rng.sample(texts, scaled(2, len(texts))):
                await attack.call(name, with_text(name, text))
    assert attack.failed == {}


async def test_no_query_makes_a_page_fail(app):
    attack, names = Attack(app, 2), field_names()
    assert len(names) > 50
    for name in pages("GET"):
        path, _ = await attack.objects(name)
        for text in attack.rng.sample(TEXTS, scaled(1, len(TEXTS))):
            said = [(field, text[:100]) for field in names]
            await attack.call(name, f"{path}?{urlencode(said)}")
            await attack.call(name, f"{path}?{urlencode(a_form(attack.rng, names, 10))[:20_000]}")
    assert attack.failed == {}


async def test_no_query_makes_an_endpoint_fail(app):
    attack = Attack(app, 3)
    for name, endpoint in endpoints().items():
        for form in signature_of(endpoint).query.values():
            path, _ = await attack.objects(name)
            for field in msgspec.structs.fields(form):
                for text in attack.rng.sample(TEXTS, scaled(1, len(TEXTS))):
                    await attack.call(name, f"{path}?{urlencode({field.encode_name: text})}")
    assert attack.failed == {}


async def test_no_form_makes_a_page_fail(app):
    attack, names = Attack(app, 4), field_names()
    for name in pages("POST"):
        for _ in range(scaled(1, 10)):
            path, _ = await attack.objects(name)
            for _ in range(scaled(2, 10)):
                fields = a_form(attack.rng, names, 45)
                await attack.call(name, path, data=urlencode(fields), headers=FORM)
    assert attack.failed == {}
    await every_page_still_answers(attack)


async def test_no_body_makes_an_endpoint_fail(app):
    attack = Attack(app, 5)
    for name, endpoint in endpoints().items():
        for form in signature_of(endpoint).body.values():
            for _ in range(scaled(1, 10)):
                path, made = await attack.objects(name)
                for _ in range(scaled(2, 10)):
                    body = a_body(attack.rng, form, body_for(name, made, otherwise={}))
                    await attack.call(name, path, data=body, headers=JSON)
    assert attack.failed == {}
    await every_page_still_answers(attack)


async def every_page_still_answers(attack: Attack) -> None:
    """What was taken can be shown."""
    for name in POLICY:
        if name.startswith("GET") and "{" not in name and "/media" not in name:
            await attack.call(name, name.split()[1])
    assert attack.failed == {}
