"""R77, SEC-35: tokens and device passwords."""

import asyncio

import msgspec
import pytest

from tests.accounts.builders import APP, PASSWORD, AccountServices, a_caller
from tsuzuki.accounts.audit import AuditFilter
from tsuzuki.accounts.tokens import IssuedToken, TokenRequest, read_scopes
from tsuzuki.accounts.types import SYSTEM, Slice, User
from tsuzuki.model.errors import Forbidden, Invalid, NotFound, Unauthorized
from tsuzuki.model.times import DAY, MINUTE, Millis

HERE = "192.0.2.1"


async def made(accounts: AccountServices, user: User, **over) -> IssuedToken:
    request = TokenRequest(**{"name": "test", "scopes": ("read",)} | over)
    return await accounts.tokens.make(await accounts.caller(user), request)


async def test_a_token_has_256_bits_and_is_stored_as_hash(accounts):
    new = await made(accounts, await accounts.add())
    assert new.key.startswith("tsz_")
    assert len(new.key) == 4 + 43
    assert new.key not in msgspec.json.encode(new.token).decode()


async def test_a_token_may_do_what_its_scopes_say(accounts):
    key = (await made(accounts, await accounts.add(role="admin"), scopes=("write", "read"))).key
    caller = await accounts.tokens.resume(key, HERE)
    assert caller is not None
    assert [caller.may(scope) for scope in ("read", "write", "admin")] == [True, True, False]


@pytest.mark.parametrize(
    ("role", "by", "scopes", "expected"),
    [
        ("admin", "session", {"read", "write", "admin"}, True),
        ("reader", "session", {"read", "write", "admin"}, False),
        ("admin", "token", {"admin"}, True),
        ("reader", "token", {"admin"}, False),
        ("admin", "token", {"read", "write"}, False),
    ],
)
def test_administering_takes_the_role_and_the_scope(role, by, scopes, expected):
    assert a_caller(role=role, by=by, scopes=frozenset(scopes)).may("admin") == expected


async def test_a_token_ends_by_expiry_revocation_or_a_disabled_owner(accounts):
    user = await accounts.add()
    brief = await made(accounts, user, expires_at=Millis(accounts.time() + DAY))
    revoked = await made(accounts, user)
    kept = await made(accounts, user)
    await accounts.tokens.revoke(await accounts.caller(user), revoked.token.public_id)
    accounts.time.pass_(DAY)
    assert await accounts.tokens.resume(brief.key, HERE) is None
    assert await accounts.tokens.resume(revoked.key, HERE) is None
    assert await accounts.tokens.resume(kept.key, HERE) is not None
    await accounts.users.disable(SYSTEM, user.public_id)
    assert await accounts.tokens.resume(kept.key, HERE) is None


async def test_revoking_twice_is_once_and_nobody_revokes_another_ones(accounts):
    user = await accounts.add()
    token = (await made(accounts, user)).token
    with pytest.raises(NotFound):
        await accounts.tokens.revoke(await accounts.caller(await accounts.add()), token.public_id)
    caller = await accounts.caller(user)
    await accounts.tokens.revoke(caller, token.public_id)
    await accounts.tokens.revoke(caller, token.public_id)
    assert [one.revoked_at for one in await accounts.tokens.list(caller)] == [accounts.time()]


async def test_the_time_of_last_use_is_coarse(accounts):
    user = await accounts.add()
    key = (await made(accounts, user)).key
    caller = await accounts.caller(user)
    for seconds, expected in ((0, 0), (59, 0), (1, MINUTE)):
        accounts.time.pass_(seconds * 1000)
        await accounts.tokens.resume(key, HERE)
        [token] = await accounts.tokens.list(caller)
        assert token.last_used_at is not None
        assert token.last_used_at - token.created_at == expected


async def test_a_token_that_cannot_be_is_refused(accounts):
    reader = await accounts.add()
    for over in ({"scopes": ()}, {"protocols": ("plain",)}, {"scopes": ("admin",)}, {"expires_at": accounts.time()}):
        with pytest.raises(Invalid):
            await made(accounts, reader, **over)


async def test_a_token_makes_none_that_outlives_or_exceeds_it(accounts):
    user = await accounts.add(role="admin")
    ends = Millis(accounts.time() + DAY)
    key = (await made(accounts, user, scopes=("write",), expires_at=ends)).key
    caller = await accounts.tokens.resume(key, HERE)
    assert caller is not None
    for more in ({"scopes": ("admin",)}, {"scopes": ("write",)}, {"scopes": (), "protocols": ("plain",)}):
        with pytest.raises(Forbidden):
            await accounts.tokens.make(caller, TokenRequest(**{"name": "more"} | more))
    assert (await accounts.tokens.make(caller, TokenRequest(name="same", scopes=("write",), expires_at=ends))).key


def test_scopes_are_read_from_words():
    assert read_scopes(["admin", "read"]) == ("read", "admin")
    for words in ([], ["root"], ["read", ""]):
        with pytest.raises(Invalid, match="A scope must be one of read, write, admin"):
            read_scopes(words)


