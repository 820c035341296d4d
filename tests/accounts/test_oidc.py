"""Signing in at a provider: what must be proved, who is let in, and where to."""

import time

import pytest

from tests.accounts.builders import HERE, PASSWORD, House
from tests.accounts.provider import StrictProvider, shared_secret, strict_provider
from tests.accounts.wishes import EVIL, KEPT
from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.nouns import SYSTEM
from tsuzuki.accounts.oidc.policy import Identity, ProviderFailed, is_allowed, local_path
from tsuzuki.accounts.oidc.provider import Provider
from tsuzuki.accounts.oidc.service import FLOWS, Finished, Oidc, Refused, Returned
from tsuzuki.accounts.sessions import Device
from tsuzuki.db.queries import parse_queries
from tsuzuki.model.errors import TooManyRequests
from tsuzuki.model.times import MINUTE, Millis

q = parse_queries("test", "-- name: count_flows\nselect count(*) as total from oidc_flow;")


def wall_clock() -> Millis:
    return Millis(time.time_ns() // 1_000_000)


class Door:
    """The house with a provider beside it."""

    def __init__(self, house: House, provider: StrictProvider) -> None:
        self.house = house
        self.provider = provider
        self.client = Provider(provider.options, wall_clock)

    def oidc(self, allowed_user: str | None = None) -> Oidc:
        return Oidc(self.house.all.ground, self.house.sign_in, self.client, allowed_user=allowed_user)

    async def walk(self, caller: Caller | None = None, *, allowed_user: str | None = None) -> Finished:
        """From the first click to the session."""
        oidc = self.oidc(allowed_user)
        begun = await oidc.begin(caller, "/inbox", address=HERE.address)
        state, code = self.provider.authorize(begun.url)
        return await oidc.finish(begun.key, Returned(state, code), caller, device=HERE)

    async def refusal(self, caller: Caller | None = None, *, allowed_user: str | None = None) -> str:
        with pytest.raises(Refused) as refused:
            await self.walk(caller, allowed_user=allowed_user)
        return refused.value.reason


@pytest.fixture
async def door(house):
    async with strict_provider() as provider:
        await house.setup.prepare_tenant()
        yield Door(house, provider)


only_sqlite = pytest.mark.parametrize("engine", ["sqlite"])


# -- who is let in


async def test_whom_the_operator_named_gets_an_account_and_the_same_one_again(door):
    first = await door.walk(allowed_user="subject-1")
    assert (first.signed_in.user.role, first.next) == ("admin", "/inbox")
    again = await door.walk(allowed_user="subject-1")
    assert again.signed_in.user.id == first.signed_in.user.id
    assert await door.house.sessions.resume(again.signed_in.key, HERE.address) is not None


async def test_a_first_sign_in_at_the_provider_makes_a_shelf(door):
    admin = await door.house.add("admin", role="admin")
    added = (await door.walk(allowed_user="subject-1")).signed_in.user
    mine, theirs = [await door.house.oneself.shelf_of(user) for user in (added, admin)]
    assert (mine.name, mine.role) == (added.username, "owner")
    assert mine.id != theirs.id


async def test_whom_the_operator_named_is_a_reader_where_there_is_an_administrator(door):
    await door.house.add("alice", role="admin")
    door.provider.claims = {"preferred_username": "Alice", "email": "a@example.org", "email_verified": True}
    user = (await door.walk(allowed_user="A@example.org")).signed_in.user
    assert (user.username, user.role, user.email) == ("alice2", "reader", "a@example.org")


async def test_an_account_of_the_same_name_or_address_is_not_taken_over(door):
    owner = await door.house.add("alice", email="a@example.org")
    door.provider.claims = {"preferred_username": "alice", "email": "a@example.org", "email_verified": True}
    assert (await door.walk(allowed_user="a@example.org")).signed_in.user.id != owner.id


async def test_nobody_comes_in_unlinked_where_the_operator_named_nobody(door):
    assert await door.refusal() == "not_linked"


async def test_someone_signed_in_links_their_account_and_comes_in_by_it_afterwards(door):
    owner = await door.house.add()
    linked = await door.walk(await door.house.caller(owner))
    assert linked.signed_in.user.id == owner.id
    assert (await door.walk()).signed_in.user.id == owner.id


async def test_an_identity_belongs_to_one_account(door):
    await door.walk(await door.house.caller(await door.house.add()))
    assert await door.refusal(await door.house.caller(await door.house.add())) == "taken"


async def test_linking_needs_the_same_person_at_both_ends(door):
    caller = await door.house.caller(await door.house.add())
    stranger = await door.house.caller(await door.house.add())
    for other in (None, stranger):
        begun = await door.oidc().begin(caller, "/", address=HERE.address)
        state, code = door.provider.authorize(begun.url)
        with pytest.raises(Refused, match="expired"):
            await door.oidc().finish(begun.key, Returned(state, code), other, device=HERE)


async def test_someone_disabled_stays_outside(door):
    owner = await door.house.add()
    await door.walk(await door.house.caller(owner))
    await door.house.users.disable(SYSTEM, owner.public_id)
    assert await door.refusal() == "disabled"


@only_sqlite
async def test_someone_else_than_the_operator_named_stays_outside(door):
    door.provider.claims = {"email": "b@example.org", "email_verified": True}
    assert await door.refusal(allowed_user="a@example.org") == "not_allowed"


@pytest.mark.parametrize(
    ("allowed", "over", "expected"),
    [
        (None, {}, True),
        ("s", {}, True),
        ("S", {}, False),
        ("a@example.org", {"email": "A@Example.org", "is_verified": True}, True),
        ("a@example.org", {"email": "a@example.org"}, False),
        ("a@example.org", {"email": None, "is_verified": True}, False),
    ],
)
def test_the_allowed_user_is_a_subject_or_a_verified_address(allowed, over, expected):
    identity = Identity(issuer="i", subject="s", **over)
    assert is_allowed(identity, allowed) == expected


@only_sqlite
async def test_a_provider_that_tells_the_address_only_when_asked_is_asked(door):
    door.provider.metadata = {"userinfo_endpoint": f"{door.provider.base}/user"}
    door.provider.user = {"sub": "subject-1", "email": "a@example.org", "email_verified": True}
    assert (await door.walk(allowed_user="a@example.org")).signed_in.user.email == "a@example.org"
    door.provider.user = {"sub": "another", "email": "a@example.org", "email_verified": True}
    assert await door.refusal(allowed_user="a@example.org") == "failed"


@only_sqlite
async def test_a_provider_that_takes_our_secret_in_the_form_gets_it_there(door):
    door.provider.metadata = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    assert (await door.walk(allowed_user="subject-1")).signed_in.user.role == "admin"


# -- what must be proved


@only_sqlite
@pytest.mark.parametrize(
    "claims",
    [
        {"nonce": "another"},
        {"nonce": None},
        {"aud": "another client"},
        {"aud": None},
        {"aud": "another client", "azp": "tsuzuki"},
        {"iss": "https://evil.example"},
        {"exp": 1},
        {"exp": None},
        {"iat": 99_999_999_999},
        {"sub": None},
        {"azp": "another client"},
        {"aud": ["tsuzuki", "another client"]},
    ],
    ids=str,
)
async def test_an_id_token_that_does_not_hold_lets_nobody_in(door, claims):
    door.provider.claims = claims
    assert await door.refusal(allowed_user="subject-1") == "failed"


@only_sqlite
async def test_a_token_signed_with_the_shared_secret_lets_nobody_in(door):
    door.provider.sign_with = shared_secret()
    door.provider.header = {"alg": "HS256"}
    assert await door.refusal(allowed_user="subject-1") == "failed"


@only_sqlite
async def test_a_provider_whose_keys_are_none_lets_nobody_in(door):
    door.provider.metadata = {"jwks_uri": f"{door.provider.base}/.well-known/openid-configuration"}
    assert await door.refusal(allowed_user="subject-1") == "failed"


@only_sqlite
async def test_a_provider_that_changes_its_keys_is_asked_for_them_again(door):
    await door.walk(allowed_user="subject-1")
    door.provider.change_key()
    await door.walk(allowed_user="subject-1")
    assert door.provider.asked.count("/keys") == 2
    assert door.provider.asked.count("/.well-known/openid-configuration") == 1


@only_sqlite
@pytest.mark.parametrize("metadata", [{"issuer": "https://evil.example"}, {"token_endpoint": None}], ids=str)
async def test_a_provider_that_describes_another_is_not_believed(door, metadata):
    door.provider.metadata = metadata
    with pytest.raises(ProviderFailed):
        await door.oidc().begin(None, "/", address=HERE.address)


@only_sqlite
async def test_a_code_is_worth_nothing_to_another_browser_a_second_time_or_too_late(door):
    oidc = door.oidc("subject-1")
    begun, other = await oidc.begin(None, "/", address=HERE.address), await oidc.begin(None, "/", address=HERE.address)
    state, code = door.provider.authorize(begun.url)
    for key in (None, "made up", other.key):
        with pytest.raises(Refused, match="expired"):
            await oidc.finish(key, Returned(state, code), None, device=HERE)
    await oidc.finish(begun.key, Returned(state, code), None, device=HERE)
    with pytest.raises(Refused, match="expired"):
        await oidc.finish(begun.key, Returned(state, code), None, device=HERE)
    late = await oidc.begin(None, "/", address=HERE.address)
    door.house.time.pass_(10 * MINUTE)
    with pytest.raises(Refused, match="expired"):
        await oidc.finish(late.key, Returned(*door.provider.authorize(late.url)), None, device=HERE)


@only_sqlite
async def test_a_stolen_code_does_not_fit_another_verifier(door):
    oidc = door.oidc("subject-1")
    mine, theirs = await oidc.begin(None, "/", address=HERE.address), await oidc.begin(None, "/", address=HERE.address)
    state, _ = door.provider.authorize(mine.url)
    _, stolen = door.provider.authorize(theirs.url)
    with pytest.raises(Refused, match="failed"):
        await oidc.finish(mine.key, Returned(state, stolen), None, device=HERE)


@only_sqlite
async def test_a_person_who_says_no_at_the_provider_is_told_so(door):
    oidc = door.oidc()
    begun = await oidc.begin(None, "/", address=HERE.address)
    state, _ = door.provider.authorize(begun.url)
    with pytest.raises(Refused, match="denied"):
        await oidc.finish(begun.key, Returned(state, "", "access_denied"), None, device=HERE)


# -- where to


def test_there_are_forty_ways_to_go_astray():
    assert len(EVIL) >= 40


@pytest.mark.parametrize("path", EVIL)
def test_a_wish_that_could_lead_elsewhere_leads_to_the_front_page(path):
    """SEC-41."""
    assert local_path(path) == "/"


@pytest.mark.parametrize("path", KEPT)
def test_a_path_of_ours_is_kept(path):
    assert local_path(path) == path


# -- how many


@only_sqlite
async def test_sec_37_an_address_begins_only_so_many_flows_and_old_ones_do_not_pile_up(door, db):
    oidc = door.oidc()
    for _ in range(FLOWS.failures):
        await oidc.begin(None, "/", address="2001:db8::1")
    with pytest.raises(TooManyRequests):
        await oidc.begin(None, "/", address="2001:db8::2")  # of the same customer
    await oidc.begin(None, "/", address=HERE.address)
    await door.house.add("alice")
    await door.house.sign_in.sign_in("alice", PASSWORD, Device("2001:db8::1"))  # a password is another count
    door.house.time.pass_(10 * MINUTE)
    await oidc.begin(None, "/", address="2001:db8::1")
    assert await db.read(lambda tx: tx.one(int, q.count_flows)) == 1
