"""SEC-31, SEC-33: whose it is, and which of its fields a request may set, at every route that there is.

A route with an object in its path that `OBJECTS` cannot make fails the first test.
"""

import msgspec

from tests.authorisation.objects import ANYONES, COMMON, OBJECTS, TENANTS, UNCALLED, body_for, filled
from tests.authorisation.policy import ADMIN, POLICY, STREAMS, endpoints
from tsuzuki.accounts.types import User
from tsuzuki.api.binding import signature_of


async def test_what_belongs_to_others_answers_like_what_is_missing(app):
    """SEC-31: own, foreign and missing objects at every route that names one."""
    wrong = {}
    for name, endpoint in endpoints().items():
        parameters = list(signature_of(endpoint).path)
        if not parameters:
            continue
        assert set(parameters) <= set(OBJECTS), f"{name}: say in OBJECTS how to make {parameters}"
        make = OBJECTS[parameters[-1]]
        is_admins = POLICY[name] == ADMIN
        me = await app.add(role="admin" if is_admins else "reader")
        other = await app.add(role="admin", tenant_id=app.other_tenant)
        neighbour = await app.add()
        objects = {"own": await make(app, me), "foreign": await make(app, other)}
        objects["neighbour's"] = await make(app, neighbour)
        paths = {kind: filled(endpoint.path, value) for kind, value in objects.items()}
        paths |= {"missing": filled(endpoint.path), "nonsense": filled(endpoint.path, "..%2f1")}
        found = UNCALLED.get(name, 0)
        is_everybodys = is_admins or parameters[-1] in COMMON or name in ANYONES
        table = {"own": found, "foreign": found if is_everybodys else 404, "missing": 404, "nonsense": 404}
        table["neighbour's"] = found if is_everybodys or parameters[-1] in TENANTS else 404
        empty: dict[str, str] | None = {} if signature_of(endpoint).body else None
        for kind, path in paths.items():
            who = await app.signed_in(me)
            ask = who.begin if name in STREAMS else who.ask
            body = body_for(name, objects.get(kind, objects["own"]), otherwise=empty)
            answer = await ask(endpoint.method, path, body)
            if (0 if answer.status < 300 else answer.status) != table[kind]:
                wrong[name, kind] = answer.status, answer.text
    assert wrong == {}


async def test_no_route_takes_a_field_that_it_does_not_declare(app):
    """SEC-33: what a row has and a form has not cannot be set, whatever the route."""
    fields = {field.name for field in msgspec.structs.fields(User)}
    fields |= {"password_hash", "is_admin", "oidc_subject", "scopes", "key_hash", "revoked_at", "plan", "actor"}
    admin = await app.add(role="admin")
    wrong = {}
    for name, endpoint in endpoints().items():
        for form in signature_of(endpoint).body.values():
            declared = {field.encode_name for field in msgspec.structs.fields(form)}
            assert not declared & {"id", "public_id", "password_hash", "key_hash", "disabled_at"}, name
            who = await app.signed_in(admin)
            for field in fields - declared:
                answer = await who.ask(endpoint.method, filled(endpoint.path), {field: "x"})
                if answer.status != 400 or field not in [one["field"] for one in answer.json()["details"]]:
                    wrong[name, field] = answer.status
    assert wrong == {}
