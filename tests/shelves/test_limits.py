"""A plan's room is kept, whoever adds at the same time."""

import asyncio

import pytest

from tests.builders import stored_series
from tests.delivery.builders import a_reader, follow
from tests.shelves.builders import on_plan, shelf_deps
from tests.shelves.library_builders import a_published_series
from tsuzuki.accounts.types import Slice
from tsuzuki.model.errors import LimitExceeded
from tsuzuki.model.plans import (
    FREE,
    SELF_HOSTED,
    effective_plan,
    exceeded,
    get_plan,
    is_over,
    lifting,
    list_plans,
    what_is_over,
)
from tsuzuki.shelves.follows import Follows
from tsuzuki.shelves.limits import check_shelf_limit_tx
from tsuzuki.shelves.subscriptions import Subscriptions
from tsuzuki.shelves.types import FollowFilter, NewSubscription
from tsuzuki.shelves.types import FollowRequest as Following
from tsuzuki.transfer.opml import Lists

ROOM = 10


def a_subscription(number: int) -> NewSubscription:
    return NewSubscription(link=f"https://example.org/feed/{number}")


@pytest.fixture
def subscriptions(db):
    return Subscriptions(shelf_deps(db))


@pytest.fixture
async def shelf(db):
    """On the free plan, with room for ten."""
    shelf = await a_reader(db)
    await on_plan(db, shelf)
    return shelf


async def test_fifty_at_once_fill_exactly_the_room(subscriptions, shelf):
    tried = await asyncio.gather(
        *(subscriptions.add(shelf, a_subscription(number)) for number in range(50)), return_exceptions=True
    )
    assert FREE.limits.follows == ROOM
    assert len(await subscriptions.list(shelf)) == ROOM
    assert [type(one) for one in tried if isinstance(one, Exception)] == [LimitExceeded] * 40


async def test_fifty_concurrent_follows_fill_exactly_the_room(db, shelf):
    follows = Follows(shelf_deps(db))
    requests = [Following(series=(await a_published_series(db, [1])).public_id) for _ in range(50)]
    tried = await asyncio.gather(*(follows.add(shelf, one) for one in requests), return_exceptions=True)
    assert [type(one) for one in tried if isinstance(one, Exception)] == [LimitExceeded] * 40
    _, total = await follows.list(shelf, FollowFilter(), Slice())
    assert total == ROOM


async def test_the_error_names_limit_usage_and_larger_plan(subscriptions, shelf):
    for number in range(ROOM):
        await subscriptions.add(shelf, a_subscription(number))
    with pytest.raises(LimitExceeded) as caught:
        await subscriptions.add(shelf, a_subscription(ROOM))
    assert str(caught.value) == ("The plan Free allows 10 feeds and series, and 10 are used; Basic allows 200.")
    assert [problem.field for problem in caught.value.problems] == ["follows"]


async def test_feeds_and_series_share_the_room(db, subscriptions, shelf):
    for number in range(ROOM):
        await follow(db, shelf, await stored_series(db, f"Series {number}"))
    with pytest.raises(LimitExceeded):
        await subscriptions.add(shelf, a_subscription(1))


async def test_what_fits_is_taken_and_the_rest_explained(subscriptions, shelf):
    tried = await subscriptions.add_many(shelf, [a_subscription(number) for number in range(ROOM + 2)])
    assert [one.error is None for one in tried] == [True] * ROOM + [False] * 2
    assert all(isinstance(one.error, LimitExceeded) for one in tried[ROOM:])


async def test_a_too_long_list_is_taken_without_empty_groups(db, subscriptions, shelf):
    lines = "".join(
        f'<outline text="g{n}"><outline text="{n}" type="rss" xmlUrl="https://example.org/{n}"/></outline>'
        for n in range(ROOM + 2)
    )
    lists = Lists(shelf_deps(db), subscriptions)
    report = await lists.read(shelf, f'<opml version="2.0"><body>{lines}</body></opml>'.encode())
    assert [line.outcome for line in report] == ["created"] * ROOM + ["failed"] * 2
    assert b"g9" in (written := await lists.write(shelf))
    assert b"g10" not in written


@pytest.mark.parametrize(("status", "says"), [("inactive", "reactivate it"), ("delinquent", "pay them")])
async def test_a_sleeping_shelf_takes_nothing_and_says_why(db, subscriptions, shelf, status, says):
    await on_plan(db, shelf, "growth", status=status)
    with pytest.raises(LimitExceeded, match=says):
        await subscriptions.add(shelf, a_subscription(1))


async def test_with_billing_off_nothing_is_limited_whatever_the_row_says(db, subscriptions, shelf):
    await on_plan(db, shelf, "free", status="delinquent", is_billed=False)
    for number in range(ROOM + 1):
        await subscriptions.add(shelf, a_subscription(number))


async def test_the_unlimited_plan_has_room_for_all(db, shelf):
    await on_plan(db, shelf, "self-hosted")
    await db.with_tx(lambda tx: check_shelf_limit_tx(tx, shelf, "follows"))
    assert not is_over(get_plan("self-hosted"), "follows", 1_000_000)


# -- plans


def test_plans_are_listed_the_cheapest_first_and_found_by_name():
    assert [plan.id for plan in list_plans()] == ["free", "basic", "growth", "self-hosted"]
    assert all(get_plan(plan.id) is plan for plan in list_plans())
    assert effective_plan("free", is_billed=False) is SELF_HOSTED


@pytest.mark.parametrize(("used", "lifts"), [(10, "free"), (11, "basic"), (200, "basic"), (201, "growth")])
def test_the_cheapest_plan_with_room_is_named(used, lifts):
    found = lifting("follows", used)
    assert found is not None
    assert found.id == lifts


def test_when_no_plan_has_room_that_is_said():
    assert "no offered plan allows more" in str(exceeded(get_plan("growth"), "members", used=25))


def test_everything_that_is_over_is_listed():
    over = what_is_over(FREE, {"follows": 12, "kept_chapters": 3, "members": 2})
    assert [(problem.field, problem.message.partition(" are")[0]) for problem in over] == [
        ("follows", "12 feeds and series"),
        ("members", "2 members"),
    ]
