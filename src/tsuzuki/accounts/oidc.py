"""Signing in at an OpenID Connect provider that the operator chose."""

import secrets
from typing import Literal

import msgspec
import structlog

from tsuzuki.accounts.audit import record_tx
from tsuzuki.accounts.caller import Caller, get_user_tx
from tsuzuki.accounts.credentials import hash_of, session_key
from tsuzuki.accounts.deps import AccountDeps
from tsuzuki.accounts.people import add_person_tx, on_user, tenant_tx
from tsuzuki.accounts.policy import (
    FLOW_LIFE,
    FailureLimits,
    Identity,
    IdentityProvider,
    ProviderFailed,
    is_allowed,
    local_path,
    name_from,
    neighbourhood,
)
from tsuzuki.accounts.sessions import Device
from tsuzuki.accounts.sign_in import SignedIn, SignIn
from tsuzuki.accounts.sign_in_limits import Limiter
from tsuzuki.accounts.store import (
    NewUser,
    find_user_by_identity_tx,
    find_user_by_name_tx,
    has_users_tx,
    set_identity_tx,
)
from tsuzuki.accounts.types import Actor, User
from tsuzuki.db import Tx, load_queries
from tsuzuki.db.locks import lock_people_tx
from tsuzuki.model.errors import TsuzukiError
from tsuzuki.model.ids import UserId
from tsuzuki.model.times import MINUTE, Millis

q = load_queries("tsuzuki.accounts.oidc")


class OidcFlow(msgspec.Struct, frozen=True):
    """A sign-in that has gone to the provider and has not come back."""

    state: str
    nonce: str
    verifier: str
    next: str
    user_id: UserId | None


async def delete_old_flows_tx(tx: Tx, now: Millis) -> int:
    """Delete sign-ins that nobody finished in time; how many."""
    return await tx.run(q.delete_old_flows, now=now)


Reason = Literal["off", "denied", "expired", "failed", "not_allowed", "not_linked", "taken", "disabled"]

FLOWS = FailureLimits(failures=60, window=FLOW_LIFE, block=MINUTE)
"""How many flows of one address are open at most: anybody can begin one, and each is a row until it expires."""

_log = structlog.stdlib.get_logger("tsuzuki.oidc")


class OidcRefused(TsuzukiError):
    """Nobody is signed in; the sign-in page says why."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason = reason


class OidcRedirect(msgspec.Struct, frozen=True):
    """The provider's address for the browser, and the key that binds the answer to it."""

    url: str
    key: str


class OidcCallback(msgspec.Struct, frozen=True):
    """What the provider sent the browser back with."""

    state: str = ""
    code: str = ""
    error: str = ""


class OidcSignedIn(msgspec.Struct, frozen=True):
    """Who is signed in, and where they wanted to go."""

    signed_in: SignedIn
    next: str


