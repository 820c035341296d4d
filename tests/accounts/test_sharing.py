"""R91: every person has a shelf of their own, and shares it with whom they choose (I8)."""

import asyncio
from typing import Any

import pytest

from tests.accounts.builders import HERE, PASSWORD, AccountServices
from tsuzuki.accounts.audit import AuditFilter
from tsuzuki.accounts.invites import AccountRequest
from tsuzuki.accounts.policy import MOST_OWNED, free_name
from tsuzuki.accounts.sharing import shelf_user
from tsuzuki.accounts.types import SYSTEM, MemberShelf, Slice, User
from tsuzuki.db.queries import parse_queries
from tsuzuki.model.errors import Conflict, Forbidden, Invalid, LimitExceeded, NotFound

q = parse_queries(
    "test",
    """
-- name: offer
update user_account set is_offered_shelf = true where id = :id;
-- name: count_shelves
select count(*) as total from shelf;
""",
)


async def shelves(accounts: AccountServices, user: User) -> dict[str, str]:
    """A person's shelves by name, with their roles."""
    return {one.name: one.role for one in await accounts.current_user.shelves_of(await fresh(accounts, user))}


async def fresh(accounts: AccountServices, user: User) -> User:
    return (await accounts.users.get(user.public_id))[0]


async def home(accounts: AccountServices, user: User) -> MemberShelf:
    return await accounts.current_user.shelf_of(await fresh(accounts, user))


async def share(accounts: AccountServices, owner: User, other: User, role: Any = "editor") -> MemberShelf:
    shelf = await home(accounts, owner)
    await accounts.all.sharing.share(shelf_user(owner), shelf.public_id, other.username, role)
    return shelf


# -- a shelf with every account


async def test_everybody_who_is_added_has_a_shelf_of_their_own(accounts):
    first, second, third = [await accounts.add(name) for name in ("one", "two", "three")]
    assert [await shelves(accounts, user) for user in (first, second, third)] == [
        {"Main": "owner"},  # what the tenant began with
        {"two": "owner"},
        {"three": "owner"},
    ]
    assert (await home(accounts, second)).plan == "self-hosted"
    assert second.default_shelf_id == (await home(accounts, second)).id


async def test_an_invited_person_has_a_shelf_of_their_own(accounts):
    admin = await accounts.add("admin", role="admin")
    made = await accounts.invites.make(await accounts.caller(admin), "reader", None)
    accepted = AccountRequest(code=made.code, username="guest", password=PASSWORD)
    signed_in = await accounts.invites.accept(accepted, HERE)
    assert await shelves(accounts, signed_in.user) == {"guest": "owner"}
    assert await shelves(accounts, admin) == {"Main": "owner"}


@pytest.mark.parametrize("way", ["password", "open", "code"])
async def test_the_first_set_up_makes_a_shelf_with_its_account(accounts, way):
    prepared = await accounts.setup.prepare(password="secret" if way == "password" else None, is_open=way == "open")
    if prepared.code is not None:
        accepted = AccountRequest(code=prepared.code, username="admin", password=PASSWORD)
        await accounts.invites.accept(accepted, HERE, is_setup=True)
    assert await shelves(accounts, await accounts.users.find("admin")) == {"Main": "owner"}


async def test_two_who_come_at_once_do_not_get_one_shelf(accounts):
    await accounts.setup.prepare_tenant()
    people = await asyncio.gather(*(accounts.add(f"at{number}") for number in range(4)))
    assert len({(await home(accounts, user)).id for user in people}) == 4


async def test_a_shelf_whose_name_is_taken_gets_a_number(accounts):
    first = await accounts.add("first")
    for name in ("second", "second"):
        await accounts.all.sharing.make(shelf_user(first), name)
    assert await shelves(accounts, await accounts.add("second")) == {"second 3": "owner"}


def test_a_free_name_is_the_wanted_or_a_numbered_one():
    assert free_name("a", set()) == "a"
    assert free_name("a", {"a", "a 2"}) == "a 3"


async def test_a_failed_account_leaves_no_shelf_behind(accounts):
    await accounts.add("one")
    with pytest.raises(Conflict):
        await accounts.add("one")
    assert await accounts.db.read(lambda tx: tx.one(int, q.count_shelves)) == 1


