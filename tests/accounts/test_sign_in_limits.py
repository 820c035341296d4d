"""SEC-37: how often a sign-in may fail."""

import asyncio
from collections.abc import Sequence

import pytest

from tests.accounts.builders import HERE, PASSWORD, AccountServices
from tests.builders import NOON
from tsuzuki.accounts.invites import AccountRequest
from tsuzuki.accounts.policy import (
    DEVICE_LIFE,
    MOST_DEVICES,
    FailureLimits,
    FailureRecord,
    attempted,
    forgiven,
    neighbourhood,
    retry_after,
    wait,
)
from tsuzuki.accounts.sessions import Device
from tsuzuki.accounts.types import SYSTEM
from tsuzuki.db import DatabaseOptions, open_database
from tsuzuki.model.errors import Invalid, TooManyRequests, Unauthorized
from tsuzuki.model.times import DAY, MINUTE, SECOND, Millis

LIMITS = FailureLimits()


def after(*moments: int, limits: FailureLimits = LIMITS) -> FailureRecord:
    guard = FailureRecord()
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


def test_a_short_block_does_not_allow_more_attempts():
    limits = FailureLimits(failures=2, window=MINUTE, block=SECOND)
    assert wait(after(0, 0, limits=limits), at(2 * SECOND), limits) == MINUTE - 2 * SECOND


def test_a_short_block_reports_how_long_it_really_lasts():
    limits = FailureLimits(failures=2, window=MINUTE, block=SECOND)
    told = wait(after(0, 0, limits=limits), at(0), limits)
    assert told == MINUTE
    assert wait(after(0, 0, limits=limits), at(told), limits) == 0


@pytest.mark.parametrize("ahead", [MINUTE, 6 * MINUTE, 365 * DAY])
def test_nobody_waits_for_a_clock_that_was_ahead(ahead):
    """REL-19g: what failed in that future counts only as long as it could have happened here."""
    guard = after(*(ahead,) * 10)
    assert wait(guard, at(0), LIMITS) <= LIMITS.block
    if ahead > LIMITS.block:
        assert wait(guard, at(0), LIMITS) == 0
        assert attempted(guard, at(0), LIMITS) == FailureRecord((at(0),))


def test_a_success_takes_back_its_own_attempt_and_no_other():
    blocked = after(*range(10))
    assert forgiven(blocked, at(9), LIMITS) == FailureRecord(tuple(at(n) for n in range(9)))
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


def test_the_delay_is_whole_seconds_and_never_zero():
    assert [retry_after(Millis(delay)) for delay in (1, 999, 1000, 1001)] == [1, 1, 1, 2]


async def refused(accounts: AccountServices, name: str, address: str) -> type[Exception]:
    try:
        await accounts.sign_in.sign_in(name, "wrong", Device(address))
    except (Unauthorized, TooManyRequests) as error:
        return type(error)
    raise AssertionError("let in")


def strangers(count: int, each: int = 1) -> list[str]:
    """So many addresses, each as often."""
    return [f"10.0.{n // 250}.{n % 250}" for n in range(count) for _ in range(each)]


async def attack(accounts: AccountServices, name: str, addresses: Sequence[str]) -> list[type[Exception]]:
    return [await refused(accounts, name, address) for address in addresses]


async def test_ten_wrong_guesses_lock_out_their_own_address_alone(accounts):
    """The owner gets in from anywhere else, as if nothing had happened."""
    user = await accounts.add()
    answers = await attack(accounts, user.username, ["192.0.2.7"] * 12)
    assert answers == [Unauthorized] * 10 + [TooManyRequests] * 2
    assert accounts.passwords.checks == 10
    with pytest.raises(TooManyRequests) as blocked:
        await accounts.enter(user, Device("192.0.2.7"))
    assert blocked.value.retry_after == 300
    await accounts.enter(user, Device("198.51.100.1"))
    accounts.time.pass_(5 * MINUTE)
    await accounts.enter(user, Device("192.0.2.7"))


