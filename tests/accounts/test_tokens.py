"""R77, SEC-35: tokens and device passwords."""

import asyncio

import msgspec
import pytest

from tests.accounts.builders import PASSWORD, House, a_caller
from tsuzuki.accounts.audit import AuditFilter
from tsuzuki.accounts.tokens import IssuedToken, TokenRequest, read_scopes
from tsuzuki.accounts.types import SYSTEM, Slice, User
from tsuzuki.model.errors import Forbidden, Invalid, NotFound, Unauthorized
from tsuzuki.model.times import DAY, MINUTE, Millis

HERE = "192.0.2.1"


async def made(house: House, user: User, **over) -> IssuedToken:
    wish = TokenRequest(**{"name": "test", "scopes": ("read",)} | over)
    return await house.tokens.make(await house.caller(user), wish)


async def test_a_token_has_a_prefix_and_256_bits_and_only_its_hash_is_stored(house):
    new = await made(house, await house.add())
    assert new.key.startswith("tsz_")
    assert len(new.key) == 4 + 43
    assert new.key not in msgspec.json.encode(new.token).decode()


async def test_a_token_may_do_what_its_scopes_say(house):
    key = (await made(house, await house.add(role="admin"), scopes=("write", "read"))).key
    caller = await house.tokens.resume(key, HERE)
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


async def test_a_token_ends_when_it_expires_is_revoked_or_its_owner_is_disabled(house):
    user = await house.add()
    brief = await made(house, user, expires_at=Millis(house.time() + DAY))
    revoked = await made(house, user)
    kept = await made(house, user)
    await house.tokens.revoke(await house.caller(user), revoked.token.public_id)
    house.time.pass_(DAY)
    assert await house.tokens.resume(brief.key, HERE) is None
    assert await house.tokens.resume(revoked.key, HERE) is None
    assert await house.tokens.resume(kept.key, HERE) is not None
    await house.users.disable(SYSTEM, user.public_id)
    assert await house.tokens.resume(kept.key, HERE) is None


async def test_revoking_twice_is_once_and_nobody_revokes_another_ones(house):
    user = await house.add()
    token = (await made(house, user)).token
    with pytest.raises(NotFound):
        await house.tokens.revoke(await house.caller(await house.add()), token.public_id)
    caller = await house.caller(user)
    await house.tokens.revoke(caller, token.public_id)
    await house.tokens.revoke(caller, token.public_id)
    assert [one.revoked_at for one in await house.tokens.list(caller)] == [house.time()]


async def test_the_time_of_last_use_is_coarse(house):
    user = await house.add()
    key = (await made(house, user)).key
    caller = await house.caller(user)
    for seconds, expected in ((0, 0), (59, 0), (1, MINUTE)):
        house.time.pass_(seconds * 1000)
        await house.tokens.resume(key, HERE)
        [token] = await house.tokens.list(caller)
        assert token.last_used_at is not None
        assert token.last_used_at - token.created_at == expected


async def test_a_wish_that_cannot_be_is_refused(house):
    reader = await house.add()
    for over in ({"scopes": ()}, {"protocols": ("opds",)}, {"scopes": ("admin",)}, {"expires_at": house.time()}):
        with pytest.raises(Invalid):
            await made(house, reader, **over)


async def test_a_token_makes_none_that_may_do_more_or_live_longer_than_itself(house):
    user = await house.add(role="admin")
    ends = Millis(house.time() + DAY)
    key = (await made(house, user, scopes=("write",), expires_at=ends)).key
    caller = await house.tokens.resume(key, HERE)
    assert caller is not None
    for more in ({"scopes": ("admin",)}, {"scopes": ("write",)}, {"scopes": (), "protocols": ("opds",)}):
        with pytest.raises(Forbidden):
            await house.tokens.make(caller, TokenRequest(**{"name": "more"} | more))
    assert (await house.tokens.make(caller, TokenRequest(name="same", scopes=("write",), expires_at=ends))).key


async def test_a_device_password_opens_its_protocol_and_nothing_else(house):
    user = await house.add()
    key = (await made(house, user, scopes=(), protocols=("opds",))).key
    assert len(key) == 4 + 26  # 128 bits that can be typed
    caller = await house.sign_in.sign_in_device(user.username.upper(), key, "opds", address=HERE)
    assert caller.user_id == user.id
    assert not any(caller.may(scope) for scope in ("read", "write", "admin"))
    with pytest.raises(Unauthorized):
        await house.sign_in.sign_in_device(user.username, key, "greader", address=HERE)
    with pytest.raises(Unauthorized):
        await house.sign_in.sign_in_device("other", key, "opds", address=HERE)
    assert await house.tokens.resume(key, HERE) is None


async def test_a_token_is_no_device_password(house):
    user = await house.add()
    key = (await made(house, user)).key
    with pytest.raises(Unauthorized):
        await house.sign_in.sign_in_device(user.username, key, "opds", address=HERE)