# -- sharing


async def test_a_shared_shelf_is_seen_by_its_people_alone(accounts):
    owner, editor, other = [await accounts.add() for _ in range(3)]
    shelf = await share(accounts, owner, editor)
    for user, has in ((owner, True), (editor, True), (other, False)):
        caller = await accounts.caller(user)
        if has:
            assert (await accounts.current_user.pick_shelf(caller, shelf.public_id)).id == shelf.id
            continue
        with pytest.raises(NotFound):
            await accounts.current_user.pick_shelf(caller, shelf.public_id)
        with pytest.raises(NotFound):
            await accounts.current_user.choose_shelf(caller, shelf.public_id)
        with pytest.raises(NotFound):
            await accounts.all.sharing.people(shelf_user(user), shelf.public_id)


async def test_nobody_of_another_tenant_is_shared_with(accounts):
    owner = await accounts.add()
    tenant = await accounts.tenants.add(SYSTEM, "Other")
    stranger = await accounts.add(tenant_id=tenant.public_id)
    for name in (stranger.username, "nobody"):
        with pytest.raises(NotFound, match="no such person here"):
            await accounts.all.sharing.share(shelf_user(owner), (await home(accounts, owner)).public_id, name, "reader")
    assert stranger.username not in await accounts.all.sharing.others(
        shelf_user(owner), (await home(accounts, owner)).public_id
    )


async def test_only_an_owner_shares_renames_and_deletes(accounts):
    owner, editor, other = [await accounts.add() for _ in range(3)]
    shelf = await share(accounts, owner, editor)
    sharing, who = accounts.all.sharing, shelf_user(editor)
    for act in (
        sharing.share(who, shelf.public_id, other.username, "reader"),
        sharing.remove(who, shelf.public_id, owner.username),
        sharing.rename(who, shelf.public_id, "Mine"),
        sharing.delete(who, shelf.public_id),
        sharing.contents(who, shelf.public_id),
    ):
        with pytest.raises(Forbidden):
            await act


async def test_a_shelf_keeps_an_owner(accounts):
    owner, other = await accounts.add(), await accounts.add()
    shelf = await share(accounts, owner, other)
    sharing, who = accounts.all.sharing, shelf_user(owner)
    with pytest.raises(Conflict):
        await sharing.remove(who, shelf.public_id, owner.username)
    with pytest.raises(Conflict):
        await sharing.share(who, shelf.public_id, owner.username, "reader")
    await sharing.share(who, shelf.public_id, other.username, "owner")
    await sharing.remove(who, shelf.public_id, owner.username)
    assert [(one.username, one.role) for one in await sharing.people(shelf_user(other), shelf.public_id)] == [
        (other.username, "owner")
    ]


async def test_of_two_owners_who_leave_at_once_one_stays(accounts):
    owner, other = await accounts.add(), await accounts.add()
    shelf = await share(accounts, owner, other, "owner")
    sharing = accounts.all.sharing
    ended = await asyncio.gather(
        *(sharing.remove(shelf_user(one), shelf.public_id, one.username) for one in (owner, other)),
        return_exceptions=True,
    )
    assert {type(one) for one in ended} == {type(None), Conflict}


async def test_who_is_left_without_a_shelf_gets_one(accounts):
    owner, other = await accounts.add(), await accounts.add("other")
    shelf = await share(accounts, owner, other)
    mine = await home(accounts, other)
    await accounts.all.sharing.delete(shelf_user(other), mine.public_id)
    assert await shelves(accounts, other) == {"Main": "editor"}
    await accounts.all.sharing.remove(shelf_user(owner), shelf.public_id, "other")
    assert await shelves(accounts, other) == {"other": "owner"}
    assert (await home(accounts, other)).public_id != mine.public_id


async def test_nobody_deletes_their_only_shelf(accounts):
    owner = await accounts.add()
    with pytest.raises(Conflict, match="only shelf"):
        await accounts.all.sharing.delete(shelf_user(owner), (await home(accounts, owner)).public_id)


