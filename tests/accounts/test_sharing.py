"""R91: every person has a shelf of their own, and shares it with whom they choose (I8)."""

import asyncio
from typing import Any

import pytest

from tests.accounts.builders import HERE, PASSWORD, House
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


async def shelves(house: House, user: User) -> dict[str, str]:
    """A person's shelves by name, with their roles."""
    return {one.name: one.role for one in await house.current_user.shelves_of(await fresh(house, user))}


async def fresh(house: House, user: User) -> User:
    return (await house.users.get(user.public_id))[0]


async def home(house: House, user: User) -> MemberShelf:
    return await house.current_user.shelf_of(await fresh(house, user))


async def share(house: House, owner: User, other: User, role: Any = "editor") -> MemberShelf:
    shelf = await home(house, owner)
    await house.all.sharing.share(shelf_user(owner), shelf.public_id, other.username, role)
    return shelf


# -- a shelf with every account


async def test_everybody_who_is_added_has_a_shelf_of_their_own(house):
    first, second, third = [await house.add(name) for name in ("one", "two", "three")]
    assert [await shelves(house, user) for user in (first, second, third)] == [
        {"Main": "owner"},  # what the tenant began with
        {"two": "owner"},
        {"three": "owner"},
    ]
    assert (await home(house, second)).plan == "self-hosted"
    assert second.default_shelf_id == (await home(house, second)).id


async def test_an_invited_person_has_a_shelf_of_their_own(house):
    admin = await house.add("admin", role="admin")
    made = await house.invites.make(await house.caller(admin), "reader", None)
    accepted = AccountRequest(code=made.code, username="guest", password=PASSWORD)
    signed_in = await house.invites.accept(accepted, HERE)
    assert await shelves(house, signed_in.user) == {"guest": "owner"}
    assert await shelves(house, admin) == {"Main": "owner"}


@pytest.mark.parametrize("way", ["password", "open", "code"])
async def test_the_first_set_up_makes_a_shelf_with_its_account(house, way):
    prepared = await house.setup.prepare(password="secret" if way == "password" else None, is_open=way == "open")
    if prepared.code is not None:
        accepted = AccountRequest(code=prepared.code, username="admin", password=PASSWORD)
        await house.invites.accept(accepted, HERE, is_setup=True)
    assert await shelves(house, await house.users.find("admin")) == {"Main": "owner"}


async def test_two_who_come_at_once_do_not_get_one_shelf(house):
    await house.setup.prepare_tenant()
    people = await asyncio.gather(*(house.add(f"at{number}") for number in range(4)))
    assert len({(await home(house, user)).id for user in people}) == 4


async def test_a_shelf_whose_name_is_taken_gets_a_number(house):
    first = await house.add("first")
    for name in ("second", "second"):
        await house.all.sharing.make(shelf_user(first), name)
    assert await shelves(house, await house.add("second")) == {"second 3": "owner"}


def test_a_free_name_is_the_wish_or_the_next_number():
    assert free_name("a", set()) == "a"
    assert free_name("a", {"a", "a 2"}) == "a 3"


async def test_a_failed_account_leaves_no_shelf_behind(house):
    await house.add("one")
    with pytest.raises(Conflict):
        await house.add("one")
    assert await house.db.read(lambda tx: tx.one(int, q.count_shelves)) == 1


# -- sharing


async def test_a_shared_shelf_is_seen_by_its_people_alone(house):
    owner, editor, other = [await house.add() for _ in range(3)]
    shelf = await share(house, owner, editor)
    for user, has in ((owner, True), (editor, True), (other, False)):
        caller = await house.caller(user)
        if has:
            assert (await house.current_user.pick_shelf(caller, shelf.public_id)).id == shelf.id
            continue
        with pytest.raises(NotFound):
            await house.current_user.pick_shelf(caller, shelf.public_id)
        with pytest.raises(NotFound):
            await house.current_user.choose_shelf(caller, shelf.public_id)
        with pytest.raises(NotFound):
            await house.all.sharing.people(shelf_user(user), shelf.public_id)


async def test_nobody_of_another_tenant_is_shared_with(house):
    owner = await house.add()
    tenant = await house.tenants.add(SYSTEM, "Other")
    stranger = await house.add(tenant_id=tenant.public_id)
    for name in (stranger.username, "nobody"):
        with pytest.raises(NotFound, match="no such person here"):
            await house.all.sharing.share(shelf_user(owner), (await home(house, owner)).public_id, name, "reader")
    assert stranger.username not in await house.all.sharing.others(
        shelf_user(owner), (await home(house, owner)).public_id
    )


async def test_only_an_owner_shares_renames_and_deletes(house):
    owner, editor, other = [await house.add() for _ in range(3)]
    shelf = await share(house, owner, editor)
    sharing, who = house.all.sharing, shelf_user(editor)
    for act in (
        sharing.share(who, shelf.public_id, other.username, "reader"),
        sharing.remove(who, shelf.public_id, owner.username),
        sharing.rename(who, shelf.public_id, "Mine"),
        sharing.delete(who, shelf.public_id),
        sharing.contents(who, shelf.public_id),
    ):
        with pytest.raises(Forbidden):
            await act


