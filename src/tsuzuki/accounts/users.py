"""People as the operator manages them: added, changed, disabled and deleted."""

import msgspec

from tsuzuki.accounts.audit import record_tx
from tsuzuki.accounts.credentials import Passwords
from tsuzuki.accounts.deps import AccountDeps
from tsuzuki.accounts.people import (
    add_person_tx,
    get_tenant_tx,
    on_user,
    set_password_tx,
    shown_user,
    tenant_tx,
    user_tx,
)
from tsuzuki.accounts.policy import name_problems, password_problems, plain_name
from tsuzuki.accounts.shelves import drop_shelf_tx, list_sole_shelves_tx
from tsuzuki.accounts.store import (
    NewUser,
    change_user_tx,
    count_user_contents_tx,
    delete_user_tx,
    end_sessions_tx,
    find_user_by_name_tx,
    list_users_tx,
    set_disabled_tx,
)
from tsuzuki.accounts.types import Actor, ListedUser, Role, Slice, Tenant, User, UserContents
from tsuzuki.db import Tx, load_queries
from tsuzuki.db.locks import lock_people_tx
from tsuzuki.model.errors import Conflict, Invalid, NotFound
from tsuzuki.model.ids import PublicId

q = load_queries("tsuzuki.accounts")


class NewPerson(msgspec.Struct, frozen=True, kw_only=True):
    """Someone to be added. Without a tenant it is the first one's; without a password they cannot sign in by one."""

    username: str
    role: Role = "reader"
    tenant_id: PublicId | None = None
    password: str | None = None
    email: str | None = None


class UserChange(msgspec.Struct, frozen=True, kw_only=True):
    """What to change about someone; UNSET leaves it."""

    role: Role | msgspec.UnsetType = msgspec.UNSET
    email: str | msgspec.UnsetType | None = msgspec.UNSET