class Oidc:
    """Signs people in by a provider. An account is linked to an identity only by its owner, who is signed in."""

    def __init__(
        self, deps: AccountDeps, sign_in: SignIn, provider: IdentityProvider, *, allowed_user: str | None
    ) -> None:
        self._deps = deps
        self._sign_in = sign_in
        self._provider = provider
        self._allowed_user = allowed_user
        self._limiter = Limiter(deps.db, deps.clock, FLOWS)

    async def begin(self, caller: Caller | None, path: str, *, address: str) -> OidcRedirect:
        """Start a sign-in, or, for someone signed in, the linking of their account.

        TooManyRequests for an address that has begun too many of late.
        """
        deps = f"provider {neighbourhood(address)}"  # a count of its own: no failed password adds to it, nor it to them
        await self._limiter.begin_alone(deps)
        owner = caller.user_id if caller is not None and caller.by == "session" else None
        state, nonce, verifier, key = (session_key(self._deps.random_bytes) for _ in range(4))
        flow = OidcFlow(state, nonce, verifier, local_path(path), owner)
        url = await self._provider.authorization_url(state=state, nonce=nonce, verifier=verifier)

        async def add(tx: Tx) -> None:
            now = self._deps.clock()
            await delete_old_flows_tx(tx, now)
            await tx.run(
                q.add_flow, key_hash=hash_of(key), expires_at=Millis(now + FLOW_LIFE), **msgspec.structs.asdict(flow)
            )

        await self._deps.db.with_tx(add)
        return OidcRedirect(url, key)

    async def finish(
        self, key: str | None, returned: OidcCallback, caller: Caller | None, *, device: Device
    ) -> OidcSignedIn:
        """A session for whom the provider vouches; OidcRefused with a reason for everyone else."""
        flow = await self._take(key, returned.state)
        if returned.error or not returned.code:
            raise OidcRefused("denied")
        if flow.user_id is not None and (caller is None or caller.user_id != flow.user_id):
            raise OidcRefused("expired")
        try:
            identity = await self._provider.identify(returned.code, nonce=flow.nonce, verifier=flow.verifier)
        except ProviderFailed as error:
            _log.warning("provider_failed", why=str(error))
            raise OidcRefused("failed") from error
        if not is_allowed(identity, self._allowed_user):
            _log.warning("identity_not_allowed", subject=identity.subject)
            raise OidcRefused("not_allowed")
        signed_in = await self._deps.db.with_tx(lambda tx: self._admit_tx(tx, identity, flow, device=device))
        return OidcSignedIn(signed_in, flow.next)

    async def _take(self, key: str | None, state: str) -> OidcFlow:
        """The flow that this browser began; it can be used once, whatever comes of it."""
        if key is None:
            raise OidcRefused("expired")
        flow = await self._deps.db.with_tx(
            lambda tx: tx.maybe(OidcFlow, q.take_flow, key_hash=hash_of(key), now=self._deps.clock())
        )
        if flow is None or not secrets.compare_digest(flow.state.encode(), state.encode("utf-8", "replace")):
            raise OidcRefused("expired")
        return flow

    async def _admit_tx(self, tx: Tx, identity: Identity, flow: OidcFlow, *, device: Device) -> SignedIn:
        await lock_people_tx(tx)
        known = await find_user_by_identity_tx(tx, identity.issuer, identity.subject)
        if flow.user_id is not None:
            user = await self._link_tx(tx, identity, known, owner=await get_user_tx(tx, flow.user_id))
        else:
            user = known or await self._add_tx(tx, identity)
        if user.disabled_at is not None:
            raise OidcRefused("disabled")
        return await self._sign_in.open_session_tx(tx, user, device, reason="identity provider")

    async def _link_tx(self, tx: Tx, identity: Identity, known: User | None, *, owner: User) -> User:
        if known is not None and known.id != owner.id:
            raise OidcRefused("taken")
        if known is None:
            now = self._deps.clock()
            await set_identity_tx(tx, owner.id, issuer=identity.issuer, subject=identity.subject, now=now)
            audit_event = on_user("user.link", owner, after={"issuer": identity.issuer, "subject": identity.subject})
            await record_tx(tx, Actor(owner.public_id, owner.username), audit_event, now=now)
        return owner

    async def _add_tx(self, tx: Tx, identity: Identity) -> User:
        """Whom the operator named gets an account: the administrator's on a fresh install, else a reader's."""
        if self._allowed_user is None:
            raise OidcRefused("not_linked")
        now = self._deps.clock()
        new = NewUser(
            public_id=self._deps.new_id(now),
            tenant_id=(await tenant_tx(tx, None)).id,
            username=await self._free_name_tx(tx, name_from(identity.names)),
            role="reader" if await has_users_tx(tx) else "admin",
            email=identity.email if identity.is_verified else None,
            oidc_issuer=identity.issuer,
            oidc_subject=identity.subject,
        )
        return await add_person_tx(tx, self._deps, new, None)

    async def _free_name_tx(self, tx: Tx, name: str) -> str:
        """The name, with a number where somebody has it already: an equal name is not an equal person."""
        number = 1
        free = name
        while await find_user_by_name_tx(tx, free) is not None:
            number += 1
            free = f"{name}{number}"
        return free
