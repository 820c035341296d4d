"""SEC-31 at the pages: what belongs to another tenant is as unknown there as what is not there."""

import re

from tests.api.people import API
from tests.authorisation.objects import COMMON, OBJECTS, TENANTS, filled
from tests.authorisation.policy import ADMIN, POLICY, PUBLIC

FORM = {"content-type": "application/x-www-form-urlencoded"}


async def test_no_page_shows_or_touches_what_is_somebody_elses(app):
    wrong, asked = {}, 0
    for name, policy in POLICY.items():
        method, path = name.split()
        parameters = re.findall(r"\{(\w+)\}", path)
        if path.startswith(API) or policy in (PUBLIC, ADMIN) or not parameters or parameters[-1] in COMMON:
            continue
        assert set(parameters) <= set(OBJECTS), f"{name}: say in OBJECTS how to make {parameters}"
        others = [await app.add(role="admin", tenant_id=app.other_tenant)]
        others += [] if parameters[-1] in TENANTS else [await app.add()]  # R91: nor a neighbour's
        for other in others:
            foreign = filled(path, await OBJECTS[parameters[-1]](app, other))
            who = await app.signed_in(await app.add())
            options = {"headers": who.headers | FORM, "data": b""} if method == "POST" else {"headers": who.headers}
            status = (await app.client.ask(method, foreign, **options)).status
            asked += 1
            if status != 404:
                wrong[name, other.username] = status
    assert wrong == {}
    assert asked > 50
