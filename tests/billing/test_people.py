"""R91 where shelves are rented out: what a person's own shelf costs, and what becomes of it when they go."""

import pytest

from tests.billing.builders import OPERATOR, BillingSetup
from tsuzuki.accounts.policy import FailureLimits
from tsuzuki.accounts.services import Accounts, build_accounts
from tsuzuki.accounts.sharing import shelf_user
from tsuzuki.accounts.types import SYSTEM, Tenant, User
from tsuzuki.accounts.users import NewPerson
from tsuzuki.billing.books import BillingScope
from tsuzuki.model.errors import Conflict, Forbidden, LimitExceeded, NotFound


@pytest.fixture
async def billing(db):
    return await BillingSetup(db).open()


@pytest.fixture
def accounts(billing):
    return build_accounts(billing.deps, FailureLimits())


async def add(accounts: Accounts, tenant: Tenant, name: str) -> User:
    return await accounts.users.add(SYSTEM, NewPerson(username=name, tenant_id=tenant.public_id))


def renter(user: User) -> BillingScope:
    return BillingScope(shelf_user(user).actor, user.tenant_id, user.id)


async def test_a_persons_own_shelf_is_free(billing, accounts):
    tenant = await billing.tenant("basic")
    people = [await add(accounts, tenant, name) for name in ("one", "two", "three")]
    plans = [(await accounts.current_user.shelf_of(user)).plan for user in people]
    assert plans == ["basic", "free", "free"]
    assert [invoice.amount_cents for invoice in await billing.invoices(tenant)] == [500]
    with pytest.raises(LimitExceeded):  # as before: as many people as the largest plan has room for
        await add(accounts, tenant, "four")


async def test_another_shelf_is_rented_and_owned_by_who_rents_it(billing, accounts):
    tenant = await billing.tenant("basic")
    one, two = await add(accounts, tenant, "one"), await add(accounts, tenant, "two")
    with pytest.raises(Conflict, match="billed"):
        await accounts.sharing.make(shelf_user(two), "More")
    made = await billing.services.rented.create(renter(two), tenant.public_id, name="More", plan="basic")
    names = [[shelf.name for shelf in await accounts.current_user.shelves_of(user)] for user in (one, two)]
    assert names == [["Main"], ["two", "More"]]
    assert [one.name for one in await billing.services.rented.list(renter(one), tenant.public_id)] == ["Main"]
    with pytest.raises(NotFound):
        await billing.services.rented.change_plan(renter(one), made.public_id, "growth")
    await accounts.sharing.share(shelf_user(two), made.public_id, "one", "editor")
    with pytest.raises(Forbidden):
        await billing.services.rented.change_plan(renter(one), made.public_id, "growth")
    given = await billing.services.rented.create(OPERATOR, tenant.public_id, name="Given", plan="basic")
    assert given.name in [shelf.name for shelf in await accounts.current_user.shelves_of(one)]


async def test_charges_stay_in_the_ledger_without_their_owner(billing, accounts):
    tenant = await billing.tenant("basic")
    one, two = await add(accounts, tenant, "one"), await add(accounts, tenant, "two")
    await accounts.users.delete(SYSTEM, one.public_id)
    await accounts.users.delete(SYSTEM, two.public_id)
    assert [(shelf.name, shelf.status) for shelf in await billing.shelves(tenant)] == [("Main", "inactive")]
    assert "shelf.deactivated" in await billing.activities(tenant)
    await billing.services.catch_up()
    await billing.statement(tenant)  # it adds up
    newcomer = await add(accounts, tenant, "newcomer")
    assert (await accounts.current_user.shelf_of(newcomer)).name == "newcomer"  # nobody inherits what was somebody's


async def test_a_renamed_shelf_is_in_the_tenants_activity(billing, accounts):
    tenant = await billing.tenant("basic")
    one = await add(accounts, tenant, "one")
    shelf = await accounts.current_user.shelf_of(one)
    await accounts.sharing.rename(shelf_user(one), shelf.public_id, "Renamed")
    assert (await billing.activities(tenant))[-1] == "shelf.renamed"
