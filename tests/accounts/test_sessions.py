"""R73, SEC-34, SEC-35: sessions as rows."""

import asyncio

import msgspec
import pytest

from tests.accounts.builders import HERE, PASSWORD, AccountServices
from tsuzuki.accounts.credentials import hash_of
from tsuzuki.accounts.sessions import Device, device_name
from tsuzuki.accounts.store import find_session_tx
from tsuzuki.accounts.types import SYSTEM
from tsuzuki.db import DatabaseOptions, open_database
from tsuzuki.model.errors import Forbidden, Invalid, NotFound, Unauthorized
from tsuzuki.model.times import DAY, MINUTE


async def lives(accounts: AccountServices, key: str) -> bool:
    return await accounts.sessions.resume(key, HERE.address) is not None


async def test_a_session_is_stored_as_a_hash_of_its_key(accounts):
    key = await accounts.enter(await accounts.add())
    assert len(key) == 43  # 256 bits
    assert await lives(accounts, key)
    assert not await lives(accounts, hash_of(key).hex())
    assert await accounts.db.read(lambda tx: find_session_tx(tx, key.encode()[:32], accounts.time())) is None


async def test_a_session_lives_thirty_days_from_its_last_use(accounts):
    key = await accounts.enter(await accounts.add())
    for _ in range(3):
        accounts.time.pass_(29 * DAY)
        assert await lives(accounts, key)
    accounts.time.pass_(30 * DAY)
    assert not await lives(accounts, key)


async def test_the_last_use_is_written_at_most_every_five_minutes(accounts):
    caller = await accounts.caller(await accounts.add())
    key = await accounts.enter(await accounts.users.find(caller.username))

    async def renewed() -> bool:
        resumed = await accounts.sessions.resume(key, HERE.address)
        assert resumed is not None
        return bool(resumed.renewed)

    assert not await renewed()
    accounts.time.pass_(5 * MINUTE)
    assert await renewed()
    assert not await renewed()


async def test_signing_in_ends_the_session_that_the_browser_came_with(accounts):
    user = await accounts.add()
    planted = await accounts.enter(user)
    key = await accounts.enter(user, Device("192.0.2.1", "", planted))
    assert key != planted
    assert not await lives(accounts, planted)
    assert await lives(accounts, key)


async def test_signing_out_ends_the_session_and_twice_is_once(accounts):
    key = await accounts.enter(await accounts.add())
    await accounts.sign_in.sign_out(key, HERE.address)
    assert not await lives(accounts, key)
    await accounts.sign_in.sign_out(key, HERE.address)


async def test_disabling_someone_ends_their_sessions_and_enabling_brings_none_back(accounts):
    user = await accounts.add()
    key = await accounts.enter(user)
    await accounts.users.disable(SYSTEM, user.public_id)
    assert not await lives(accounts, key)
    with pytest.raises(Unauthorized):
        await accounts.enter(user)
    await accounts.users.enable(SYSTEM, user.public_id)
    assert not await lives(accounts, key)
    await accounts.enter(user)


async def test_a_changed_password_ends_every_other_session(accounts):
    user = await accounts.add()
    caller = await accounts.caller(user)
    other = await accounts.enter(user)
    current_user = accounts.current_user
    with pytest.raises(Invalid, match="not the current password"):
        await current_user.change_own_password(caller, "wrong", "another password")
    assert await lives(accounts, other)
    await current_user.change_own_password(caller, PASSWORD, "another password")
    assert not await lives(accounts, other)
    assert [one.id for one in await accounts.sessions.list(caller)] == [caller.session_id]
    with pytest.raises(Unauthorized):
        await accounts.enter(user)


async def test_a_session_sets_a_first_password_but_no_token_does(accounts):
    user = await accounts.add(password=None)
    caller = await accounts.tokens.resume(await accounts.token(user, scopes=("write",)), HERE.address)
    assert caller is not None
    with pytest.raises(Forbidden):
        await accounts.current_user.change_own_password(caller, "", PASSWORD)
    await accounts.current_user.change_own_password(msgspec.structs.replace(caller, by="session"), "", PASSWORD)
    await accounts.enter(user)


async def test_a_reset_password_ends_every_session(accounts):
    user = await accounts.add()
    key = await accounts.enter(user)
    await accounts.users.reset_password(SYSTEM, user.public_id, "another password")
    assert not await lives(accounts, key)


async def test_changing_the_password_ends_a_concurrent_sign_in(accounts):
    """The password is checked outside the transaction: what changed meanwhile counts."""
    user = await accounts.add()

    async def change_then_check(password, stored):
        accounts.passwords.check = check
        await accounts.users.reset_password(SYSTEM, user.public_id, "another password")
        return await check(password, stored)

    check, accounts.passwords.check = accounts.passwords.check, change_then_check
    with pytest.raises(Unauthorized):
        await accounts.enter(user)


async def test_many_sign_ins_at_the_same_time_all_succeed(accounts):
    user = await accounts.add()
    keys = await asyncio.gather(*(accounts.enter(user, Device(f"192.0.2.{n}")) for n in range(8)))
    assert len(set(keys)) == 8


async def test_sessions_are_listed_with_device_and_ended_one_by_one(accounts):
    user = await accounts.add()
    caller = await accounts.caller(user)
    accounts.time.pass_(MINUTE)
    phone = await accounts.enter(user, Device("198.51.100.7", "Mozilla/5.0 (iPhone; CPU OS 18) Safari/605"))
    first, second = await accounts.sessions.list(caller)
    assert (device_name(first.user_agent), first.address) == ("Safari on iPhone", "198.51.100.7")
    assert (device_name(second.user_agent), second.last_used_at) == ("Firefox on Linux", accounts.time() - MINUTE)
    await accounts.sessions.end(caller, first.public_id)
    assert not await lives(accounts, phone)
    with pytest.raises(NotFound):
        await accounts.sessions.end(caller, first.public_id)


async def test_nobody_ends_another_ones_session(accounts):
    mine = await accounts.caller(await accounts.add())
    theirs = await accounts.caller(await accounts.add())
    with pytest.raises(NotFound):
        await accounts.sessions.end(mine, theirs.key_public_id)
    assert len(await accounts.sessions.list(theirs)) == 1


async def test_all_other_sessions_end_at_once(accounts):
    user = await accounts.add()
    caller = await accounts.caller(user)
    for _ in range(3):
        await accounts.enter(user)
    assert await accounts.sessions.end_others(caller) == 3
    assert [one.id for one in await accounts.sessions.list(caller)] == [caller.session_id]


async def test_sessions_survive_a_restart(accounts, database_url):
    key = await accounts.enter(await accounts.add())
    again = await open_database(DatabaseOptions(database_url))
    try:
        assert await lives(AccountServices(again), key)
    finally:
        await again.close()


async def test_expired_rows_are_deleted(accounts):
    await accounts.enter(await accounts.add())
    accounts.time.pass_(31 * DAY)
    assert await accounts.all.forget_old() == 1 + 3  # the session, and its sign-in's three counters


@pytest.mark.parametrize(
    ("user_agent", "expected"),
    [
        ("", "Unknown device"),
        ("curl/8.5.0", "curl"),
        ("Mozilla/5.0 (Windows NT 10.0) Chrome/140.0 Safari/537.36 Edg/140.0", "Edge on Windows"),
        ("Mozilla/5.0 (Linux; Android 16) Chrome/140.0 Mobile Safari/537.36", "Chrome on Android"),
        ("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Version/18 Safari/605", "Safari on macOS"),
    ],
)
def test_a_device_is_called_by_what_it_says_of_itself(user_agent, expected):
    assert device_name(user_agent) == expected