# -- families


async def child_of(accounts: AccountServices, key: str, **over) -> IssuedToken:
    """A token that the token with this key makes."""
    caller = await accounts.tokens.resume(key, HERE)
    assert caller is not None
    return await accounts.tokens.make(caller, TokenRequest(**{"name": "child", "scopes": ("read",)} | over))


async def open_of(accounts: AccountServices, *made: IssuedToken) -> list[bool]:
    return [await accounts.tokens.resume(one.key, HERE) is not None for one in made]


async def test_what_was_made_with_a_token_is_revoked_with_it(accounts):
    user = await accounts.add()
    root, other = await made(accounts, user), await made(accounts, user)
    child = await child_of(accounts, root.key)
    grandchild, cousin = await child_of(accounts, child.key), await child_of(accounts, other.key)
    await accounts.tokens.revoke(await accounts.caller(user), root.token.public_id)
    assert await open_of(accounts, root, child, grandchild, other, cousin) == [False, False, False, True, True]
    rows, _ = await accounts.all.audit_log.list(AuditFilter(), Slice())
    assert sorted(row.reason or "" for row in rows if row.action == "token.revoke") == [
        "",
        *["created with a token that was revoked"] * 2,
    ]


async def test_revoking_in_the_middle_leaves_the_parent(accounts):
    user = await accounts.add()
    root = await made(accounts, user)
    child = await child_of(accounts, root.key)
    grandchild = await child_of(accounts, child.key)
    await accounts.tokens.revoke(await accounts.caller(user), child.token.public_id)
    assert await open_of(accounts, root, child, grandchild) == [True, False, False]


async def test_a_changed_password_revokes_what_other_hands_made(accounts):
    """All but what the session that changed it made itself: not what a token made, nor another session."""
    user = await accounts.add()
    elsewhere, outside = (
        await made(accounts, user),
        await accounts.tokens.make_for(SYSTEM, user, TokenRequest(name="x", scopes=("read",))),
    )
    device = await made(accounts, user, scopes=(), protocols=("plain",))
    caller = await accounts.caller(user)
    own = await accounts.tokens.make(caller, TokenRequest(name="own", scopes=("read",)))
    child, nephew = await child_of(accounts, own.key), await child_of(accounts, elsewhere.key)
    await accounts.current_user.change_own_password(caller, PASSWORD, "another password")
    assert await open_of(accounts, own, child, nephew, elsewhere, outside) == [True, False, False, False, False]
    with pytest.raises(Unauthorized):
        await accounts.devices.sign_in(APP, user.username, device.key)


async def test_tokens_are_kept_where_their_owner_says_so(accounts):
    user = await accounts.add()
    elsewhere = await made(accounts, user)
    caller = await accounts.caller(user)
    await accounts.current_user.change_own_password(caller, PASSWORD, "another password", keep_tokens=True)
    assert await open_of(accounts, elsewhere) == [True]


async def test_a_reset_password_revokes_every_token(accounts):
    user, other = await accounts.add(), await accounts.add()
    mine, theirs = await made(accounts, user), await made(accounts, other)
    child = await child_of(accounts, mine.key)
    await accounts.users.reset_password(SYSTEM, user.public_id, "another password")
    assert await open_of(accounts, mine, child, theirs) == [False, False, True]


async def test_a_password_changed_with_a_token_spares_that_token(accounts):
    user = await accounts.add()
    root = await made(accounts, user, scopes=("read", "write"))
    child = await child_of(accounts, root.key, scopes=("read", "write"))
    caller = await accounts.tokens.resume(child.key, HERE)
    assert caller is not None
    await accounts.current_user.change_own_password(caller, PASSWORD, "another password")
    assert await open_of(accounts, root, child) == [False, True]


async def test_a_key_that_has_ended_makes_no_other(accounts):
    """Its request was let in just before: nothing that it makes may live on."""
    user = await accounts.add()
    root, session = await made(accounts, user), await accounts.caller(user)
    token = await accounts.tokens.resume(root.key, HERE)
    assert token is not None
    await accounts.users.reset_password(SYSTEM, user.public_id, "another password")
    for caller in (token, session):
        with pytest.raises(Unauthorized):
            await accounts.tokens.make(caller, TokenRequest(name="late", scopes=("read",)))


async def test_children_made_while_a_parent_is_revoked_do_not_live(accounts):
    user = await accounts.add()
    root = await made(accounts, user)
    owner, token = await accounts.caller(user), await accounts.tokens.resume(root.key, HERE)
    assert token is not None
    request = TokenRequest(name="child", scopes=("read",))
    born = await asyncio.gather(
        *(accounts.tokens.make(token, request) for _ in range(5)),
        accounts.tokens.revoke(owner, root.token.public_id),
        *(accounts.tokens.make(token, request) for _ in range(5)),
        return_exceptions=True,
    )
    children = [one for one in born if isinstance(one, IssuedToken)]
    assert not any(await open_of(accounts, *children))
