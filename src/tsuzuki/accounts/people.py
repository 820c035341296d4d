"""Transactions about people and tenants that several services share."""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from tsuzuki.accounts.activity import is_billed_tx, lock_account_tx
from tsuzuki.accounts.audit import AuditEvent, record_tx
from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.deps import AccountDeps
from tsuzuki.accounts.shelves import add_own_shelf_tx
from tsuzuki.accounts.sign_in_limits import forget_devices_tx
from tsuzuki.accounts.store import (
    NewUser,
    end_sessions_tx,
    find_user_by_name_tx,
    first_tenant_tx,
    revoke_tokens_tx,
    set_password_hash_tx,
)
from tsuzuki.accounts.types import Actor, Tenant, User
from tsuzuki.db import Tx, load_queries
from tsuzuki.db.locks import lock_people_tx
from tsuzuki.model.errors import Conflict, NotFound
from tsuzuki.model.ids import PublicId, TenantId, show_id
from tsuzuki.model.plans import FREE, Plan, exceeded, get_plan, is_over
from tsuzuki.model.times import Millis

q = load_queries("tsuzuki.accounts")

NEVER = Millis(2**62)


async def check_member_limit_tx(tx: Tx, tenant_id: TenantId, *, invited_until: Millis = NEVER) -> None:
    """Room for one more until this transaction ends; LimitExceeded names the plan that lifts the limit.

    With `invited_until` the invitations that are good beyond it count as members too. Free while billing is off.
    """
    if not await is_billed_tx(tx):
        return
    await lock_account_tx(tx, tenant_id)
    plan = largest([get_plan(name) for name in await tenant_plans_tx(tx, tenant_id)])
    if plan.limits.members is None:
        return
    used = await count_members_tx(tx, tenant_id, invited_until=invited_until)
    if is_over(plan, "members", used + 1):
        raise exceeded(plan, "members", used=used)


def largest(plans: list[Plan]) -> Plan:
    """The plan with room for the most members; of a tenant whose shelves all sleep, the free one."""
    return max(plans, default=FREE, key=lambda plan: NEVER if plan.limits.members is None else plan.limits.members)


T = TypeVar("T")


def found(value: T | None, what: str) -> T:
    """The value, or NotFound."""
    if value is None:
        raise NotFound(f"There is no such {what}.")
    return value


async def user_tx(tx: Tx, public_id: PublicId) -> User:
    """The person of this public id, or NotFound."""
    return found(await tx.maybe(User, q.find_user, public_id=public_id), "user")


async def tenant_tx(tx: Tx, public_id: PublicId | None) -> Tenant:
    """The tenant of this public id, or NotFound; None means the first tenant."""
    return found(await (first_tenant_tx(tx) if public_id is None else find_tenant_tx(tx, public_id)), "tenant")


async def add_person_tx(tx: Tx, deps: AccountDeps, new: NewUser, actor: Actor | None) -> User:
    """Store and record a new person with a shelf of their own (R91): every account comes to be here.

    Conflict when the name is taken, LimitExceeded when the plan has no room. Without an actor they added themselves.
    Whenever an administrator comes into being, the first set-up is over.
    """
    await lock_people_tx(tx)  # of two who come at once, one has the tenant's first shelf
    now = deps.clock()
    if await find_user_by_name_tx(tx, new.username) is not None:
        raise Conflict(f"The name {new.username} is taken.")
    await check_member_limit_tx(tx, new.tenant_id)
    user = await tx.one(User, q.add_user, now=now, **msgspec.structs.asdict(new))
    if user.role == "admin":
        await tx.run(q.delete_setup_codes)
    by = actor or Actor(user.public_id, user.username)
    await record_tx(tx, by, on_user("user.create", user, after=shown_user(user)), now=now)
    shelf = await add_own_shelf_tx(tx, deps, user, by)
    return msgspec.structs.replace(user, default_shelf_id=shelf.id)


class KeptCredentials(msgspec.Struct, frozen=True):
    """What survives a change of password: the key that changed it, what that session made, and tokens if wanted."""

    caller: Caller | None = None
    tokens: bool = False


NOTHING = KeptCredentials()


async def set_password_tx(
    tx: Tx, actor: Actor, user: User, *, password_hash: str, now: Millis, spared: KeptCredentials = NOTHING
) -> None:
    """Set the password, and end the sessions (SEC-34), tokens and known devices from before."""
    await set_password_hash_tx(tx, user.id, password_hash, now=now)
    caller = spared.caller
    ended = await end_sessions_tx(tx, user.id, but=caller.session_id if caller else None)
    await forget_devices_tx(tx, user.id)
    revoked = 0
    if not spared.tokens:
        made_in = caller.key_public_id if caller and caller.session_id else None
        tokens = await revoke_tokens_tx(
            tx, user.id, but=caller.token_id if caller else None, but_made_in=made_in, now=now
        )
        revoked = len(tokens)
    after = {"ended": ended, "revoked": revoked}
    await record_tx(tx, actor, on_user("user.password", user, after=after), now=now)


def shown_user(user: User) -> dict[str, Any]:
    """A person as the log shows them."""
    return {"username": user.username, "role": user.role, "email": user.email}


def on_user(
    action: str,
    user: User,
    *,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
    reason: str | None = None,
) -> AuditEvent:
    """The audit event for something done to a person."""
    return AuditEvent(action, "user", show_id(user.public_id), before=before, after=after, reason=reason)


async def find_tenant_tx(tx: Tx, public_id: PublicId) -> Tenant | None:
    """The tenant of this public id, or None."""
    return await tx.maybe(Tenant, q.find_tenant, public_id=public_id)


async def get_tenant_tx(tx: Tx, tenant_id: TenantId) -> Tenant:
    """The tenant of this id, or NotFound."""
    return await tx.one(Tenant, q.get_tenant, id=tenant_id)


async def tenant_plans_tx(tx: Tx, tenant_id: TenantId) -> list[str]:
    """The plans of its shelves that are awake; none while billing is off."""
    return await tx.many(str, q.tenant_plans, tenant_id=tenant_id)


async def count_members_tx(tx: Tx, tenant_id: TenantId, *, invited_until: Millis) -> int:
    """Its people, and the invitations that are good beyond this moment."""
    return await tx.one(int, q.count_members, tenant_id=tenant_id, invited_until=invited_until)