async def test_an_address_may_guess_thirty_times_at_all_names(accounts):
    answers = [await refused(accounts, f"nobody{n}", "2001:db8::1") for n in range(30)]
    assert answers == [Unauthorized] * 30
    assert await refused(accounts, "somebody", "2001:db8::2") is TooManyRequests
    assert await refused(accounts, "somebody", "2001:db8:0:1::2") is Unauthorized


async def test_the_owner_gets_in_while_nine_addresses_guess(accounts):
    """Fewer strangers than it takes to use up the name: a fresh browser at a fresh address is let in."""
    user = await accounts.add()
    await attack(accounts, user.username, strangers(9, each=12))
    await accounts.enter(user, Device("198.51.100.1"))


async def test_a_known_device_gets_in_whatever_strangers_guess(accounts):
    """From the attacker's own address too, and again after it was signed out."""
    user = await accounts.add()
    first = await accounts.sign_in.sign_in(user.username, PASSWORD, Device("198.51.100.1"))
    answers = await attack(accounts, user.username, strangers(300))
    assert answers == [Unauthorized] * 100 + [TooManyRequests] * 200
    with pytest.raises(TooManyRequests):
        await accounts.enter(user, Device("203.0.113.5"))
    second = await accounts.sign_in.sign_in(
        user.username, PASSWORD, Device(strangers(1)[0], known_key=first.device_key)
    )
    await accounts.sign_in.sign_out(second.key, "198.51.100.1")
    await accounts.enter(user, Device("198.51.100.1", known_key=second.device_key))


async def test_a_known_device_guesses_ten_times_and_locks_itself_out(accounts):
    """Whoever steals the cookie has no more guesses than a stranger, and the owner elsewhere notices nothing."""
    user = await accounts.add()
    known = (await accounts.sign_in.sign_in(user.username, PASSWORD, Device("198.51.100.1"))).device_key
    answers = []
    for n in range(12):
        with pytest.raises((Unauthorized, TooManyRequests)) as failure:
            await accounts.sign_in.sign_in(user.username, "wrong", Device(f"10.0.0.{n}", known_key=known))
        answers.append(failure.type)
    assert answers == [Unauthorized] * 10 + [TooManyRequests] * 2
    await accounts.enter(user, Device("203.0.113.5"))


async def test_a_device_is_known_for_whom_it_signed_in(accounts):
    """Several people share it; to somebody else's name it is a stranger, and so is a key that nobody was given."""
    ours, theirs, others = await accounts.add(), await accounts.add(), await accounts.add()
    first = await accounts.sign_in.sign_in(ours.username, PASSWORD, HERE)
    both = (
        await accounts.sign_in.sign_in(theirs.username, PASSWORD, Device(HERE.address, known_key=first.device_key))
    ).device_key
    for user in (ours, theirs, others):
        await attack(accounts, user.username, strangers(100))
        accounts.time.pass_(MINUTE)
    for user in (ours, theirs):
        both = (
            await accounts.sign_in.sign_in(user.username, PASSWORD, Device("203.0.113.5", known_key=both))
        ).device_key
    for user, key in ((others, both), (ours, first.device_key), (ours, "made up")):
        with pytest.raises(TooManyRequests):
            await accounts.enter(user, Device("203.0.113.5", known_key=key))


async def test_a_changed_password_makes_devices_strangers(accounts):
    user = await accounts.add()
    known = (await accounts.sign_in.sign_in(user.username, PASSWORD, HERE)).device_key
    await accounts.users.reset_password(SYSTEM, user.public_id, PASSWORD)
    await attack(accounts, user.username, strangers(100))
    with pytest.raises(TooManyRequests):
        await accounts.enter(user, Device("203.0.113.5", known_key=known))


async def test_devices_are_forgotten_after_a_year_and_beyond_fifty(accounts):
    user = await accounts.add()
    keys = []
    for _ in range(MOST_DEVICES + 1):
        keys.append((await accounts.sign_in.sign_in(user.username, PASSWORD, HERE)).device_key)
        accounts.time.pass_(1)
    await attack(accounts, user.username, strangers(100))
    with pytest.raises(TooManyRequests):
        await accounts.enter(user, Device("203.0.113.5", known_key=keys[0]))
    await accounts.enter(user, Device("203.0.113.5", known_key=keys[1]))
    accounts.time.pass_(DEVICE_LIFE + MINUTE)
    await attack(accounts, user.username, strangers(100))
    with pytest.raises(TooManyRequests):
        await accounts.enter(user, Device("203.0.113.5", known_key=keys[2]))
    assert await accounts.all.forget_old() >= MOST_DEVICES