class Users:
    """Adds, lists, changes and deletes users."""

    def __init__(self, deps: AccountDeps, passwords: Passwords) -> None:
        self._deps = deps
        self._passwords = passwords

    # -- looking

    async def list(self, part: Slice) -> tuple[list[ListedUser], int]:
        """Everyone, oldest first, and how many they are."""
        return await self._deps.db.read(lambda tx: list_users_tx(tx, part))

    async def get(self, public_id: PublicId) -> tuple[User, Tenant]:
        """One person, or NotFound."""

        async def read(tx: Tx) -> tuple[User, Tenant]:
            user = await user_tx(tx, public_id)
            return user, await get_tenant_tx(tx, user.tenant_id)

        return await self._deps.db.read(read)

    async def find(self, username: str) -> User:
        """The user of this name, or NotFound."""
        user = await self._deps.db.read(lambda tx: find_user_by_name_tx(tx, plain_name(username)))
        if user is None:
            raise NotFound(f"There is no user {username}.")
        return user

    async def contents(self, public_id: PublicId) -> UserContents:
        """What deleting this person would take along."""

        async def read(tx: Tx) -> UserContents:
            return await count_user_contents_tx(tx, (await user_tx(tx, public_id)).id)

        return await self._deps.db.read(read)

    # -- the operator

    async def add(self, actor: Actor, new: NewPerson, *, is_strict: bool = True) -> User:
        """Add someone; Conflict when the name is taken. The operator's own hand may choose any password."""
        name = plain_name(new.username)
        problems = name_problems(name)
        if is_strict and new.password is not None:
            problems += password_problems(new.password)
        if problems:
            raise Invalid(problems[0].message, problems)
        password_hash = None if new.password is None else await self._passwords.hash(new.password)

        async def add(tx: Tx) -> User:
            tenant = await tenant_tx(tx, new.tenant_id)
            person = NewUser(
                public_id=self._deps.new_id(self._deps.clock()),
                tenant_id=tenant.id,
                username=name,
                role=new.role,
                password_hash=password_hash,
                email=new.email,
            )
            return await add_person_tx(tx, self._deps, person, actor)

        return await self._deps.db.with_tx(add)

    async def change(self, actor: Actor, public_id: PublicId, change: UserChange) -> User:
        """Change role or address; Conflict when nobody would be left to administer."""

        async def alter(tx: Tx) -> User:
            await lock_people_tx(tx)
            user = await user_tx(tx, public_id)
            role = user.role if change.role is msgspec.UNSET else change.role
            email = user.email if change.email is msgspec.UNSET else change.email
            if role != "admin":
                await self._require_an_admin_tx(tx, user)
            wanted = msgspec.structs.replace(user, role=role, email=email)
            if wanted == user:
                return user
            now = self._deps.clock()
            audit_event = on_user("user.change", user, before=shown_user(user), after=shown_user(wanted))
            await record_tx(tx, actor, audit_event, now=now)
            return await change_user_tx(tx, wanted, now)

        return await self._deps.db.with_tx(alter)

    async def disable(self, actor: Actor, public_id: PublicId, *, reason: str | None = None) -> User:
        """End every session and refuse sign-ins and tokens, at once (SEC-34); Conflict for the last administrator."""

        async def disable(tx: Tx) -> User:
            await lock_people_tx(tx)
            user = await user_tx(tx, public_id)
            if user.disabled_at is not None:
                return user
            await self._require_an_admin_tx(tx, user)
            now = self._deps.clock()
            ended = await end_sessions_tx(tx, user.id)
            after = {"disabled": True, "ended_sessions": ended}
            await record_tx(tx, actor, on_user("user.disable", user, after=after, reason=reason), now=now)
            return await set_disabled_tx(tx, user.id, now, now=now)

        return await self._deps.db.with_tx(disable)

    async def enable(self, actor: Actor, public_id: PublicId) -> User:
        """Allow sign-in again; the sessions from before stay ended."""

        async def enable(tx: Tx) -> User:
            user = await user_tx(tx, public_id)
            if user.disabled_at is None:
                return user
            now = self._deps.clock()
            await record_tx(tx, actor, on_user("user.enable", user, after={"disabled": False}), now=now)
            return await set_disabled_tx(tx, user.id, None, now=now)

        return await self._deps.db.with_tx(enable)

    async def reset_password(self, actor: Actor, public_id: PublicId, password: str, *, is_strict: bool = True) -> None:
        """Give someone another password; their sessions, tokens and device passwords end."""
        if is_strict and (problems := password_problems(password)):
            raise Invalid(problems[0].message, problems)
        password_hash = await self._passwords.hash(password)

        async def reset(tx: Tx) -> None:
            user = await user_tx(tx, public_id)
            await set_password_tx(tx, actor, user, password_hash=password_hash, now=self._deps.clock())

        await self._deps.db.with_tx(reset)

    async def delete(self, actor: Actor, public_id: PublicId) -> UserContents:
        """Delete someone with what `contents` names; Conflict for the last administrator.

        A shelf that has another owner stays theirs.
        """

        async def delete(tx: Tx) -> UserContents:
            await lock_people_tx(tx)
            user = await user_tx(tx, public_id)
            await self._require_an_admin_tx(tx, user)
            contents = await count_user_contents_tx(tx, user.id)
            for shelf in await list_sole_shelves_tx(tx, user.id):
                await drop_shelf_tx(tx, self._deps, shelf, actor=actor, but=user.id)
            await delete_user_tx(tx, user.id)
            taken = msgspec.structs.asdict(contents)
            audit_event = on_user("user.delete", user, before=shown_user(user) | {"took_along": taken})
            await record_tx(tx, actor, audit_event, now=self._deps.clock())
            return contents

        return await self._deps.db.with_tx(delete)

    # -- inside

    async def _require_an_admin_tx(self, tx: Tx, user: User) -> None:
        """Conflict when this is the last working administrator."""
        if (
            user.role == "admin"
            and user.disabled_at is None
            and not await tx.one(int, q.count_other_admins, id=user.id)
        ):
            raise Conflict("This is the last administrator; make another one first.")
