"""The first start: one tenant, one shelf, and a code or password for the first administrator."""

from typing import Literal

import msgspec

from tsuzuki.accounts.credentials import Passwords, hash_of, typed_code
from tsuzuki.accounts.deps import AccountDeps
from tsuzuki.accounts.people import add_person_tx
from tsuzuki.accounts.policy import FIRST_ADMIN, SETUP_LIFE
from tsuzuki.accounts.store import NewInvite, NewUser, add_invite_tx, first_tenant_tx, has_users_tx
from tsuzuki.accounts.tenants import Tenants
from tsuzuki.accounts.types import SYSTEM, Tenant
from tsuzuki.db import Tx
from tsuzuki.db.locks import lock_people_tx
from tsuzuki.model.plans import SELF_HOSTED
from tsuzuki.model.times import Millis

FIRST_TENANT = "Home"


class SetupState(msgspec.Struct, frozen=True):
    """What the start found or did. `code` is for the log alone: it makes whoever types it the administrator."""

    way: Literal["known", "password", "open", "code"]
    code: str | None = None


class Setup:
    """Runs at every start; several processes may do so at once."""

    def __init__(self, deps: AccountDeps, passwords: Passwords) -> None:
        self._deps = deps
        self._passwords = passwords

    async def is_needed(self) -> bool:
        """Whether nobody can sign in yet."""
        return not await self._deps.db.read(has_users_tx)

    async def prepare(self, *, password: str | None, is_open: bool = False) -> SetupState:
        """See that there is a tenant, and an administrator or a code to become one.

        `password` makes the first administrator, `is_open` makes one without a password (R76).
        """
        password_hash = None
        if password is not None and await self.is_needed():
            password_hash = await self._passwords.hash(password)
        return await self._deps.db.with_tx(
            lambda tx: self._prepare_tx(tx, password_hash=password_hash, is_open=is_open)
        )

    async def prepare_tenant(self) -> Tenant:
        """See that there is a tenant: for commands that add people before the first start."""

        async def prepare(tx: Tx) -> Tenant:
            await lock_people_tx(tx)
            return await self._tenant_tx(tx)

        return await self._deps.db.with_tx(prepare)

    async def _prepare_tx(self, tx: Tx, *, password_hash: str | None, is_open: bool) -> SetupState:
        await lock_people_tx(tx)
        tenant = await self._tenant_tx(tx)
        if await has_users_tx(tx):
            return SetupState("known")
        now = self._deps.clock()
        if password_hash is not None or is_open:
            admin = NewUser(
                public_id=self._deps.new_id(now),
                tenant_id=tenant.id,
                username=FIRST_ADMIN,
                role="admin",
                password_hash=password_hash,
            )
            await add_person_tx(tx, self._deps, admin, SYSTEM)
            return SetupState("open" if password_hash is None else "password")
        code = typed_code(self._deps.random_bytes)
        invite = NewInvite(
            public_id=self._deps.new_id(now),
            tenant_id=tenant.id,
            role="admin",
            code_hash=hash_of(code),
            invited_by=None,
            expires_at=Millis(now + SETUP_LIFE),
        )
        await add_invite_tx(tx, invite, now)
        return SetupState("code", code)

    async def _tenant_tx(self, tx: Tx) -> Tenant:
        known = await first_tenant_tx(tx)
        if known is not None:
            return known
        return (await Tenants(self._deps).add_tx(tx, SYSTEM, FIRST_TENANT, SELF_HOSTED.id)).tenant