def test_scopes_are_read_from_words():
    assert read_scopes(["admin", "read"]) == ("read", "admin")
    for words in ([], ["root"], ["read", ""]):
        with pytest.raises(Invalid, match="A scope is one of read, write, admin"):
            read_scopes(words)


# -- families


async def child_of(house: House, key: str, **over) -> IssuedToken:
    """A token that the token with this key makes."""
    caller = await house.tokens.resume(key, HERE)
    assert caller is not None
    return await house.tokens.make(caller, TokenRequest(**{"name": "child", "scopes": ("read",)} | over))


async def open_of(house: House, *made: IssuedToken) -> list[bool]:
    return [await house.tokens.resume(one.key, HERE) is not None for one in made]


async def test_what_was_made_with_a_token_is_revoked_with_it(house):
    user = await house.add()
    root, other = await made(house, user), await made(house, user)
    child = await child_of(house, root.key)
    grandchild, cousin = await child_of(house, child.key), await child_of(house, other.key)
    await house.tokens.revoke(await house.caller(user), root.token.public_id)
    assert await open_of(house, root, child, grandchild, other, cousin) == [False, False, False, True, True]
    rows, _ = await house.all.audit_log.list(AuditFilter(), Slice())
    assert sorted(row.reason or "" for row in rows if row.action == "token.revoke") == [
        "",
        *["made with a token that was revoked"] * 2,
    ]


async def test_revoking_in_the_middle_leaves_the_parent(house):
    user = await house.add()
    root = await made(house, user)
    child = await child_of(house, root.key)
    grandchild = await child_of(house, child.key)
    await house.tokens.revoke(await house.caller(user), child.token.public_id)
    assert await open_of(house, root, child, grandchild) == [True, False, False]


async def test_a_changed_password_revokes_what_other_hands_made(house):
    """All but what the session that changed it made itself: not what a token made, nor another session."""
    user = await house.add()
    elsewhere, outside = (
        await made(house, user),
        await house.tokens.make_for(SYSTEM, user, TokenRequest(name="x", scopes=("read",))),
    )
    device = await made(house, user, scopes=(), protocols=("opds",))
    caller = await house.caller(user)
    own = await house.tokens.make(caller, TokenRequest(name="own", scopes=("read",)))
    child, nephew = await child_of(house, own.key), await child_of(house, elsewhere.key)
    await house.current_user.change_own_password(caller, PASSWORD, "another password")
    assert await open_of(house, own, child, nephew, elsewhere, outside) == [True, False, False, False, False]
    assert await house.tokens.resume_device(device.key, "opds", HERE) is None


async def test_tokens_are_kept_where_their_owner_says_so(house):
    user = await house.add()
    elsewhere = await made(house, user)
    caller = await house.caller(user)
    await house.current_user.change_own_password(caller, PASSWORD, "another password", keep_tokens=True)
    assert await open_of(house, elsewhere) == [True]


async def test_a_reset_password_revokes_every_token(house):
    user, other = await house.add(), await house.add()
    mine, theirs = await made(house, user), await made(house, other)
    child = await child_of(house, mine.key)
    await house.users.reset_password(SYSTEM, user.public_id, "another password")
    assert await open_of(house, mine, child, theirs) == [False, False, True]


async def test_a_password_changed_with_a_token_spares_that_token(house):
    user = await house.add()
    root = await made(house, user, scopes=("read", "write"))
    child = await child_of(house, root.key, scopes=("read", "write"))
    caller = await house.tokens.resume(child.key, HERE)
    assert caller is not None
    await house.current_user.change_own_password(caller, PASSWORD, "another password")
    assert await open_of(house, root, child) == [False, True]


async def test_a_key_that_has_ended_makes_no_other(house):
    """Its request was let in just before: nothing that it makes may live on."""
    user = await house.add()
    root, session = await made(house, user), await house.caller(user)
    token = await house.tokens.resume(root.key, HERE)
    assert token is not None
    await house.users.reset_password(SYSTEM, user.public_id, "another password")
    for caller in (token, session):
        with pytest.raises(Unauthorized):
            await house.tokens.make(caller, TokenRequest(name="late", scopes=("read",)))


async def test_children_made_while_a_parent_is_revoked_do_not_live(house):
    user = await house.add()
    root = await made(house, user)
    owner, token = await house.caller(user), await house.tokens.resume(root.key, HERE)
    assert token is not None
    wish = TokenRequest(name="child", scopes=("read",))
    born = await asyncio.gather(
        *(house.tokens.make(token, wish) for _ in range(5)),
        house.tokens.revoke(owner, root.token.public_id),
        *(house.tokens.make(token, wish) for _ in range(5)),
        return_exceptions=True,
    )
    children = [one for one in born if isinstance(one, IssuedToken)]
    assert not any(await open_of(house, *children))
