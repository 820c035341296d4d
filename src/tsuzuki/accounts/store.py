"""Queries on tenants, people, invitations, sessions and tokens."""

import msgspec

from tsuzuki.accounts.credentials import hash_of
from tsuzuki.accounts.types import (
    Credential,
    KeyHolder,
    ListedUser,
    Role,
    SessionId,
    Slice,
    Tenant,
    TenantContents,
    Token,
    TokenId,
    User,
    UserContents,
)
from tsuzuki.db import Tx, load_queries
from tsuzuki.db.fulltext import like
from tsuzuki.db.locks import USER, check_order
from tsuzuki.model.ids import PublicId, ShelfId, TenantId, UserId
from tsuzuki.model.times import Millis

q = load_queries("tsuzuki.accounts")


# -- tenants


async def first_tenant_tx(tx: Tx) -> Tenant | None:
    """The tenant that a fresh install begins with."""
    return await tx.maybe(Tenant, q.first_tenant)


async def list_tenants_tx(tx: Tx, part: Slice, text: str | None = None) -> tuple[list[Tenant], int]:
    """Oldest first, and how many there are in all; with a text, those that have it in their name."""
    pattern = like(text) if text else None
    rows = await tx.many(Tenant, q.list_tenants, pattern=pattern, most=part.most, skip=part.skip)
    return rows, await tx.one(int, q.count_tenants, pattern=pattern)


async def count_tenant_contents_tx(tx: Tx, tenant_id: TenantId) -> TenantContents:
    """How much is deleted with a tenant."""
    return await tx.one(TenantContents, q.count_tenant_contents, id=tenant_id)


async def delete_tenant_tx(tx: Tx, tenant_id: TenantId) -> None:
    """The tenant with all that is its own; what was fetched for it stays."""
    await tx.run(q.delete_subscriptions_of_tenant, tenant_id=tenant_id)
    await tx.run(q.delete_follows_of_tenant, tenant_id=tenant_id)
    await tx.run(q.delete_activities_of_tenant, tenant_id=tenant_id)
    await tx.run(q.delete_tenant, id=tenant_id)


# -- people


class NewUser(msgspec.Struct, frozen=True, kw_only=True):
    """A person who is about to exist."""

    public_id: PublicId
    tenant_id: TenantId
    username: str
    role: Role
    default_shelf_id: ShelfId | None = None
    password_hash: str | None = None
    email: str | None = None
    oidc_issuer: str | None = None
    oidc_subject: str | None = None


async def has_users_tx(tx: Tx) -> bool:
    """Whether anyone was ever set up."""
    return await tx.one(bool, q.has_users)


async def lock_user_tx(tx: Tx, user_id: UserId) -> User:
    """The person, locked: nobody else makes or revokes their keys until the transaction ends."""
    check_order(tx, USER, user_id)
    return await tx.one(User, q.lock_user, id=user_id)


async def find_user_by_name_tx(tx: Tx, username: str) -> User | None:
    """The user with this normalised name; None if there is none."""
    return await tx.maybe(User, q.find_user_by_name, username=username)


async def find_user_by_identity_tx(tx: Tx, issuer: str, subject: str) -> User | None:
    """Whoever is linked to this identity at this provider."""
    return await tx.maybe(User, q.find_user_by_identity, issuer=issuer, subject=subject)


async def get_credential_tx(tx: Tx, user_id: UserId) -> Credential:
    """What this person's password is checked against."""
    return await tx.one(Credential, q.get_credential, user_id=user_id)


async def list_users_tx(tx: Tx, part: Slice) -> tuple[list[ListedUser], int]:
    """Everyone, oldest first, and how many there are in all."""
    rows = await tx.many(ListedUser, q.list_users, most=part.most, skip=part.skip)
    return rows, await tx.one(int, q.count_users)


async def change_user_tx(tx: Tx, user: User, now: Millis) -> User:
    """Store the role, address and shelf that `user` says."""
    return await tx.one(User, q.change_user, **q.change_user.values_of(user, now=now))


async def set_disabled_tx(tx: Tx, user_id: UserId, disabled_at: Millis | None, *, now: Millis) -> User:
    """Disable the person: no sign-in, session or token works. None enables them again."""
    return await tx.one(User, q.set_disabled, id=user_id, disabled_at=disabled_at, now=now)


async def set_password_hash_tx(tx: Tx, user_id: UserId, password_hash: str, *, now: Millis) -> None:
    """Replace the password's hash."""
    await tx.run(q.set_password_hash, id=user_id, password_hash=password_hash, now=now)


async def set_identity_tx(tx: Tx, user_id: UserId, *, issuer: str | None, subject: str | None, now: Millis) -> None:
    """Link an identity, or with None unlink it; UniqueViolation when it is someone else's."""
    await tx.run(q.set_identity, id=user_id, issuer=issuer, subject=subject, now=now)


async def count_user_contents_tx(tx: Tx, user_id: UserId) -> UserContents:
    """How much is deleted with a user."""
    return await tx.one(UserContents, q.count_user_contents, id=user_id)


async def delete_user_tx(tx: Tx, user_id: UserId) -> None:
    """The person with sessions, tokens and open invitations."""
    await tx.run(q.delete_user, id=user_id)


# -- invitations


class TakenInvite(msgspec.Struct, frozen=True):
    """An invitation that was just used: whom it admits, and as what."""

    tenant_id: TenantId
    role: Role


class NewInvite(msgspec.Struct, frozen=True, kw_only=True):
    """An invitation that is about to exist; the code of the first visit has no inviter."""

    public_id: PublicId
    tenant_id: TenantId
    role: Role
    code_hash: bytes
    invited_by: UserId | None
    expires_at: Millis


async def add_invite_tx(tx: Tx, new: NewInvite, now: Millis) -> None:
    """Its code can be used once, until it expires."""
    await tx.run(q.add_invite, now=now, **msgspec.structs.asdict(new))


# -- sessions


async def find_session_tx(tx: Tx, key_hash: bytes, now: Millis) -> KeyHolder | None:
    """Whose session this key opens, if it still does."""
    return await tx.maybe(KeyHolder, q.find_session, key_hash=key_hash, now=now)


async def end_session_by_key_tx(tx: Tx, key_hash: bytes) -> bool:
    """End whichever session this key opens; False when it opens none."""
    return await tx.run(q.end_session_by_key, key_hash=key_hash) > 0


async def end_sessions_tx(tx: Tx, user_id: UserId, *, but: SessionId | None = None) -> int:
    """End all of this person's, or all but one; how many that were."""
    return await tx.run(q.end_sessions, user_id=user_id, but_id=but or 0)


# -- tokens


async def list_tokens_tx(tx: Tx, user_id: UserId) -> list[Token]:
    """This person's, newest first, the revoked ones among them."""
    return await tx.many(Token, q.list_tokens, user_id=user_id)


async def add_device_key_tx(tx: Tx, token_id: TokenId, protocol: str, sent: str) -> None:
    """Let an app send this instead of a device password; a repeat changes nothing."""
    await tx.run(q.add_device_key, key_hash=hash_of(sent), token_id=token_id, protocol=protocol)


async def revoke_tokens_tx(
    tx: Tx, user_id: UserId, *, but: TokenId | None, but_made_in: PublicId | None, now: Millis
) -> list[Token]:
    """Revoke this person's, all but one, and but those that a session made itself; those that were not before."""
    kept = {"but_id": but or 0, "but_made_in": but_made_in or b""}
    return await tx.many(Token, q.revoke_tokens, user_id=user_id, now=now, **kept)
