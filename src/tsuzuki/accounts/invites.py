"""Invitations: a code that makes one account, once, of the role and tenant that the inviter chose."""

import msgspec

from tsuzuki.accounts.audit import AuditEvent, record_tx
from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.credentials import Passwords, hash_of, typed_code
from tsuzuki.accounts.deps import AccountDeps
from tsuzuki.accounts.people import add_person_tx, check_member_limit_tx, found, tenant_tx
from tsuzuki.accounts.policy import INVITE_LIFE, name_problems, password_problems, plain_name
from tsuzuki.accounts.sessions import Device
from tsuzuki.accounts.sign_in import SignedIn, SignIn
from tsuzuki.accounts.sign_in_limits import Limiter
from tsuzuki.accounts.store import NewInvite, NewUser, TakenInvite, add_invite_tx, has_users_tx
from tsuzuki.accounts.types import Invite, Role
from tsuzuki.db import Tx, load_queries
from tsuzuki.db.locks import lock_people_tx
from tsuzuki.model.errors import Conflict, Invalid, Unauthorized
from tsuzuki.model.ids import PublicId, show_id
from tsuzuki.model.times import Millis

q = load_queries("tsuzuki.accounts")


class IssuedInvite(msgspec.Struct, frozen=True):
    """A new invitation; its code is never seen again."""

    public_id: PublicId
    code: str
    role: Role
    expires_at: Millis


class AccountRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What someone sends who was invited, or who sets this server up."""

    code: str
    username: str
    password: str


class Invites:
    """Makes, lists and revokes invitations, and turns one into a person."""

    def __init__(self, deps: AccountDeps, passwords: Passwords, limiter: Limiter, sign_in: SignIn) -> None:
        self._deps = deps
        self._passwords = passwords
        self._limiter = limiter
        self._sign_in = sign_in

    async def make(self, caller: Caller, role: Role, tenant_id: PublicId | None) -> IssuedInvite:
        """An invitation for seven days; without a tenant into the first one."""

        async def make(tx: Tx) -> IssuedInvite:
            now = self._deps.clock()
            tenant = await tenant_tx(tx, tenant_id)
            await check_member_limit_tx(tx, tenant.id, invited_until=now)
            code = typed_code(self._deps.random_bytes)
            made = IssuedInvite(self._deps.new_id(now), code, role, Millis(now + INVITE_LIFE))
            new = NewInvite(
                public_id=made.public_id,
                tenant_id=tenant.id,
                role=role,
                code_hash=hash_of(code),
                invited_by=caller.user_id,
                expires_at=made.expires_at,
            )
            await add_invite_tx(tx, new, now)
            audit_event = AuditEvent(
                "invite.create", "invite", show_id(made.public_id), after={"role": role, "tenant": tenant.name}
            )
            await record_tx(tx, caller.actor, audit_event, now=now)
            return made

        return await self._deps.db.with_tx(make)

    async def list(self) -> list[Invite]:
        """The open ones, oldest first."""
        return await self._deps.db.read(lambda tx: tx.many(Invite, q.list_invites, now=self._deps.clock()))

    async def is_open(self, code: str) -> bool:
        """Whether this code still makes an account. Nobody guesses one: it has 128 random bits."""
        return await self._deps.db.read(
            lambda tx: tx.one(bool, q.has_invite, code_hash=_hash_of(code), is_setup=False, now=self._deps.clock())
        )

    async def revoke(self, caller: Caller, public_id: PublicId) -> None:
        """Revoke it: its code creates no account any more."""

        async def revoke(tx: Tx) -> None:
            found(await tx.run(q.revoke_invite, public_id=public_id) or None, "invitation")
            audit_event = AuditEvent("invite.revoke", "invite", show_id(public_id))
            await record_tx(tx, caller.actor, audit_event, now=self._deps.clock())

        await self._deps.db.with_tx(revoke)

    async def accept(self, accepted: AccountRequest, device: Device, *, is_setup: bool = False) -> SignedIn:
        """Become the invited person, signed in. Codes are guarded like passwords (SEC-37)."""
        name = plain_name(accepted.username)
        problems = name_problems(name) + password_problems(accepted.password)
        if problems:
            raise Invalid(problems[0].message, problems)
        attempt = await self._limiter.begin(device.address, f"code {device.address}")
        password_hash = await self._passwords.hash(accepted.password)

        async def accept(tx: Tx) -> SignedIn:
            await lock_people_tx(tx)
            now = self._deps.clock()
            if is_setup and await has_users_tx(tx):
                raise Conflict("This server is already set up.")
            taken = await tx.maybe(
                TakenInvite, q.take_invite, code_hash=_hash_of(accepted.code), is_setup=is_setup, now=now
            )
            if taken is None:
                raise Unauthorized("This code is wrong, was used or has expired.")
            new = NewUser(
                public_id=self._deps.new_id(now),
                tenant_id=taken.tenant_id,
                username=name,
                role=taken.role,
                password_hash=password_hash,
            )
            user = await add_person_tx(tx, self._deps, new, None)
            reason = "first set-up" if is_setup else "invitation"
            return await self._sign_in.open_session_tx(tx, user, device, reason=reason)

        signed_in = await self._deps.db.with_tx(accept)
        await self._limiter.forgive(attempt)
        return signed_in


def _hash_of(code: str) -> bytes:
    """The hash of a code as people type it."""
    return hash_of(code.strip().lower())
