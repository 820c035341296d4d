"""Tokens and device passwords: opaque, shown once, limited in what they open (R77)."""

from collections.abc import Collection

import msgspec

from tsuzuki.accounts.audit import AuditEvent, record_tx
from tsuzuki.accounts.caller import Caller, caller_of
from tsuzuki.accounts.credentials import TOKEN_PREFIX, device_password, hash_of, token_key
from tsuzuki.accounts.deps import AccountDeps
from tsuzuki.accounts.policy import TOKEN_TOUCH, is_stale, outlives
from tsuzuki.accounts.shelves import find_member_shelf_tx
from tsuzuki.accounts.store import add_device_key_tx, list_tokens_tx, lock_user_tx
from tsuzuki.accounts.types import (
    SCOPES,
    Actor,
    DeviceKinds,
    KeyHolder,
    MemberShelf,
    Protocol,
    Scope,
    Token,
    TokenId,
    TokenKind,
    User,
)
from tsuzuki.db import Tx, load_queries
from tsuzuki.model.errors import Forbidden, Invalid, NotFound, Problem, Unauthorized
from tsuzuki.model.ids import PublicId, show_id
from tsuzuki.model.times import Millis

q = load_queries("tsuzuki.accounts")


class TokenRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The token that somebody wants: with scopes for the API, or with protocols for a device."""

    name: str
    scopes: tuple[Scope, ...] = ()
    protocols: tuple[str, ...] = ()
    kinds: DeviceKinds = "both"
    """What a device sees."""
    shelf: PublicId | None = None
    """The shelf that a device reads; None for whichever its owner chose."""
    expires_at: Millis | None = None

    @property
    def kind(self) -> TokenKind:
        """A device password opens its protocols and nothing else."""
        return "device" if self.protocols else "token"


class IssuedToken(msgspec.Struct, frozen=True):
    """A new token; its key is never seen again."""

    token: Token
    key: str


class Tokens:
    """Makes, finds, lists and revokes tokens."""

    def __init__(self, deps: AccountDeps) -> None:
        self._deps = deps

    @property
    def protocols(self) -> tuple[Protocol, ...]:
        """What device passwords can be made for."""
        return self._deps.protocols()

    async def make(self, caller: Caller, request: TokenRequest) -> IssuedToken:
        """A token of the caller's own. A token makes none that may do more, or lives longer, than itself."""

        async def make(tx: Tx) -> IssuedToken:
            user = await lock_user_tx(tx, caller.user_id)
            await self._check_reach_tx(tx, caller, request)
            return await self._make_tx(tx, user, request, actor=caller.actor, maker=caller)

        return await self._deps.db.with_tx(make)

    async def make_for(self, actor: Actor, user: User, request: TokenRequest) -> IssuedToken:
        """A token of this person's, made by somebody who may."""
        return await self._deps.db.with_tx(lambda tx: self._make_tx(tx, user, request, actor=actor))

    async def _make_tx(
        self, tx: Tx, user: User, request: TokenRequest, *, actor: Actor, maker: Caller | None = None
    ) -> IssuedToken:
        now = self._deps.clock()
        self._check(request, user, now)
        shelf = None if request.shelf is None else await self._shelf_tx(tx, user, request.shelf)
        key = (device_password if request.kind == "device" else token_key)(self._deps.random_bytes)
        token = await tx.one(
            Token,
            q.add_token,
            public_id=self._deps.new_id(now),
            user_id=user.id,
            name=request.name,
            kind=request.kind,
            key_hash=hash_of(key),
            scopes=" ".join(request.protocols or [scope for scope in SCOPES if scope in request.scopes]),
            kinds=request.kinds,
            shelf_id=shelf and shelf.id,
            expires_at=request.expires_at,
            parent_id=maker.token_id if maker else None,
            made_in=maker.key_public_id if maker and maker.session_id else None,
            now=now,
        )
        for protocol in self._deps.protocols():
            if protocol.name in request.protocols and protocol.digest is not None:
                await add_device_key_tx(tx, token.id, protocol.name, protocol.digest(user.username, key))
        after = {"name": token.name, "kind": token.kind, "scopes": token.scopes, "user": user.username}
        if maker is not None:
            after["made_by"] = f"{maker.by} {show_id(maker.key_public_id)}"
        await record_tx(tx, actor, AuditEvent("token.create", "token", show_id(token.public_id), after=after), now=now)
        return IssuedToken(token, key)

    async def resume(self, key: str, address: str) -> Caller | None:
        """The owner of this token; None when it is unknown or has ended."""
        if not key.startswith(TOKEN_PREFIX):
            return None
        holder = await self._find(key)
        return None if holder is None else caller_of(holder, "token", address)

    async def list(self, caller: Caller) -> list[Token]:
        """The caller's own, newest first."""
        return await self._deps.db.read(lambda tx: list_tokens_tx(tx, caller.user_id))

    async def revoke(self, caller: Caller, public_id: PublicId) -> None:
        """Revoke one of the caller's own with all that were made with it; one that is revoked already stays so."""

        async def revoke(tx: Tx) -> None:
            now = self._deps.clock()
            await lock_user_tx(tx, caller.user_id)
            revoked = await tx.many(Token, q.revoke_token, user_id=caller.user_id, public_id=public_id, now=now)
            for token in revoked:
                reason = None if token.public_id == public_id else "created with a token that was revoked"
                name = {"name": token.name}
                audit_event = AuditEvent("token.revoke", "token", show_id(token.public_id), before=name, reason=reason)
                await record_tx(tx, caller.actor, audit_event, now=now)
            if not revoked and public_id not in {known.public_id for known in await list_tokens_tx(tx, caller.user_id)}:
                raise NotFound("There is no such token.")

        await self._deps.db.with_tx(revoke)

    async def _find(self, key: str) -> KeyHolder | None:
        now = self._deps.clock()
        holder = await self._deps.db.read(
            lambda tx: tx.maybe(KeyHolder, q.find_token, key_hash=hash_of(key), kind="token", now=now)
        )
        if holder is not None and is_stale(holder.last_used_at, now, TOKEN_TOUCH):
            token_id = TokenId(holder.key_id)
            await self._deps.db.with_tx(lambda tx: tx.run(q.touch_token, id=token_id, now=now))
        return holder

    async def _check_reach_tx(self, tx: Tx, caller: Caller, request: TokenRequest) -> None:
        """A key that was ended since the request came in makes no other."""
        if caller.session_id is not None:
            if not await tx.one(int, q.has_session, id=caller.session_id, public_id=caller.key_public_id):
                raise Unauthorized("You were signed out. Sign in again.")
            return
        assert caller.token_id is not None
        own = await tx.one(Token, q.get_token, id=caller.token_id)
        if own.revoked_at is not None:
            raise Unauthorized("This token is unknown, expired or revoked.")
        if not set(request.scopes) <= caller.scopes or request.protocols:
            raise Forbidden("A token cannot create one with more scopes than its own.")
        if outlives(request.expires_at, own.expires_at):
            raise Forbidden("A token cannot create one that expires later than itself.")

    async def _shelf_tx(self, tx: Tx, user: User, public_id: PublicId) -> MemberShelf:
        shelf = await find_member_shelf_tx(tx, user.id, public_id)
        if shelf is None:
            raise Invalid("There is no such shelf.", (Problem("shelf", "There is no such shelf."),))
        return shelf

    def _check(self, request: TokenRequest, user: User, now: Millis) -> None:
        problems = []
        if bool(request.scopes) == bool(request.protocols):
            problems.append(Problem("scopes", "Choose either scopes or protocols."))
        known = [protocol.name for protocol in self._deps.protocols()]
        if strange := sorted(set(request.protocols) - set(known)):
            said = f"A protocol must be one of {', '.join(known)}, not {', '.join(strange)}."
            problems.append(Problem("protocols", said))
        if "admin" in request.scopes and user.role != "admin":
            problems.append(Problem("scopes", "Only an administrator's token can have the scope admin."))
        if request.expires_at is not None and request.expires_at <= now:
            problems.append(Problem("expires_at", "This time is in the past."))
        if problems:
            raise Invalid(problems[0].message, tuple(problems))


def read_scopes(names: Collection[str]) -> tuple[Scope, ...]:
    """The scopes of these names; Invalid for one that is none."""
    strange = sorted(set(names) - set(SCOPES))
    if strange or not names:
        raise Invalid(f"A scope must be one of {', '.join(SCOPES)}, not {', '.join(strange) or 'nothing'}.")
    return tuple(scope for scope in SCOPES if scope in names)
