"""Tenants, people, invitations and the first set-up."""

import asyncio

import msgspec
import pytest

from tests.accounts.builders import HERE, PASSWORD, AccountServices
from tsuzuki.accounts.invites import AccountRequest
from tsuzuki.accounts.policy import name_from, name_problems
from tsuzuki.accounts.types import SYSTEM, Slice
from tsuzuki.accounts.users import UserChange
from tsuzuki.db import DatabaseOptions, open_database
from tsuzuki.model.errors import Conflict, Invalid, NotFound, Unauthorized
from tsuzuki.model.times import DAY


def accepted(code: str, **over: str) -> AccountRequest:
    return AccountRequest(**{"code": code, "username": "invited", "password": PASSWORD} | over)


# -- the first start


async def test_a_fresh_install_has_tenant_shelf_and_setup_code(accounts):
    prepared = await accounts.setup.prepare(password=None)
    assert prepared.code is not None
    assert await accounts.setup.is_needed()
    signed_in = await accounts.invites.accept(accepted(prepared.code.upper(), username="Root"), HERE, is_setup=True)
    assert (signed_in.user.username, signed_in.user.role) == ("root", "admin")
    caller = (await accounts.sessions.resume(signed_in.key, HERE.address)).caller
    me = await accounts.current_user.get(caller)
    assert [(shelf.name, shelf.plan) for shelf in me.shelves] == [("Main", "self-hosted")]
    assert not await accounts.setup.is_needed()


async def test_the_code_of_the_first_visit_works_once(accounts):
    prepared = await accounts.setup.prepare(password=None)
    assert prepared.code is not None
    await accounts.invites.accept(accepted(prepared.code), HERE, is_setup=True)
    with pytest.raises(Conflict):
        await accounts.invites.accept(accepted(prepared.code, username="second"), HERE, is_setup=True)
    with pytest.raises(Unauthorized):
        await accounts.invites.accept(accepted(prepared.code, username="second"), HERE)


async def test_the_setup_code_ends_with_the_first_administrator(accounts):
    prepared = await accounts.setup.prepare(password=None)
    assert prepared.code is not None
    await accounts.add(role="admin")
    with pytest.raises(Conflict):
        await accounts.invites.accept(accepted(prepared.code), HERE, is_setup=True)


async def test_a_configured_password_makes_only_the_first_administrator(accounts):
    assert (await accounts.setup.prepare(password="first")).way == "password"
    assert (await accounts.setup.prepare(password="second")).way == "known"
    signed_in = await accounts.sign_in.sign_in("admin", "first", HERE)
    assert signed_in.user.role == "admin"
    with pytest.raises(Unauthorized):
        await accounts.sign_in.sign_in("admin", "second", HERE)


async def test_several_processes_that_start_at_once_set_up_once(accounts, database_url):
    other = await open_database(DatabaseOptions(database_url))
    try:
        prepared = await asyncio.gather(
            *(AccountServices(db).setup.prepare(password="first") for db in (accounts.db, other) for _ in range(3))
        )
        assert sorted(one.way for one in prepared) == ["known"] * 5 + ["password"]
        assert (await accounts.tenants.list(Slice()))[1] == 1
    finally:
        await other.close()


async def test_tenants_are_found_by_a_part_of_their_name(accounts):
    for name in ("Lantern Press", "lanternfish", "100% Comics", "100 Comics"):
        await accounts.tenants.add(SYSTEM, name)

    async def found(text):
        rows, total = await accounts.tenants.list(Slice(), text=text)
        assert total == len(rows)
        return [tenant.name for tenant in rows]

    assert await found("LANTERN") == ["Lantern Press", "lanternfish"]
    assert await found("100%") == ["100% Comics"]
    assert await found("nobody") == []


async def test_an_empty_password_opens_only_where_the_settings_say_so(db):
    """R76."""
    accounts = AccountServices(db, is_open=True)
    assert (await accounts.setup.prepare(password=None, is_open=True)).way == "open"
    assert (await accounts.sign_in.sign_in("admin", "", HERE)).user.role == "admin"
    with pytest.raises(Unauthorized):
        await accounts.sign_in.sign_in("admin", "guess", HERE)
    with pytest.raises(Unauthorized):
        await AccountServices(db).sign_in.sign_in("admin", "", HERE)
    user = await accounts.add()
    with pytest.raises(Unauthorized):
        await accounts.sign_in.sign_in(user.username, "", HERE)