async def test_a_lost_default_shelf_becomes_the_own_shelf_again(accounts):
    owner, other = await accounts.add(), await accounts.add("other")
    shelf = await share(accounts, owner, other)
    await accounts.current_user.choose_shelf(await accounts.caller(other), shelf.public_id)
    assert (await home(accounts, other)).id == shelf.id
    await accounts.all.sharing.remove(shelf_user(other), shelf.public_id, "other")
    assert (await home(accounts, other)).name == "other"


async def test_names_and_numbers_of_shelves_are_bounded(accounts):
    owner = await accounts.add()
    sharing, who = accounts.all.sharing, shelf_user(owner)
    for name in ("", "  ", "x" * 201):
        with pytest.raises(Invalid):
            await sharing.make(who, name)
    made = [await sharing.make(who, "More") for _ in range(MOST_OWNED - 1)]
    with pytest.raises(LimitExceeded):
        await sharing.make(who, "More")
    with pytest.raises(Conflict):
        await sharing.rename(who, made[0].public_id, "Main")


# -- people who go


async def test_a_shelf_goes_with_its_last_owner_only(accounts):
    await accounts.add(role="admin")
    owner, heir = await accounts.add("owner"), await accounts.add("heir")
    kept = await share(accounts, owner, heir, "owner")
    sole = await accounts.all.sharing.make(shelf_user(owner), "Sole")
    await accounts.all.sharing.share(shelf_user(owner), sole.public_id, "heir", "editor")
    assert (await accounts.users.contents(owner.public_id)).shelves == 1
    await accounts.users.delete(SYSTEM, owner.public_id)
    assert await shelves(accounts, heir) == {"heir": "owner", kept.name: "owner"}


async def test_a_disabled_person_keeps_their_shelf_for_later(accounts):
    await accounts.add(role="admin")
    owner, other = await accounts.add("owner"), await accounts.add("other")
    shelf = await share(accounts, owner, other)
    await accounts.users.disable(SYSTEM, owner.public_id)
    assert await shelves(accounts, other) == {"other": "owner", shelf.name: "editor"}
    await accounts.users.enable(SYSTEM, owner.public_id)
    assert (await home(accounts, owner)).id == shelf.id


# -- who shared a shelf before there was a choice


async def test_who_shared_before_is_offered_a_shelf_once(accounts):
    owner, other = await accounts.add("owner"), await accounts.add("other")
    shared = await share(accounts, owner, other, "owner")
    await accounts.all.sharing.delete(shelf_user(other), (await home(accounts, other)).public_id)
    for user in (owner, other):
        await accounts.db.with_tx(lambda tx, user=user: tx.run(q.offer, id=user.id))
    assert [(one.name, one.people) for one in await accounts.all.sharing.old_shared()] == [("Main", 2)]
    taken = await accounts.all.sharing.take_offer(shelf_user(other))
    assert (await home(accounts, other)).id == taken.id != shared.id
    assert await shelves(accounts, other) == {"Main": "owner", "other": "owner"}
    with pytest.raises(Conflict):
        await accounts.all.sharing.take_offer(shelf_user(other))
    await accounts.all.sharing.decline_offer(shelf_user(owner))
    assert not (await accounts.caller(owner)).is_offered_shelf
    assert await accounts.all.sharing.old_shared() == []


# -- the log


async def test_changes_to_a_shelf_are_in_the_audit_log(accounts):
    owner, other = await accounts.add("owner"), await accounts.add("other")
    shelf = await share(accounts, owner, other)
    sharing, who = accounts.all.sharing, shelf_user(owner)
    await sharing.rename(who, shelf.public_id, "Ours")
    await sharing.remove(who, shelf.public_id, "other")
    await share(accounts, owner, other, "reader")
    await sharing.remove(shelf_user(other), shelf.public_id, "other")
    made = await sharing.make(who, "More")
    await sharing.delete(who, made.public_id)
    rows, _ = await accounts.all.audit_log.list(AuditFilter(entity_type="shelf"), Slice(most=50))
    said = [(row.actor, row.action) for row in rows][::-1]
    assert said == [
        ("system", "shelf.create"),
        ("owner", "shelf.share"),
        ("owner", "shelf.rename"),
        ("owner", "shelf.unshare"),
        ("owner", "shelf.share"),
        ("other", "shelf.leave"),
        ("owner", "shelf.create"),
        ("owner", "shelf.delete"),
    ]
