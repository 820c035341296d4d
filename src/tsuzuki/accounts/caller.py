"""Who is calling: resolved once per request, and asked by everything after that."""

from typing import Literal

import msgspec

from tsuzuki.accounts.types import SCOPES, Actor, KeyHolder, Role, Scope, SessionId, TokenId, User
from tsuzuki.db import Tx, load_queries
from tsuzuki.model.ids import PublicId, ShelfId, TenantId, UserId
from tsuzuki.model.structs import copied

q = load_queries("tsuzuki.accounts")


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """A person with a session or a token. A session may do all that its owner may; a token what its scopes say."""

    user_id: UserId
    user_public_id: PublicId
    tenant_id: TenantId
    default_shelf_id: ShelfId | None
    username: str
    role: Role
    scopes: frozenset[str]
    by: Literal["session", "token"]
    key_id: int
    key_public_id: PublicId
    address: str
    is_offered_shelf: bool = False
    """Whether they shared a shelf before there was a choice, and have not said if they want their own."""
    writes: bool = False
    """Whether this request changes something: a shelf that the caller only reads refuses it (R91)."""

    @property
    def actor(self) -> Actor:
        """The caller as the audit log remembers it."""
        return Actor(self.user_public_id, self.username, self.address)

    @property
    def session_id(self) -> SessionId | None:
        """The session that this request came with."""
        return SessionId(self.key_id) if self.by == "session" else None

    @property
    def token_id(self) -> TokenId | None:
        """The token that this request came with."""
        return TokenId(self.key_id) if self.by == "token" else None

    def may(self, scope: Scope) -> bool:
        """Whether this scope is the caller's: `admin` takes the role as well as the scope."""
        return scope in self.scopes and (scope != "admin" or self.role == "admin")


def caller_of(holder: KeyHolder, by: Literal["session", "token"], address: str) -> Caller:
    """The caller behind a key."""
    return copied(
        Caller, holder, scopes=frozenset(SCOPES if by == "session" else holder.scopes.split()), by=by, address=address
    )


async def get_user_tx(tx: Tx, user_id: UserId) -> User:
    """The person of this id, or NotFound."""
    return await tx.one(User, q.get_user, id=user_id)