# -- people


@pytest.mark.parametrize("name", ["", "-a", "a b", "a/b", "ä", "a" * 65, "a\0", "../x", "<b>"])
def test_a_name_that_cannot_be_is_refused(name):
    assert [problem.field for problem in name_problems(name)] == ["username"]


async def test_nobody_is_added_under_such_a_name(accounts):
    with pytest.raises(Invalid, match="A username must have"):
        await accounts.add("../x")


async def test_names_are_compared_without_case_and_are_taken_once(accounts):
    user = await accounts.add(" Alice ")
    assert user.username == "alice"
    assert (await accounts.sign_in.sign_in("ALICE", PASSWORD, HERE)).user.id == user.id
    with pytest.raises(Conflict, match="The name alice is taken"):
        await accounts.add("alice")


async def test_only_the_operator_may_set_a_short_password(accounts):
    with pytest.raises(Invalid, match="at least 8"):
        await accounts.add(password="short")


async def test_the_last_administrator_cannot_be_disabled_demoted_or_deleted(accounts):
    admin = await accounts.add(role="admin")
    for attempt in (
        lambda: accounts.users.disable(SYSTEM, admin.public_id),
        lambda: accounts.users.change(SYSTEM, admin.public_id, UserChange(role="reader")),
        lambda: accounts.users.delete(SYSTEM, admin.public_id),
    ):
        with pytest.raises(Conflict, match="last administrator"):
            await attempt()
    await accounts.add(role="admin")
    assert (await accounts.users.change(SYSTEM, admin.public_id, UserChange(role="reader"))).role == "reader"


async def test_two_administrators_cannot_disable_each_other_at_the_same_time(accounts):
    one, two = await accounts.add(role="admin"), await accounts.add(role="admin")
    results = await asyncio.gather(
        accounts.users.disable(SYSTEM, one.public_id),
        accounts.users.disable(SYSTEM, two.public_id),
        return_exceptions=True,
    )
    assert sum(isinstance(result, Conflict) for result in results) == 1


async def test_what_a_deletion_takes_along_is_said_before(accounts):
    user = await accounts.add(role="admin")
    await accounts.add(role="admin")
    caller = await accounts.caller(user)
    await accounts.token(user)
    await accounts.invites.make(caller, "reader", None)
    contents = await accounts.users.contents(user.public_id)
    assert msgspec.structs.asdict(contents) == {
        "sessions": 1,
        "tokens": 1,
        "invites": 1,
        "shelves": 1,
        "subscriptions": 0,
        "follows": 0,
        "bookmarks": 0,
    }
    assert await accounts.users.delete(SYSTEM, user.public_id) == contents
    assert await accounts.invites.list() == []
    with pytest.raises(NotFound):
        await accounts.users.contents(user.public_id)


async def test_people_are_listed_with_what_the_operator_needs(accounts):
    user = await accounts.add("alice", email="alice@example.org")
    await accounts.enter(user)
    listed, total = await accounts.users.list(Slice())
    assert total == 1
    assert (listed[0].username, listed[0].tenant_name, listed[0].has_password) == ("alice", "Home", True)
    assert listed[0].last_used_at == accounts.time()


# -- tenants


async def test_people_of_a_new_tenant_see_only_its_shelf(accounts):
    """I8."""
    await accounts.setup.prepare_tenant()
    tenant = await accounts.tenants.add(SYSTEM, "Other")
    mine = await accounts.caller(await accounts.add())
    theirs = await accounts.caller(await accounts.add(tenant_id=tenant.public_id))
    current_user = accounts.current_user
    my_shelf, their_shelf = await current_user.pick_shelf(mine, None), await current_user.pick_shelf(theirs, None)
    assert my_shelf.id != their_shelf.id
    assert await current_user.pick_shelf(mine, my_shelf.public_id) == my_shelf
    with pytest.raises(NotFound):
        await current_user.pick_shelf(mine, their_shelf.public_id)
    with pytest.raises(NotFound):
        await current_user.choose_shelf(mine, their_shelf.public_id)
    assert (await current_user.choose_shelf(mine, my_shelf.public_id)).default_shelf_id == my_shelf.id
    assert (await current_user.choose_shelf(mine, None)).default_shelf_id is None


