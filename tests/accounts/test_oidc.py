"""Signing in at a provider: what must be proved, who is let in, and where to."""

import time

import pytest

from tests.accounts.builders import HERE, PASSWORD, AccountServices
from tests.accounts.provider import StrictProvider, shared_secret, strict_provider
from tests.accounts.redirect_targets import EVIL, KEPT
from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.oidc import FLOWS, Oidc, OidcCallback, OidcRefused, OidcSignedIn
from tsuzuki.accounts.oidc_provider import OidcProvider
from tsuzuki.accounts.policy import Identity, ProviderFailed, is_allowed, local_path
from tsuzuki.accounts.sessions import Device
from tsuzuki.accounts.types import SYSTEM
from tsuzuki.db.queries import parse_queries
from tsuzuki.model.errors import TooManyRequests
from tsuzuki.model.times import MINUTE, Millis

q = parse_queries("test", "-- name: count_flows\nselect count(*) as total from oidc_flow;")


def wall_clock() -> Millis:
    return Millis(time.time_ns() // 1_000_000)


class OidcSetup:
    """Accounts with a provider."""

    def __init__(self, accounts: AccountServices, provider: StrictProvider) -> None:
        self.accounts = accounts
        self.provider = provider
        self.client = OidcProvider(provider.options, wall_clock)

    def oidc(self, allowed_user: str | None = None) -> Oidc:
        return Oidc(self.accounts.all.deps, self.accounts.sign_in, self.client, allowed_user=allowed_user)

    async def walk(self, caller: Caller | None = None, *, allowed_user: str | None = None) -> OidcSignedIn:
        """From the first click to the session."""
        oidc = self.oidc(allowed_user)
        begun = await oidc.begin(caller, "/inbox", address=HERE.address)
        state, code = self.provider.authorize(begun.url)
        return await oidc.finish(begun.key, OidcCallback(state, code), caller, device=HERE)

    async def refusal(self, caller: Caller | None = None, *, allowed_user: str | None = None) -> str:
        with pytest.raises(OidcRefused) as refused:
            await self.walk(caller, allowed_user=allowed_user)
        return refused.value.reason


@pytest.fixture
async def deps(accounts):
    async with strict_provider() as provider:
        await accounts.setup.prepare_tenant()
        yield OidcSetup(accounts, provider)


only_sqlite = pytest.mark.parametrize("engine", ["sqlite"])


# -- who is let in


async def test_whom_the_operator_named_always_gets_the_same_account(deps):
    first = await deps.walk(allowed_user="subject-1")
    assert (first.signed_in.user.role, first.next) == ("admin", "/inbox")
    again = await deps.walk(allowed_user="subject-1")
    assert again.signed_in.user.id == first.signed_in.user.id
    assert await deps.accounts.sessions.resume(again.signed_in.key, HERE.address) is not None


async def test_a_first_sign_in_at_the_provider_makes_a_shelf(deps):
    admin = await deps.accounts.add("admin", role="admin")
    added = (await deps.walk(allowed_user="subject-1")).signed_in.user
    mine, theirs = [await deps.accounts.current_user.shelf_of(user) for user in (added, admin)]
    assert (mine.name, mine.role) == (added.username, "owner")
    assert mine.id != theirs.id


async def test_whom_the_operator_named_becomes_a_reader_beside_an_administrator(deps):
    await deps.accounts.add("alice", role="admin")
    deps.provider.claims = {"preferred_username": "Alice", "email": "a@example.org", "email_verified": True}
    user = (await deps.walk(allowed_user="A@example.org")).signed_in.user
    assert (user.username, user.role, user.email) == ("alice2", "reader", "a@example.org")


async def test_an_account_of_the_same_name_is_not_taken_over(deps):
    owner = await deps.accounts.add("alice", email="a@example.org")
    deps.provider.claims = {"preferred_username": "alice", "email": "a@example.org", "email_verified": True}
    assert (await deps.walk(allowed_user="a@example.org")).signed_in.user.id != owner.id


async def test_nobody_comes_in_unlinked_where_the_operator_named_nobody(deps):
    assert await deps.refusal() == "not_linked"


async def test_a_linked_account_can_sign_in_afterwards(deps):
    owner = await deps.accounts.add()
    linked = await deps.walk(await deps.accounts.caller(owner))
    assert linked.signed_in.user.id == owner.id
    assert (await deps.walk()).signed_in.user.id == owner.id


async def test_an_identity_belongs_to_one_account(deps):
    await deps.walk(await deps.accounts.caller(await deps.accounts.add()))
    assert await deps.refusal(await deps.accounts.caller(await deps.accounts.add())) == "taken"


async def test_linking_needs_the_same_person_at_both_ends(deps):
    caller = await deps.accounts.caller(await deps.accounts.add())
    stranger = await deps.accounts.caller(await deps.accounts.add())
    for other in (None, stranger):
        begun = await deps.oidc().begin(caller, "/", address=HERE.address)
        state, code = deps.provider.authorize(begun.url)
        with pytest.raises(OidcRefused, match="expired"):
            await deps.oidc().finish(begun.key, OidcCallback(state, code), other, device=HERE)


async def test_someone_disabled_stays_outside(deps):
    owner = await deps.accounts.add()
    await deps.walk(await deps.accounts.caller(owner))
    await deps.accounts.users.disable(SYSTEM, owner.public_id)
    assert await deps.refusal() == "disabled"


@only_sqlite
async def test_someone_else_than_the_operator_named_stays_outside(deps):
    deps.provider.claims = {"email": "b@example.org", "email_verified": True}
    assert await deps.refusal(allowed_user="a@example.org") == "not_allowed"


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
async def test_the_address_is_requested_where_the_token_lacks_it(deps):
    deps.provider.metadata = {"userinfo_endpoint": f"{deps.provider.base}/user"}
    deps.provider.user = {"sub": "subject-1", "email": "a@example.org", "email_verified": True}
    assert (await deps.walk(allowed_user="a@example.org")).signed_in.user.email == "a@example.org"
    deps.provider.user = {"sub": "another", "email": "a@example.org", "email_verified": True}
    assert await deps.refusal(allowed_user="a@example.org") == "failed"


@only_sqlite
async def test_a_provider_may_take_our_secret_in_the_form(deps):
    deps.provider.metadata = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    assert (await deps.walk(allowed_user="subject-1")).signed_in.user.role == "admin"


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
async def test_an_id_token_that_does_not_hold_lets_nobody_in(deps, claims):
    deps.provider.claims = claims
    assert await deps.refusal(allowed_user="subject-1") == "failed"


@only_sqlite
async def test_a_token_signed_with_the_shared_secret_lets_nobody_in(deps):
    deps.provider.sign_with = shared_secret()
    deps.provider.header = {"alg": "HS256"}
    assert await deps.refusal(allowed_user="subject-1") == "failed"


@only_sqlite
async def test_a_provider_whose_keys_are_none_lets_nobody_in(deps):
    deps.provider.metadata = {"jwks_uri": f"{deps.provider.base}/.well-known/openid-configuration"}
    assert await deps.refusal(allowed_user="subject-1") == "failed"


@only_sqlite
async def test_changed_keys_of_a_provider_are_fetched_again(deps):
    await deps.walk(allowed_user="subject-1")
    deps.provider.change_key()
    await deps.walk(allowed_user="subject-1")
    assert deps.provider.asked.count("/keys") == 2
    assert deps.provider.asked.count("/.well-known/openid-configuration") == 1


@only_sqlite
@pytest.mark.parametrize("metadata", [{"issuer": "https://evil.example"}, {"token_endpoint": None}], ids=str)
async def test_a_provider_that_describes_another_is_not_believed(deps, metadata):
    deps.provider.metadata = metadata
    with pytest.raises(ProviderFailed):
        await deps.oidc().begin(None, "/", address=HERE.address)


@only_sqlite
async def test_a_code_works_once_in_time_and_in_its_browser(deps):
    oidc = deps.oidc("subject-1")
    begun, other = await oidc.begin(None, "/", address=HERE.address), await oidc.begin(None, "/", address=HERE.address)
    state, code = deps.provider.authorize(begun.url)
    for key in (None, "made up", other.key):
        with pytest.raises(OidcRefused, match="expired"):
            await oidc.finish(key, OidcCallback(state, code), None, device=HERE)
    await oidc.finish(begun.key, OidcCallback(state, code), None, device=HERE)
    with pytest.raises(OidcRefused, match="expired"):
        await oidc.finish(begun.key, OidcCallback(state, code), None, device=HERE)
    late = await oidc.begin(None, "/", address=HERE.address)
    deps.accounts.time.pass_(10 * MINUTE)
    with pytest.raises(OidcRefused, match="expired"):
        await oidc.finish(late.key, OidcCallback(*deps.provider.authorize(late.url)), None, device=HERE)


@only_sqlite
async def test_a_stolen_code_does_not_fit_another_verifier(deps):
    oidc = deps.oidc("subject-1")
    mine, theirs = await oidc.begin(None, "/", address=HERE.address), await oidc.begin(None, "/", address=HERE.address)
    state, _ = deps.provider.authorize(mine.url)
    _, stolen = deps.provider.authorize(theirs.url)
    with pytest.raises(OidcRefused, match="failed"):
        await oidc.finish(mine.key, OidcCallback(state, stolen), None, device=HERE)


@only_sqlite
async def test_whoever_declines_at_the_provider_is_told_so(deps):
    oidc = deps.oidc()
    begun = await oidc.begin(None, "/", address=HERE.address)
    state, _ = deps.provider.authorize(begun.url)
    with pytest.raises(OidcRefused, match="denied"):
        await oidc.finish(begun.key, OidcCallback(state, "", "access_denied"), None, device=HERE)


# -- where to


def test_there_are_forty_ways_to_go_astray():
    assert len(EVIL) >= 40


@pytest.mark.parametrize("path", EVIL)
def test_an_address_elsewhere_is_replaced_by_the_front_page(path):
    """SEC-41."""
    assert local_path(path) == "/"


@pytest.mark.parametrize("path", KEPT)
def test_a_path_of_ours_is_kept(path):
    assert local_path(path) == path


# -- how many


@only_sqlite
async def test_sec_37_an_address_begins_a_limited_number_of_flows(deps, db):
    oidc = deps.oidc()
    for _ in range(FLOWS.failures):
        await oidc.begin(None, "/", address="2001:db8::1")
    with pytest.raises(TooManyRequests):
        await oidc.begin(None, "/", address="2001:db8::2")  # of the same customer
    await oidc.begin(None, "/", address=HERE.address)
    await deps.accounts.add("alice")
    await deps.accounts.sign_in.sign_in("alice", PASSWORD, Device("2001:db8::1"))  # a password is another count
    deps.accounts.time.pass_(10 * MINUTE)
    await oidc.begin(None, "/", address="2001:db8::1")
    assert await db.read(lambda tx: tx.one(int, q.count_flows)) == 1
