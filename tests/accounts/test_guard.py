"""SEC-37: how often a sign-in may fail."""

import asyncio

import pytest

from tests.accounts.builders import PASSWORD, House
from tests.builders import NOON
from tsuzuki.accounts.guard.policy import Guard, Limits, attempted, forgiven, neighbourhood, retry_after, wait
from tsuzuki.accounts.invites import Accepted
from tsuzuki.accounts.sessions import Device
from tsuzuki.db import DatabaseOptions, open_database
from tsuzuki.model.errors import TooManyRequests, Unauthorized
from tsuzuki.model.times import DAY, MINUTE, SECOND, Millis

LIMITS = Limits()


def after(*moments: int, limits: Limits = LIMITS) -> Guard:
    guard = Guard()
    for moment in moments:
        guard = attempted(guard, Millis(NOON + moment), limits)
    return guard


def at(offset: int) -> Millis:
    return Millis(NOON + offset)


@pytest.mark.parametrize(
    ("moments", "now", "expected"),
    [
        ((), 0, 0),
        ((0,) * 9, 0, 0),
        ((0,) * 10, 0, 5 * MINUTE),
        ((0,) * 10, 5 * MINUTE - 1, 1),
        ((0,) * 10, 5 * MINUTE, 0),
        ((0,) * 9 + (MINUTE - 1,), MINUTE - 1, 5 * MINUTE),
        ((0,) * 9 + (MINUTE,), MINUTE, 0),
        ((0, *(59 * SECOND,) * 9), 59 * SECOND, 5 * MINUTE),
    ],
)
def test_ten_failures_within_a_minute_block_for_five(moments, now, expected):
    assert wait(after(*moments), at(now), LIMITS) == expected


def test_a_block_shorter_than_the_window_does_not_let_more_through():
    limits = Limits(failures=2, window=MINUTE, block=SECOND)
    assert wait(after(0, 0, limits=limits), at(2 * SECOND), limits) == MINUTE - 2 * SECOND


@pytest.mark.parametrize("ahead", [MINUTE, 6 * MINUTE, 365 * DAY])
def test_nobody_waits_for_a_clock_that_was_ahead(ahead):
    """REL-19g: what failed in that future counts only as long as it could have happened here."""
    guard = after(*(ahead,) * 10)
    assert wait(guard, at(0), LIMITS) <= LIMITS.block
    if ahead > LIMITS.block:
        assert wait(guard, at(0), LIMITS) == 0
        assert attempted(guard, at(0), LIMITS) == Guard((at(0),))


def test_a_success_takes_back_its_own_attempt_and_no_other():
    blocked = after(*range(10))
    assert forgiven(blocked, at(9), LIMITS) == Guard(tuple(at(n) for n in range(9)))
    assert forgiven(blocked, at(77), LIMITS) == blocked


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("unix", "unix"),
    ],
)
def test_an_ipv6_customer_is_limited_as_one(address, expected):
    assert neighbourhood(address) == expected


def test_the_delay_is_said_in_whole_seconds_and_never_as_none():
    assert [retry_after(Millis(delay)) for delay in (1, 999, 1000, 1001)] == [1, 1, 1, 2]


async def refused(house: House, name: str, address: str) -> type[Exception]:
    try:
        await house.sign_in.sign_in(name, "wrong", Device(address))
    except (Unauthorized, TooManyRequests) as error:
        return type(error)
    raise AssertionError("let in")


async def test_the_eleventh_guess_at_a_name_is_not_checked_from_any_address(house):
    user = await house.add()
    answers = [await refused(house, user.username, f"192.0.2.{n}") for n in range(12)]
    assert answers == [Unauthorized] * 10 + [TooManyRequests] * 2
    assert house.passwords.checks == 10
    with pytest.raises(TooManyRequests) as blocked:
        await house.sign_in.sign_in(user.username, PASSWORD, Device("198.51.100.1"))
    assert blocked.value.retry_after == 300
    house.time.pass_(5 * MINUTE)
    await house.enter(user)


async def test_the_eleventh_guess_from_an_address_is_not_checked_for_any_name(house):
    answers = [await refused(house, f"nobody{n}", "2001:db8::1") for n in range(10)]
    assert answers == [Unauthorized] * 10
    assert await refused(house, "somebody", "2001:db8::2") is TooManyRequests


async def test_signing_in_does_not_open_the_door_for_more_guesses(house):
    user = await house.add()
    for n in range(9):
        assert await refused(house, user.username, f"192.0.2.{n}") is Unauthorized
    await house.enter(user, Device("198.51.100.1"))
    assert await refused(house, user.username, "192.0.2.99") is Unauthorized
    assert await refused(house, user.username, "192.0.2.100") is TooManyRequests


async def test_guesses_at_the_same_time_are_counted_one_by_one(house):
    user = await house.add()
    guesses = [refused(house, user.username, f"192.0.2.{n}") for n in range(40)]
    answers = await asyncio.gather(*guesses)
    assert answers.count(Unauthorized) == 10
    assert house.passwords.checks == 10


async def test_the_limit_holds_across_processes(house, database_url):
    """Two connections to one database stand for two processes: nothing is remembered in memory."""
    other_db = await open_database(DatabaseOptions(database_url))
    try:
        other = House(other_db)
        user = await house.add()
        for n in range(5):
            assert await refused(house, user.username, f"192.0.2.{n}") is Unauthorized
            assert await refused(other, user.username, f"198.51.100.{n}") is Unauthorized
        assert await refused(other, user.username, "203.0.113.1") is TooManyRequests
        assert await refused(house, user.username, "203.0.113.2") is TooManyRequests
    finally:
        await other_db.close()


@pytest.mark.parametrize("engine", ["sqlite"])
async def test_ten_thousand_guesses_from_many_addresses_cause_ten_checks_a_minute(house):
    """A hundred at a time, for a quarter of an hour."""
    user = await house.add()
    checked: list[int] = []
    for batch in range(100):
        before = house.passwords.checks
        addresses = (f"10.0.{batch}.{n}" for n in range(100))
        await asyncio.gather(*(refused(house, user.username, address) for address in addresses))
        checked += [house.time.now] * (house.passwords.checks - before)
        house.time.pass_(9 * SECOND)
    in_a_minute = [sum(1 for other in checked if one <= other < one + MINUTE) for one in checked]
    assert max(in_a_minute) == 10
    assert len(checked) == 30  # ten, then nothing for five minutes, three times


async def test_what_is_remembered_is_forgotten_in_time(house):
    await refused(house, "nobody", "192.0.2.1")
    assert await house.limiter.forget_old() == 0
    house.time.pass_(MINUTE)
    assert await house.limiter.forget_old() == 2


async def test_a_device_password_is_guessed_no_more_often(house):
    user = await house.add()
    for n in range(10):
        with pytest.raises(Unauthorized):
            await house.sign_in.sign_in_device(user.username, "tsz_wrong", "opds", address=f"192.0.2.{n}")
    with pytest.raises(TooManyRequests):
        await house.sign_in.sign_in_device(user.username, "tsz_wrong", "opds", address="198.51.100.1")


async def test_a_code_is_guessed_no_more_often(house):
    await house.setup.prepare(password=None)
    wrong = Accepted(code="wrong", username="root", password=PASSWORD)
    for _ in range(10):
        with pytest.raises(Unauthorized):
            await house.invites.accept(wrong, Device("192.0.2.1"), is_setup=True)
    with pytest.raises(TooManyRequests):
        await house.invites.accept(wrong, Device("192.0.2.1"), is_setup=True)