async def test_a_tenant_with_people_is_not_deleted(accounts):
    await accounts.setup.prepare_tenant()
    tenant = await accounts.tenants.add(SYSTEM, "Other")
    user = await accounts.add(tenant_id=tenant.public_id)
    with pytest.raises(Conflict):
        await accounts.tenants.delete(SYSTEM, tenant.public_id)
    await accounts.users.delete(SYSTEM, user.public_id)
    assert (await accounts.tenants.delete(SYSTEM, tenant.public_id)).shelves == 0  # it went with its owner
    with pytest.raises(NotFound):
        await accounts.tenants.get(tenant.public_id)


# -- invitations


async def test_an_invitation_makes_one_account_with_its_role_and_tenant(accounts):
    admin = await accounts.caller(await accounts.add(role="admin"))
    tenant = await accounts.tenants.add(SYSTEM, "Other")
    invite = await accounts.invites.make(admin, "reader", tenant.public_id)
    assert [one.role for one in await accounts.invites.list()] == ["reader"]
    signed_in = await accounts.invites.accept(accepted(f" {invite.code.upper()} "), HERE)
    assert (signed_in.user.role, signed_in.user.tenant_id) == ("reader", tenant.id)
    with pytest.raises(Unauthorized):
        await accounts.invites.accept(accepted(invite.code, username="second"), HERE)


async def test_an_invitation_whose_name_was_taken_can_be_used_again(accounts):
    admin = await accounts.caller(await accounts.add(role="admin"))
    invite = await accounts.invites.make(admin, "reader", None)
    with pytest.raises(Conflict):
        await accounts.invites.accept(accepted(invite.code, username=admin.username), HERE)
    await accounts.invites.accept(accepted(invite.code), HERE)


async def test_an_invitation_ends_when_revoked_or_after_a_week(accounts):
    admin = await accounts.caller(await accounts.add(role="admin"))
    revoked = await accounts.invites.make(admin, "reader", None)
    await accounts.invites.revoke(admin, revoked.public_id)
    old = await accounts.invites.make(admin, "reader", None)
    accounts.time.pass_(7 * DAY)
    for code in (revoked.code, old.code):
        with pytest.raises(Unauthorized):
            await accounts.invites.accept(accepted(code), HERE)
    with pytest.raises(NotFound):
        await accounts.invites.revoke(admin, revoked.public_id)


async def test_an_invitation_is_worth_what_its_inviter_is(accounts):
    await accounts.add(role="admin")
    disabled, demoted = await accounts.add(role="admin"), await accounts.add(role="admin")
    codes = [
        (await accounts.invites.make(await accounts.caller(one), "admin", None)).code for one in (disabled, demoted)
    ]
    await accounts.users.disable(SYSTEM, disabled.public_id)
    await accounts.users.change(SYSTEM, demoted.public_id, UserChange(role="reader"))
    for code in codes:
        with pytest.raises(Unauthorized):
            await accounts.invites.accept(accepted(code), HERE)


async def test_an_invitation_is_not_the_code_of_the_first_visit(accounts):
    admin = await accounts.caller(await accounts.add(role="admin"))
    invite = await accounts.invites.make(admin, "admin", None)
    with pytest.raises(Conflict):
        await accounts.invites.accept(accepted(invite.code), HERE, is_setup=True)


@pytest.mark.parametrize(
    ("names", "expected"),
    [(["Álice B"], "liceb"), ([None, "", "bob@example.org"], "bob@example.org"), (["日本"], "reader"), (["-_x"], "x")],
)
def test_a_name_is_made_of_what_a_provider_calls_someone(names, expected):
    assert name_from(names) == expected
