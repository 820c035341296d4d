"""A year of a tenant's life, against a table that was computed by hand."""

from tests.billing.builders import BillingSetup, member_of
from tsuzuki.db import Database
from tsuzuki.model.times import iso

BASIC, GROWTH = 500, 1500


class TenantYear:
    """The tenant, told in three parts."""

    def __init__(self, db: Database) -> None:
        self.billing = BillingSetup(db)

    async def begin(self) -> "TenantYear":
        await self.billing.open()
        self.billing.at("2027-01-31T12:00:00Z")
        self.tenant = await self.billing.tenant("free")
        self.shelf = await self.billing.shelf(self.tenant)
        self.who, self.rented = member_of(self.tenant), self.billing.services.rented
        return self

    async def now(self, *moments: str) -> None:
        """Noon of each of these days in turn, and what a minute's look finds to do."""
        for moment in moments:
            self.billing.at(f"{moment}T12:00:00Z" if len(moment) == len("2027-01-31") else moment)
            await self.billing.services.catch_up()

    async def plan(self, plan: str) -> None:
        await self.rented.change_plan(self.who, self.shelf.public_id, plan)

    async def pay(self) -> None:
        await self.billing.pay_all(self.tenant)

    async def status(self) -> str:
        return (await self.billing.shelf(self.tenant)).status

    async def owed(self) -> list[int]:
        return [invoice.amount_cents for invoice in await self.billing.open_invoices(self.tenant)]

    async def spring(self) -> None:
        """Changes of plan."""
        await self.now("2027-02-14")
        await self.plan("basic")
        await self.pay()
        await self.now("2027-02-28")
        await self.pay()
        await self.now("2027-03-31")
        await self.pay()
        await self.now("2027-04-15")
        await self.plan("growth")
        await self.pay()
        await self.now("2027-04-20")
        await self.plan("basic")
        assert await self.owed() == []  # credit carries forward
        await self.now("2027-04-30")
        assert await self.owed() == [167]
        await self.pay()

    async def summer(self) -> None:
        """Late, then twice."""
        await self.now("2027-05-31", "2027-06-03", "2027-06-06", "2027-06-07")
        assert await self.status() == "delinquent"
        assert [invoice.notices for invoice in await self.billing.open_invoices(self.tenant)] == [3]
        assert await self.owed() == [117]  # what will not be used is not asked for
        await self.now("2027-06-10")
        await self.pay()
        assert await self.status() == "active"
        assert await self.owed() == [333]
        await self.pay()
        await self.now("2027-06-30")
        (invoice,) = await self.billing.open_invoices(self.tenant)
        await self.billing.pay(invoice)
        await self.billing.pay_by_lightning(invoice)
        await self.now("2027-07-31")
        assert await self.owed() == []

    async def autumn(self) -> None:
        """Asleep, awake, and gone."""
        await self.now("2027-08-16T00:00:00Z")
        await self.rented.deactivate(self.who, self.shelf.public_id)
        await self.now("2027-08-31")
        assert await self.status() == "inactive"
        await self.now("2027-09-15")
        await self.rented.reactivate(self.who, self.shelf.public_id)
        assert await self.owed() == []
        await self.now("2027-09-30", "2027-10-07", "2027-10-30", "2027-10-31", "2027-11-30", "2028-01-31")


async def test_a_year_of_a_tenants_life(db):
    """R82-R87, I10. Periods begin on the 31st, or on a month's last day, at noon.

    | when              | what                         | cents                                  | balance |
    |-------------------|------------------------------|----------------------------------------|---------|
    | 2027-01-31        | comes, on Free               |                                        |       0 |
    | 2027-02-14        | Basic, 14 of 28 days left    | 500 x 14/28            =           250 |     250 |
    | 2027-02-14        | pays                         |                                   -250 |       0 |
    | 2027-02-28        | renewal                      |                                    500 |     500 |
    | 2027-02-28        | pays                         |                                   -500 |       0 |
    | 2027-03-31        | renewal, paid                |                              500, -500 |       0 |
    | 2027-04-15        | Growth, 15 of 30 days left   | (1500 - 500) x 15/30   =           500 |     500 |
    | 2027-04-15        | pays                         |                                   -500 |       0 |
    | 2027-04-20        | Basic again, 10 of 30 left   | (500 - 1500) x 10/30   =          -333 |    -333 |
    | 2027-04-30        | renewal 500: invoice of 167  |                                    500 |     167 |
    | 2027-04-30        | pays                         |                                   -167 |       0 |
    | 2027-05-31        | renewal, not paid            |                                    500 |     500 |
    | 2027-06-07        | delinquent, 23 of 30 left    | -500 x 23/30           =          -383 |     117 |
    | 2027-06-10        | pays 117; awake, 20 of 30    | -117; 500 x 20/30      =           333 |     333 |
    | 2027-06-10        | pays                         |                                   -333 |       0 |
    | 2027-06-30        | renewal                      |                                    500 |     500 |
    | 2027-06-30        | pays twice, by two ways      |                             -500, -500 |    -500 |
    | 2027-07-31        | renewal, from the credit     |                                    500 |       0 |
    | 2027-08-15.5      | sleeps, 15.5 of 31 left      | -500 x 15.5/31         =          -250 |    -250 |
    | 2027-08-31        | asleep: nothing              |                                        |    -250 |
    | 2027-09-15        | awake, 15 of 30 days left    | 500 x 15/30            =           250 |       0 |
    | 2027-09-30        | renewal, not paid            |                                    500 |     500 |
    | 2027-10-07        | delinquent, 24 of 31 left    | -500 x 24/31           =          -387 |     113 |
    | 2027-10-30        | churned: 113 written off     |                                   -113 |       0 |
    | 2028-01-31        | gone: nothing                |                                        |       0 |
    """
    life = await TenantYear(db).begin()
    await life.spring()
    await life.summer()
    await life.autumn()
    statement = await life.billing.statement(life.tenant)
    assert [(iso(line.at)[:10], line.kind, line.amount_cents, line.balance_cents) for line in statement.lines] == [
        ("2027-02-14", "charge", 250, 250),
        ("2027-02-14", "payment", -250, 0),
        ("2027-02-28", "charge", BASIC, 500),
        ("2027-02-28", "payment", -500, 0),
        ("2027-03-31", "charge", BASIC, 500),
        ("2027-03-31", "payment", -500, 0),
        ("2027-04-15", "charge", (GROWTH - BASIC) // 2, 500),
        ("2027-04-15", "payment", -500, 0),
        ("2027-04-20", "charge", -333, -333),
        ("2027-04-30", "charge", BASIC, 167),
        ("2027-04-30", "payment", -167, 0),
        ("2027-05-31", "charge", BASIC, 500),
        ("2027-06-07", "charge", -383, 117),
        ("2027-06-10", "charge", 333, 450),
        ("2027-06-10", "payment", -117, 333),
        ("2027-06-10", "payment", -333, 0),
        ("2027-06-30", "charge", BASIC, 500),
        ("2027-06-30", "credit", -500, 0),
        ("2027-06-30", "payment", -500, -500),
        ("2027-07-31", "charge", BASIC, 0),
        ("2027-08-16", "charge", -250, -250),
        ("2027-09-15", "charge", 250, 0),
        ("2027-09-30", "charge", BASIC, 500),
        ("2027-10-07", "charge", -387, 113),
        ("2027-10-30", "written_off", -113, 0),
    ]
    totals = statement.totals
    assert (totals.paid, totals.written_off, totals.credit, totals.open, totals.unbilled) == (2867, 113, 0, 0, 0)
    assert statement.tenant.churned_at is not None
