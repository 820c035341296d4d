"""The audit log: complete, append-only, without a secret in it."""

import msgspec
import pytest

from tests.accounts.builders import HERE, PASSWORD
from tests.builders import NOON
from tsuzuki.accounts.audit import AuditEvent, AuditFilter, AuditLog, action_filter, masked, record_tx
from tsuzuki.accounts.tokens import TokenRequest
from tsuzuki.accounts.types import SYSTEM, Slice
from tsuzuki.accounts.users import UserChange
from tsuzuki.db.errors import DatabaseError
from tsuzuki.db.queries import parse_queries
from tsuzuki.model.ids import show_id
from tsuzuki.model.times import Millis


async def rows(accounts, **over):
    return (await AuditLog(accounts.db).list(AuditFilter(**over), Slice(most=500)))[0]


async def test_changes_to_accounts_are_recorded_with_who_made_them(accounts):
    admin = await accounts.add(role="admin")
    caller = await accounts.caller(admin)
    user = await accounts.add("alice")
    other = await accounts.caller(user)
    await accounts.users.change(caller.actor, user.public_id, UserChange(email="alice@example.org"))
    token = await accounts.tokens.make(other, TokenRequest(name="t", scopes=("read",)))
    await accounts.tokens.revoke(other, token.token.public_id)
    await accounts.current_user.change_own_password(other, PASSWORD, "another password")
    invite = await accounts.invites.make(caller, "reader", None)
    await accounts.invites.revoke(caller, invite.public_id)
    tenant = await accounts.tenants.add(caller.actor, "Other")
    await accounts.tenants.rename(caller.actor, tenant.public_id, "Others")
    await accounts.tenants.delete(caller.actor, tenant.public_id)
    await accounts.sessions.end_others(other)
    await accounts.sessions.end(other, other.key_public_id)
    await accounts.users.disable(caller.actor, user.public_id, reason="left us")
    await accounts.users.enable(caller.actor, user.public_id)
    await accounts.users.delete(caller.actor, user.public_id)
    said = {(row.action, row.actor) for row in await rows(accounts)}
    assert said >= {
        ("user.create", "system"),
        ("session.create", "alice"),
        ("user.change", admin.username),
        ("token.create", "alice"),
        ("token.revoke", "alice"),
        ("user.password", "alice"),
        ("invite.create", admin.username),
        ("invite.revoke", admin.username),
        ("tenant.create", admin.username),
        ("tenant.change", admin.username),
        ("tenant.delete", admin.username),
        ("session.end_others", "alice"),
        ("session.end", "alice"),
        ("user.disable", admin.username),
        ("user.enable", admin.username),
        ("user.delete", admin.username),
    }
    [disabled] = await rows(accounts, action="user.disable", prefix="user.disable.")
    assert (disabled.reason, disabled.address, disabled.entity_id) == ("left us", HERE.address, show_id(user.public_id))
    [changed] = await rows(accounts, action="user.change", prefix="user.change.")
    assert (changed.before, changed.after) == (
        {"username": "alice", "role": "reader", "email": None},
        {"username": "alice", "role": "reader", "email": "alice@example.org"},
    )


async def test_no_secret_is_in_the_log(accounts):
    """SEC-39."""
    user = await accounts.add(role="admin")
    key = await accounts.enter(user)
    caller = await accounts.caller(user)
    token = await accounts.token(user)
    invite = await accounts.invites.make(caller, "reader", None)
    text = msgspec.json.encode(await rows(accounts)).decode()
    for secret in (PASSWORD, key, token, invite.code, "$argon2id$"):
        assert secret not in text


def test_secrets_are_masked_however_deep_they_lie():
    hidden = {
        "password": "a",
        "list": [{"api_key": "b"}],
        "headers": {"Authorization": "Bearer c", "Accept": "d"},
        "proxy": "http://user:e@host/",
        "cookies": {"sid": "f", "empty": None},
        "count": 1,
    }
    assert masked(hidden) == {
        "password": "***",
        "list": [{"api_key": "***"}],
        "headers": {"Authorization": "***", "Accept": "d"},
        "proxy": "http://user:***@host/",
        "cookies": {"sid": "***", "empty": None},
        "count": 1,
    }


_tamper = parse_queries(
    "tests",
    """
-- name: change
update audit set actor = 'somebody else';
-- name: remove
delete from audit;
""",
)


@pytest.mark.parametrize("query", list(_tamper), ids=lambda query: query.name)
async def test_the_log_is_append_only_whatever_the_code_says(accounts, query):
    await accounts.add()
    before = await rows(accounts)
    with pytest.raises(DatabaseError, match="append-only"):
        await accounts.db.with_tx(lambda tx: tx.run(query))
    assert await rows(accounts) == before


FOUND: dict[str | None, list[str]] = {
    None: ["source.enable", "source.enabled", "user.a.b", "user.add", "userlist.add"],
    "user.add": ["user.add"],
    "user": ["user.a.b", "user.add"],
    "user.": ["user.a.b", "user.add"],
    "user.*": ["user.a.b", "user.add"],
    "user.a": ["user.a.b"],
    "user*": ["user.a.b", "user.add", "userlist.add"],
    "source.enable": ["source.enable"],
    "%": [],
    "_ser.add": [],
}


async def test_an_action_is_found_by_name_or_by_beginning(accounts):
    for action in ("user.add", "user.a.b", "userlist.add", "source.enable", "source.enabled"):
        await accounts.db.with_tx(lambda tx, a=action: record_tx(tx, SYSTEM, AuditEvent(a, "x", "1"), now=NOON))
    for text, expected in FOUND.items():
        exact, prefix = action_filter(text)
        assert sorted(row.action for row in await rows(accounts, action=exact, prefix=prefix)) == expected


async def test_the_log_is_filtered_by_actor_entity_and_time(accounts):
    user = await accounts.add()
    caller = await accounts.caller(user)
    for n in range(5):
        audit_event = AuditEvent("thing.do", "thing", str(n % 2))
        await accounts.db.with_tx(lambda tx, d=audit_event, n=n: record_tx(tx, caller.actor, d, now=Millis(NOON + n)))
    log = AuditLog(accounts.db)
    found, total = await log.list(AuditFilter(entity_type="thing", entity_id="0"), Slice(most=2))
    assert ([row.at - NOON for row in found], total) == ([4, 2], 3)
    found, total = await log.list(AuditFilter(entity_type="thing", entity_id="0"), Slice(most=2, skip=2))
    assert ([row.at - NOON for row in found], total) == ([0], 3)
    within = AuditFilter(entity_type="thing", since=Millis(NOON + 1), until=Millis(NOON + 3))
    assert [row.at - NOON for row in (await log.list(within, Slice()))[0]] == [2, 1]
    mine = AuditFilter(actor_id=show_id(user.public_id), entity_type="thing")
    assert (await log.list(mine, Slice()))[1] == 5
    assert (await log.list(AuditFilter(actor_id="nobody"), Slice()))[1] == 0