async def test_a_shelf_keeps_an_owner(house):
    owner, other = await house.add(), await house.add()
    shelf = await share(house, owner, other)
    sharing, who = house.all.sharing, shelf_user(owner)
    with pytest.raises(Conflict):
        await sharing.remove(who, shelf.public_id, owner.username)
    with pytest.raises(Conflict):
        await sharing.share(who, shelf.public_id, owner.username, "reader")
    await sharing.share(who, shelf.public_id, other.username, "owner")
    await sharing.remove(who, shelf.public_id, owner.username)
    assert [(one.username, one.role) for one in await sharing.people(shelf_user(other), shelf.public_id)] == [
        (other.username, "owner")
    ]


async def test_of_two_owners_who_leave_at_once_one_stays(house):
    owner, other = await house.add(), await house.add()
    shelf = await share(house, owner, other, "owner")
    sharing = house.all.sharing
    ended = await asyncio.gather(
        *(sharing.remove(shelf_user(one), shelf.public_id, one.username) for one in (owner, other)),
        return_exceptions=True,
    )
    assert {type(one) for one in ended} == {type(None), Conflict}


async def test_who_is_left_without_a_shelf_gets_one(house):
    owner, other = await house.add(), await house.add("other")
    shelf = await share(house, owner, other)
    mine = await home(house, other)
    await house.all.sharing.delete(shelf_user(other), mine.public_id)
    assert await shelves(house, other) == {"Main": "editor"}
    await house.all.sharing.remove(shelf_user(owner), shelf.public_id, "other")
    assert await shelves(house, other) == {"other": "owner"}
    assert (await home(house, other)).public_id != mine.public_id


async def test_nobody_deletes_their_only_shelf(house):
    owner = await house.add()
    with pytest.raises(Conflict, match="only shelf"):
        await house.all.sharing.delete(shelf_user(owner), (await home(house, owner)).public_id)


async def test_an_own_default_that_is_lost_is_the_own_shelf_again(house):
    owner, other = await house.add(), await house.add("other")
    shelf = await share(house, owner, other)
    await house.current_user.choose_shelf(await house.caller(other), shelf.public_id)
    assert (await home(house, other)).id == shelf.id
    await house.all.sharing.remove(shelf_user(other), shelf.public_id, "other")
    assert (await home(house, other)).name == "other"


async def test_names_and_numbers_of_shelves_are_bounded(house):
    owner = await house.add()
    sharing, who = house.all.sharing, shelf_user(owner)
    for name in ("", "  ", "x" * 201):
        with pytest.raises(Invalid):
            await sharing.make(who, name)
    made = [await sharing.make(who, "More") for _ in range(MOST_OWNED - 1)]
    with pytest.raises(LimitExceeded):
        await sharing.make(who, "More")
    with pytest.raises(Conflict):
        await sharing.rename(who, made[0].public_id, "Main")


# -- people who go


async def test_a_shelf_goes_with_its_last_owner_only(house):
    await house.add(role="admin")
    owner, heir = await house.add("owner"), await house.add("heir")
    kept = await share(house, owner, heir, "owner")
    sole = await house.all.sharing.make(shelf_user(owner), "Sole")
    await house.all.sharing.share(shelf_user(owner), sole.public_id, "heir", "editor")
    assert (await house.users.contents(owner.public_id)).shelves == 1
    await house.users.delete(SYSTEM, owner.public_id)
    assert await shelves(house, heir) == {"heir": "owner", kept.name: "owner"}


async def test_a_disabled_person_keeps_their_shelf_for_later(house):
    await house.add(role="admin")
    owner, other = await house.add("owner"), await house.add("other")
    shelf = await share(house, owner, other)
    await house.users.disable(SYSTEM, owner.public_id)
    assert await shelves(house, other) == {"other": "owner", shelf.name: "editor"}
    await house.users.enable(SYSTEM, owner.public_id)
    assert (await home(house, owner)).id == shelf.id


# -- who shared a shelf before there was a choice


async def test_who_shared_before_is_offered_a_shelf_once(house):
    owner, other = await house.add("owner"), await house.add("other")
    shared = await share(house, owner, other, "owner")
    await house.all.sharing.delete(shelf_user(other), (await home(house, other)).public_id)
    for user in (owner, other):
        await house.db.with_tx(lambda tx, user=user: tx.run(q.offer, id=user.id))
    assert [(one.name, one.people) for one in await house.all.sharing.old_shared()] == [("Main", 2)]
    taken = await house.all.sharing.take_offer(shelf_user(other))
    assert (await home(house, other)).id == taken.id != shared.id
    assert await shelves(house, other) == {"Main": "owner", "other": "owner"}
    with pytest.raises(Conflict):
        await house.all.sharing.take_offer(shelf_user(other))
    await house.all.sharing.decline_offer(shelf_user(owner))
    assert not (await house.caller(owner)).is_offered_shelf
    assert await house.all.sharing.old_shared() == []


# -- the log


async def test_what_is_done_to_a_shelf_is_in_the_audit_log(house):
    owner, other = await house.add("owner"), await house.add("other")
    shelf = await share(house, owner, other)
    sharing, who = house.all.sharing, shelf_user(owner)
    await sharing.rename(who, shelf.public_id, "Ours")
    await sharing.remove(who, shelf.public_id, "other")
    await share(house, owner, other, "reader")
    await sharing.remove(shelf_user(other), shelf.public_id, "other")
    made = await sharing.make(who, "More")
    await sharing.delete(who, made.public_id)
    rows, _ = await house.all.audit_log.list(AuditFilter(entity_type="shelf"), Slice(most=50))
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