async def test_guessing_a_name_does_not_lock_out_its_owner(accounts):
    user = await accounts.add()
    caller = await accounts.caller(user)
    await attack(accounts, user.username, strangers(100))
    for _ in range(3):
        with pytest.raises(Invalid):
            await accounts.current_user.change_own_password(caller, "wrong", "another password")
    await accounts.current_user.change_own_password(caller, PASSWORD, "another password")


async def test_a_session_guesses_at_its_password_ten_times(accounts):
    caller = await accounts.caller(await accounts.add())
    for _ in range(10):
        with pytest.raises(Invalid):
            await accounts.current_user.change_own_password(caller, "wrong", "another password")
    with pytest.raises(TooManyRequests):
        await accounts.current_user.change_own_password(caller, PASSWORD, "another password")


async def test_signing_in_does_not_allow_more_guesses(accounts):
    user = await accounts.add()
    assert await attack(accounts, user.username, ["192.0.2.7"] * 9) == [Unauthorized] * 9
    await accounts.enter(user, Device("192.0.2.7"))
    assert await attack(accounts, user.username, ["192.0.2.7"] * 2) == [Unauthorized, TooManyRequests]


async def test_guesses_at_the_same_time_are_counted_one_by_one(accounts):
    user = await accounts.add()
    answers = await asyncio.gather(*(refused(accounts, user.username, "192.0.2.7") for _ in range(40)))
    assert answers.count(Unauthorized) == 10
    assert accounts.passwords.checks == 10


async def test_the_limit_holds_across_processes(accounts, database_url):
    """Two connections to one database stand for two processes: nothing is remembered in memory."""
    other_db = await open_database(DatabaseOptions(database_url))
    try:
        other = AccountServices(other_db)
        user = await accounts.add()
        for _ in range(5):
            assert await refused(accounts, user.username, "192.0.2.7") is Unauthorized
            assert await refused(other, user.username, "192.0.2.7") is Unauthorized
        assert await refused(other, user.username, "192.0.2.7") is TooManyRequests
        assert await refused(accounts, user.username, "192.0.2.7") is TooManyRequests
        known = (await accounts.sign_in.sign_in(user.username, PASSWORD, Device("198.51.100.1"))).device_key
        await other.enter(user, Device("192.0.2.7", known_key=known))
    finally:
        await other_db.close()


@pytest.mark.parametrize("engine", ["sqlite"])
async def test_ten_thousand_guesses_from_many_addresses_cause_a_hundred_checks(accounts):
    """A hundred at a time, for a quarter of an hour: a hundred in a minute, then none for five."""
    user = await accounts.add()
    checked: list[int] = []
    for batch in range(100):
        before = accounts.passwords.checks
        addresses = (f"10.0.{batch}.{n}" for n in range(100))
        await asyncio.gather(*(refused(accounts, user.username, address) for address in addresses))
        checked += [accounts.time.now] * (accounts.passwords.checks - before)
        accounts.time.pass_(9 * SECOND)
    in_a_minute = [sum(1 for other in checked if one <= other < one + MINUTE) for one in checked]
    assert max(in_a_minute) == 100
    assert len(checked) == 300


async def test_what_is_remembered_is_forgotten_in_time(accounts):
    await refused(accounts, "nobody", "192.0.2.1")
    assert await accounts.limiter.forget_old() == 0
    accounts.time.pass_(MINUTE)
    assert await accounts.limiter.forget_old() == 3


async def test_a_code_is_guessed_no_more_often(accounts):
    await accounts.setup.prepare(password=None)
    wrong = AccountRequest(code="wrong", username="root", password=PASSWORD)
    for _ in range(10):
        with pytest.raises(Unauthorized):
            await accounts.invites.accept(wrong, Device("192.0.2.1"), is_setup=True)
    with pytest.raises(TooManyRequests):
        await accounts.invites.accept(wrong, Device("192.0.2.1"), is_setup=True)
