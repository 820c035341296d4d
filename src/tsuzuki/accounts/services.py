"""Every service of accounts, built once for a process."""

import msgspec

from tsuzuki.accounts.audit import AuditLog
from tsuzuki.accounts.credentials import Passwords
from tsuzuki.accounts.current_user import CurrentUser
from tsuzuki.accounts.deps import AccountDeps
from tsuzuki.accounts.devices import Devices
from tsuzuki.accounts.invites import Invites
from tsuzuki.accounts.oidc import delete_old_flows_tx
from tsuzuki.accounts.policy import DEVICE_LIFE, FailureLimits
from tsuzuki.accounts.preferences import PreferenceService
from tsuzuki.accounts.sessions import Sessions
from tsuzuki.accounts.setup import Setup
from tsuzuki.accounts.sharing import Sharing
from tsuzuki.accounts.sign_in import SignIn
from tsuzuki.accounts.sign_in_limits import Limiter, delete_old_devices_tx
from tsuzuki.accounts.tenants import Tenants
from tsuzuki.accounts.tokens import Tokens
from tsuzuki.accounts.users import Users
from tsuzuki.db import Tx, load_queries
from tsuzuki.model.times import Millis

q = load_queries("tsuzuki.accounts")


class Accounts(msgspec.Struct, frozen=True):
    """The services, by name; the passwords' threads are shared by all of them."""

    deps: AccountDeps
    limiter: Limiter
    sessions: Sessions
    tokens: Tokens
    devices: Devices
    sign_in: SignIn
    current_user: CurrentUser
    sharing: Sharing
    users: Users
    tenants: Tenants
    invites: Invites
    setup: Setup
    audit_log: AuditLog
    preferences: PreferenceService

    async def forget_old(self) -> int:
        """Delete what has expired: sessions, invitations, attempts, sign-ins elsewhere; how many rows that were."""
        now = self.deps.clock()

        async def forget(tx: Tx) -> int:
            devices = await delete_old_devices_tx(tx, Millis(now - DEVICE_LIFE))
            return (
                devices
                + (await tx.run(q.delete_old_sessions, now=now) + await tx.run(q.delete_old_invites, now=now))
                + await delete_old_flows_tx(tx, now)
            )

        return await self.deps.db.with_tx(forget) + await self.limiter.forget_old()


def build_accounts(
    deps: AccountDeps, limits: FailureLimits, *, is_open: bool = False, passwords: Passwords | None = None
) -> Accounts:
    """The services over these dependencies; `is_open` is R76."""
    checker = passwords or Passwords()
    limiter = Limiter(deps.db, deps.clock, limits)
    sign_in = SignIn(deps, checker, limiter, is_open=is_open)
    current_user = CurrentUser(deps, checker, limiter)
    return Accounts(
        deps=deps,
        limiter=limiter,
        sessions=Sessions(deps),
        tokens=Tokens(deps),
        devices=Devices(deps, Limiter(deps.db, deps.clock, limits, scope="apps "), current_user),
        sign_in=sign_in,
        current_user=current_user,
        sharing=Sharing(deps),
        users=Users(deps, checker),
        tenants=Tenants(deps),
        invites=Invites(deps, checker, limiter, sign_in),
        setup=Setup(deps, checker),
        audit_log=AuditLog(deps.db),
        preferences=PreferenceService(deps),
    )
