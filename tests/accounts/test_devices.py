"""R107: device passwords, by themselves and by what apps send instead of them."""

import msgspec
import pytest

from tests.accounts.builders import APP, HASHED, AccountServices
from tsuzuki.accounts.sharing import shelf_user
from tsuzuki.accounts.tokens import IssuedToken, TokenRequest
from tsuzuki.accounts.types import SYSTEM, User
from tsuzuki.model.errors import Forbidden, Invalid, NotFound, TooManyRequests, Unauthorized
from tsuzuki.model.times import DAY, MINUTE, Millis

OTHER = msgspec.structs.replace(APP, protocol="hashed")


async def made(accounts: AccountServices, user: User, **over) -> IssuedToken:
    request = TokenRequest(**{"name": "Tablet", "protocols": ("plain",)} | over)
    return await accounts.tokens.make(await accounts.caller(user), request)


async def test_a_device_password_opens_its_protocol_and_nothing_else(accounts):
    user = await accounts.add()
    key = (await made(accounts, user)).key
    assert len(key) == 4 + 26  # 128 bits that can be typed
    found = await accounts.devices.sign_in(APP, user.username.upper(), key)
    assert found.caller.user_id == user.id
    assert not any(found.caller.may(scope) for scope in ("read", "write", "admin"))
    for request, name, word in ((OTHER, user.username, key), (APP, "other", key), (APP, user.username, "tsz_wrong")):
        with pytest.raises(Unauthorized):
            await accounts.devices.sign_in(request, name, word)
    assert await accounts.tokens.resume(key, APP.address) is None
    token = (await accounts.tokens.make(await accounts.caller(user), TokenRequest(name="x", scopes=("read",)))).key
    with pytest.raises(Unauthorized):
        await accounts.devices.sign_in(APP, user.username, token)


async def test_what_a_protocol_sends_instead_opens_that_protocol_alone(accounts):
    user = await accounts.add()
    key = (await made(accounts, user, protocols=("plain", "hashed"))).key
    assert HASHED.digest is not None
    sent = HASHED.digest(user.username, key)
    assert (await accounts.devices.sign_in(OTHER, None, sent)).caller.user_id == user.id
    with pytest.raises(Unauthorized):
        await accounts.devices.sign_in(APP, None, sent)
    only_plain = await made(accounts, user)
    with pytest.raises(Unauthorized):
        await accounts.devices.sign_in(OTHER, None, HASHED.digest(user.username, only_plain.key))


async def test_what_was_accepted_ends_with_the_password(accounts):
    user = await accounts.add()
    new = await made(accounts, user)
    found = await accounts.devices.sign_in(APP, user.username, new.key)
    for _ in range(2):  # an app signs in again
        await accounts.devices.accept(APP, found, "from now on")
    assert (await accounts.devices.sign_in(APP, None, "from now on")).password_id == new.token.public_id
    assert (await accounts.devices.find(new.token.public_id, APP.address)).shelf == found.shelf
    await accounts.tokens.revoke(await accounts.caller(user), new.token.public_id)
    for name, word in ((user.username, new.key), (None, "from now on")):
        with pytest.raises(Unauthorized):
            await accounts.devices.sign_in(APP, name, word)
    with pytest.raises(NotFound):
        await accounts.devices.find(new.token.public_id, APP.address)


async def test_an_expired_password_and_a_disabled_owner_open_nothing(accounts):
    user, other = await accounts.add(), await accounts.add()
    short = await made(accounts, user, expires_at=Millis(accounts.time() + DAY))
    theirs = await made(accounts, other)
    accounts.time.pass_(DAY)
    await accounts.users.disable(SYSTEM, other.public_id)
    for name, new in ((user.username, short), (other.username, theirs)):
        with pytest.raises(Unauthorized):
            await accounts.devices.sign_in(APP, name, new.key)


async def test_a_wrong_password_counts_against_its_name(accounts):
    user = await accounts.add()
    key = (await made(accounts, user)).key
    for _ in range(10):
        with pytest.raises(Unauthorized):
            await accounts.devices.sign_in(APP, user.username, "tsz_wrong")
    with pytest.raises(TooManyRequests):
        await accounts.devices.sign_in(APP, user.username, "tsz_wrong")
    assert await accounts.devices.sign_in(APP, user.username, key)  # nobody is locked out of what cannot be guessed


async def test_a_wrong_key_without_a_name_counts_for_its_address(accounts):
    for _ in range(30):
        with pytest.raises(Unauthorized):
            await accounts.devices.sign_in(OTHER, None, "0" * 32)
    with pytest.raises(TooManyRequests):
        await accounts.devices.sign_in(OTHER, None, "0" * 32)
    elsewhere = msgspec.structs.replace(OTHER, address="198.51.100.1")
    with pytest.raises(Unauthorized):
        await accounts.devices.sign_in(elsewhere, None, "0" * 32)


async def test_its_last_use_and_its_app_are_noted(accounts):
    user = await accounts.add()
    new = await made(accounts, user)
    await accounts.devices.sign_in(APP, user.username, new.key)
    accounts.time.pass_(30 * MINUTE)
    renamed = msgspec.structs.replace(APP, client="Reader 2.0 " + "x" * 200)
    await accounts.devices.sign_in(renamed, user.username, new.key)
    [token] = [one for one in await accounts.tokens.list(await accounts.caller(user)) if one.kind == "device"]
    assert token.last_used_at == accounts.time()
    assert token.client is not None
    assert token.client.startswith("Reader 2.0 xxx")
    assert len(token.client) == 100


async def test_it_reads_the_shelf_that_it_was_made_for(accounts):
    user, friend = await accounts.add(), await accounts.add()
    caller = await accounts.caller(user)
    own = await accounts.current_user.shelf_of(caller)
    second = await accounts.all.sharing.make(shelf_user(caller), "Second")
    for_second = await made(accounts, user, shelf=second.public_id, kinds="chapter")
    for_any = await made(accounts, user)
    found = await accounts.devices.sign_in(APP, user.username, for_second.key)
    assert (found.shelf.id, found.kind) == (second.id, "chapter")
    found = await accounts.devices.sign_in(APP, user.username, for_any.key)
    assert (found.shelf.id, found.kind) == (own.id, None)
    with pytest.raises(Invalid, match="There is no such shelf"):
        await made(accounts, friend, shelf=second.public_id)


async def test_who_only_reads_a_shelf_changes_nothing_there(accounts):
    user, friend = await accounts.add(), await accounts.add()
    caller = await accounts.caller(user)
    shelf = await accounts.current_user.shelf_of(caller)
    await accounts.all.sharing.share(shelf_user(caller), shelf.public_id, friend.username, "reader")
    theirs = await made(accounts, friend, shelf=shelf.public_id)
    found = await accounts.devices.sign_in(APP, friend.username, theirs.key)
    assert found.shelf.id == shelf.id
    with pytest.raises(Forbidden):
        found.must_write()


async def test_an_unknown_protocol_is_refused_with_the_known_ones(accounts):
    with pytest.raises(Invalid, match="A protocol must be one of plain, hashed, not gopher"):
        await made(accounts, await accounts.add(), protocols=("plain", "gopher"))
