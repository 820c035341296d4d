"""SEC-30: every caller at every route. A route without a policy, or a policy without a route, fails the first test."""

from tests.api.people import API
from tests.authorisation.callers import CALLERS, visitor
from tests.authorisation.objects import body_for, filled
from tests.authorisation.policy import ADMIN, POLICY, PUBLIC, READ, STREAMS, UNDECLARED, WRITE, endpoints, routes


def test_routes_and_declared_policies_match_each_other(app):
    found = routes(app.app)
    assert set(found) - set(POLICY) == set(), UNDECLARED
    assert set(POLICY) - set(found) == set(), (
        "take these out of POLICY of tests/authorisation/policy.py: there is no route"
    )
    declared = {name: endpoint.access.value for name, endpoint in endpoints().items()}
    assert {name: access for name, access in declared.items() if access != POLICY[name]} == {}, "POLICY says otherwise"


def test_the_tables_name_every_policy():
    assert all(set(table) == {PUBLIC, READ, WRITE, ADMIN} for table in CALLERS.values())


async def test_every_caller_meets_at_every_route_what_the_table_says(app):
    wrong, ready = {}, {caller: await visitor(app, caller) for caller in CALLERS}
    for name, policy in POLICY.items():
        method, path = name.split()
        if not path.startswith(API):
            continue
        for caller, table in CALLERS.items():
            who = ready[caller]
            ask = who.begin if name in STREAMS else who.ask
            status = (await ask(method, filled(path), body_for(name))).status
            is_refused = status in (401, 403)
            if (status if is_refused else 0) != table[policy]:
                wrong[name, caller] = status
            if not is_refused and method != "GET":  # it may have ended the caller's own session
                ready[caller] = await visitor(app, caller)
    assert wrong == {}
