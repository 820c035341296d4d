"""Tenants, people, shelves and their members, as they are stored."""

from collections.abc import Callable
from typing import Literal, NewType

import msgspec

from tsuzuki.model.ids import PublicId, ShelfId, TenantId, UserId
from tsuzuki.model.times import Millis

Role = Literal["admin", "reader"]
Scope = Literal["read", "write", "admin"]
DeviceKinds = Literal["item", "chapter", "both"]
"""What a device password shows: articles, chapters, or both (R109)."""
TokenKind = Literal["token", "device"]

SessionId = NewType("SessionId", int)
TokenId = NewType("TokenId", int)

Clock = Callable[[], Millis]
RandomBytes = Callable[[int], bytes]
"""So many random bytes that nobody can guess."""

SCOPES: tuple[Scope, ...] = ("read", "write", "admin")


class Tenant(msgspec.Struct, frozen=True):
    """Who pays. Each of its people has shelves (R91)."""

    id: TenantId
    public_id: PublicId
    name: str
    churned_at: Millis | None
    created_at: Millis
    updated_at: Millis


class Shelf(msgspec.Struct, frozen=True):
    """A shelf, as far as choosing one needs it."""

    id: ShelfId
    public_id: PublicId
    name: str
    plan: str
    status: Literal["active", "inactive", "delinquent"]
    proxy_images: bool
    """Whether the images of articles come through this server."""
    own_retention: Millis | None
    """How long articles stay after they were read; None is as the server keeps them, 0 for ever."""


class User(msgspec.Struct, frozen=True):
    """A person. What proves it is them is elsewhere: `Credential`."""

    id: UserId
    public_id: PublicId
    tenant_id: TenantId
    default_shelf_id: ShelfId | None
    username: str
    role: Role
    email: str | None
    disabled_at: Millis | None
    created_at: Millis
    updated_at: Millis
    is_offered_shelf: bool = False
    """Whether they shared a shelf before there was a choice, and have not said if they want their own."""


class ListedUser(msgspec.Struct, frozen=True):
    """A person in the operator's list."""

    public_id: PublicId
    tenant_public_id: PublicId
    tenant_name: str
    username: str
    role: Role
    email: str | None
    has_password: bool
    is_linked: bool
    disabled_at: Millis | None
    created_at: Millis
    last_used_at: Millis | None


class Credential(msgspec.Struct, frozen=True):
    """What a password is checked against."""

    user_id: UserId
    password_hash: str | None
    disabled_at: Millis | None


class SignInMethods(msgspec.Struct, frozen=True):
    """How a person can sign in."""

    has_password: bool
    is_linked: bool


class Session(msgspec.Struct, frozen=True):
    """One signed-in browser."""

    id: SessionId
    public_id: PublicId
    user_agent: str
    address: str
    created_at: Millis
    last_used_at: Millis
    expires_at: Millis


class Token(msgspec.Struct, frozen=True):
    """A token or device password without its secret, which nobody has but its owner (R77)."""

    id: TokenId
    public_id: PublicId
    name: str
    kind: TokenKind
    scopes: str
    kinds: DeviceKinds
    client: str | None
    """What used a device password last, as it named itself."""
    created_at: Millis
    last_used_at: Millis | None
    expires_at: Millis | None
    revoked_at: Millis | None
    shelf_name: str | None
    """The shelf that a device password was made for; None for whichever its owner chose."""


class Invite(msgspec.Struct, frozen=True):
    """An open invitation without its code."""

    public_id: PublicId
    tenant_id: TenantId
    tenant_public_id: PublicId
    role: Role
    invited_by: str | None
    created_at: Millis
    expires_at: Millis


class KeyHolder(msgspec.Struct, frozen=True):
    """The owner of a session or token, found by the hash of its key."""

    key_id: int
    key_public_id: PublicId
    last_used_at: Millis | None
    scopes: str
    user_id: UserId
    user_public_id: PublicId
    tenant_id: TenantId
    default_shelf_id: ShelfId | None
    username: str
    role: Role
    is_offered_shelf: bool


class DeviceHolder(KeyHolder, frozen=True):
    """The owner of a device password."""

    kinds: DeviceKinds
    client: str | None
    shelf_public_id: PublicId | None
    """The shelf that it was made for; None for whichever its owner chose."""


class Protocol(msgspec.Struct, frozen=True):
    """What apps speak, and a device password can be made for."""

    name: str
    title: str
    path: str
    """The path that people type after the server's address."""
    digest: Callable[[str, str], str] | None = None
    """What its apps send instead of the password, from the username and the password; None where they send it."""


class Actor(msgspec.Struct, frozen=True):
    """Who did something, as the audit log remembers it."""

    id: PublicId | None
    name: str
    address: str | None = None


SYSTEM = Actor(None, "system")


class Slice(msgspec.Struct, frozen=True):
    """A page of a list, by offset and length."""

    most: int = 50
    skip: int = 0

    @classmethod
    def page(cls, number: int, most: int) -> "Slice":
        """One page of so many, the first being 1."""
        return cls(most, (number - 1) * most)


class TenantContents(msgspec.Struct, frozen=True):
    """What is deleted with a tenant, or prevents its deletion."""

    users: int
    shelves: int
    subscriptions: int
    follows: int
    bookmarks: int
    activities: int
    charges: int
    """What the ledger has of it: items, invoices and credit. With any of these a tenant is kept."""


class UserContents(msgspec.Struct, frozen=True):
    """What is deleted with a user."""

    sessions: int
    tokens: int
    invites: int
    shelves: int
    """Those that have no other owner."""
    subscriptions: int
    """On these shelves, as what follows."""
    follows: int
    bookmarks: int


ShelfRole = Literal["owner", "editor", "reader"]
"""`reader` sees all of a shelf, `editor` also changes what is on it, `owner` also shares, renames and deletes it."""


class MemberShelf(Shelf, frozen=True):
    """A shelf with what one person may do on it."""

    role: ShelfRole
    owner: str | None
    """Whose it is, where it is not theirs; the first by name of several."""


class Member(msgspec.Struct, frozen=True):
    """Somebody who has a shelf."""

    user_id: UserId
    public_id: PublicId
    username: str
    role: ShelfRole
    created_at: Millis


class ShelfContents(msgspec.Struct, frozen=True):
    """What is deleted with a shelf."""

    subscriptions: int
    follows: int
    bookmarks: int
    people: int
    """Everybody who has it, the owner among them."""


class OldShared(msgspec.Struct, frozen=True):
    """A shelf that its people have shared since before each could have their own."""

    tenant: str
    name: str
    people: int
