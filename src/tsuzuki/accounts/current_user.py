"""What people change about themselves: their password, and the shelf that they read from."""

import msgspec

from tsuzuki.accounts.audit import AuditEvent, record_tx
from tsuzuki.accounts.caller import Caller, get_user_tx
from tsuzuki.accounts.credentials import Passwords
from tsuzuki.accounts.deps import AccountDeps
from tsuzuki.accounts.people import KeptCredentials, found, get_tenant_tx, on_user, set_password_tx
from tsuzuki.accounts.policy import may_write, password_problems
from tsuzuki.accounts.shelves import find_member_shelf_tx, list_member_shelves_tx, set_proxy_images_tx
from tsuzuki.accounts.sign_in_limits import Limiter
from tsuzuki.accounts.store import change_user_tx, get_credential_tx, set_identity_tx
from tsuzuki.accounts.types import MemberShelf, SignInMethods, Tenant, User
from tsuzuki.db import Tx, load_queries
from tsuzuki.model.errors import Conflict, Forbidden, Invalid, Problem
from tsuzuki.model.ids import PublicId, show_id

q = load_queries("tsuzuki.accounts")

READ_ONLY = "You have read-only access to this shelf."


class Me(msgspec.Struct, frozen=True):
    """A person with what they can read from."""

    user: User
    tenant: Tenant
    shelves: list[MemberShelf]
    """Their own first, then those that are shared with them."""
    ways: SignInMethods


class CurrentUser:
    """What people may do without an administrator."""

    def __init__(self, deps: AccountDeps, passwords: Passwords, limiter: Limiter) -> None:
        self._deps = deps
        self._passwords = passwords
        self._limiter = limiter

    async def get(self, caller: Caller) -> Me:
        """The caller with tenant and shelves."""

        async def read(tx: Tx) -> Me:
            user = await get_user_tx(tx, caller.user_id)
            tenant = await get_tenant_tx(tx, user.tenant_id)
            shelves = await list_member_shelves_tx(tx, user.id)
            return Me(user, tenant, shelves, await tx.one(SignInMethods, q.get_ways, user_id=user.id))

        return await self._deps.db.read(read)

    async def change_own_password(self, caller: Caller, current: str, new: str, *, keep_tokens: bool = False) -> None:
        """Replace the password; every session but the caller's ends, and so do tokens unless they are kept.

        Invalid when `current` is not it.
        """
        if problems := password_problems(new, "new_password"):
            raise Invalid(problems[0].message, problems)
        known = await self._deps.db.read(lambda tx: get_credential_tx(tx, caller.user_id))
        if known.password_hash is not None:
            await self._prove(caller, current, known.password_hash)
        elif caller.by != "session":  # a token that leaked must not become a password
            raise Forbidden("Sign in to set your first password.")
        password_hash = await self._passwords.hash(new)

        async def change(tx: Tx) -> None:
            user = await get_user_tx(tx, caller.user_id)
            if await get_credential_tx(tx, caller.user_id) != known:
                raise Conflict("The password was changed at the same time. Try again.")
            await set_password_tx(
                tx,
                caller.actor,
                user,
                password_hash=password_hash,
                now=self._deps.clock(),
                spared=KeptCredentials(caller, tokens=keep_tokens),
            )

        await self._deps.db.with_tx(change)

    async def unlink(self, caller: Caller) -> None:
        """Forget the identity at the provider; Conflict when there is no password to come in by instead."""

        async def unlink(tx: Tx) -> None:
            if (await get_credential_tx(tx, caller.user_id)).password_hash is None:
                raise Conflict("Set a password first, or you will not be able to sign in.")
            now = self._deps.clock()
            await set_identity_tx(tx, caller.user_id, issuer=None, subject=None, now=now)
            audit_event = AuditEvent("user.unlink", "user", show_id(caller.user_public_id))
            await record_tx(tx, caller.actor, audit_event, now=now)

        await self._deps.db.with_tx(unlink)

    async def choose_shelf(self, caller: Caller, shelf: PublicId | None) -> User:
        """The shelf that is meant when none is named; NotFound for one that is not the caller's (I8)."""

        async def choose(tx: Tx) -> User:
            user = await get_user_tx(tx, caller.user_id)
            chosen = None if shelf is None else await self._named_tx(tx, caller, shelf)
            wanted = msgspec.structs.replace(user, default_shelf_id=chosen.id if chosen else None)
            if wanted == user:
                return user
            now = self._deps.clock()
            audit_event = on_user("user.shelf", user, after={"shelf": chosen.name if chosen else None})
            await record_tx(tx, caller.actor, audit_event, now=now)
            return await change_user_tx(tx, wanted, now)

        return await self._deps.db.with_tx(choose)

    async def pick_shelf(self, caller: Caller, shelf: PublicId | None) -> MemberShelf:
        """The shelf that a request means: the named one, else the caller's default, else their own.

        NotFound for one that is neither theirs nor shared with them (I8); Forbidden for a write where they only read.
        """
        if shelf is None:
            return await self.shelf_of(caller)
        named = await self._deps.db.read(lambda tx: self._named_tx(tx, caller, shelf))
        return must_allow(named, writes=caller.writes)

    async def shelves_of(self, person: Caller | User) -> list[MemberShelf]:
        """All of a person's; the one that is meant when none is named is the first."""
        user_id = person.user_id if isinstance(person, Caller) else person.id
        shelves = await self._deps.db.read(lambda tx: list_member_shelves_tx(tx, user_id))
        return sorted(shelves, key=lambda shelf: shelf.id != person.default_shelf_id)

    async def shelf_of(self, person: Caller | User) -> MemberShelf:
        """The shelf that is meant when none is named."""
        shelf = found(next(iter(await self.shelves_of(person)), None), "shelf")
        return must_allow(shelf, writes=isinstance(person, Caller) and person.writes)

    async def still_has(self, caller: Caller, shelf: MemberShelf) -> bool:
        """Whether the shelf was not taken from the caller meanwhile. By its public id: numbers are given out again."""
        named = await self._deps.db.read(lambda tx: find_member_shelf_tx(tx, caller.user_id, shelf.public_id))
        return named is not None

    async def proxy_images(self, shelf: MemberShelf, *, wanted: bool) -> MemberShelf:
        """The shelf, with the images of its articles coming through this server, or from where they are."""
        now = self._deps.clock()
        changed = await self._deps.db.with_tx(
            lambda tx: set_proxy_images_tx(tx, shelf.id, proxy_images=wanted, now=now)
        )
        return msgspec.structs.replace(shelf, proxy_images=changed.proxy_images)

    async def _named_tx(self, tx: Tx, caller: Caller, shelf: PublicId) -> MemberShelf:
        return found(await find_member_shelf_tx(tx, caller.user_id, shelf), "shelf")

    async def _prove(self, caller: Caller, password: str, stored: str) -> None:
        """Check the password, within the same limits as a sign-in: a stolen session must not guess (SEC-37)."""
        own = caller.session_id or "tokens"  # a token could make others, each with guesses of its own
        attempt = await self._limiter.begin_alone(f"own password {caller.user_id} {own}")
        if not (await self._passwords.check(password, stored)).right:
            wrong = Problem("current_password", "This is not the current password.")
            raise Invalid(wrong.message, (wrong,))
        await self._limiter.forgive(attempt)


def must_allow(shelf: MemberShelf, *, writes: bool) -> MemberShelf:
    if writes and not may_write(shelf.role):
        raise Forbidden(READ_ONLY)
    return shelf
