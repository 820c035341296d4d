"""What belongs to the caller: profile, password, sessions, tokens."""

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.current_user import CurrentUser
from tsuzuki.accounts.sessions import Sessions, device_name
from tsuzuki.accounts.tokens import TokenRequest, Tokens
from tsuzuki.accounts.types import DeviceKinds, MemberShelf, Role, Scope, Session, ShelfRole, Tenant, Token, User
from tsuzuki.accounts.types import Protocol as AppProtocol
from tsuzuki.api.endpoints import Access, Body, Moment, declaring
from tsuzuki.api.ids import IdText, SessionPath, TokenPath, id_in_field
from tsuzuki.api.sign_in import NewPassword
from tsuzuki.api.views import Time, copied, read_time, view_of
from tsuzuki.model.errors import Conflict, NotFound, TooManyRequests
from tsuzuki.model.ids import show_id
from tsuzuki.model.times import DAY


class TenantRef(msgspec.Struct, frozen=True):
    """A tenant, in short."""

    id: str
    name: str


tenant_ref = view_of(TenantRef, Tenant)


class ShelfView(msgspec.Struct, frozen=True):
    """A shelf. With `proxy_images`, the images of its articles are served by this server.

    `retention` is how many days its articles are kept after they are read; 0 is for ever, null is the server's setting.

    `role` is what the current user may do: a `reader` sees everything on it, an `editor` changes what is on it, an
    `owner` shares, renames and deletes it.
    """

    id: str
    name: str
    plan: str
    proxy_images: bool
    role: ShelfRole
    retention: int | None


shelf_view = view_of(
    ShelfView,
    MemberShelf,
    retention=lambda shelf: None if shelf.own_retention is None else shelf.own_retention // DAY,
)


class MeView(msgspec.Struct, frozen=True):
    """The current user, their tenant and their shelves; `default_shelf_id` is used by requests without `?shelf=`.

    `is_offered_shelf`: the user shared a shelf before everyone had their own, and can now have one.
    """

    id: str
    username: str
    role: Role
    email: str | None
    scopes: list[str]
    tenant: TenantRef
    shelves: list[ShelfView]
    default_shelf_id: str | None
    is_offered_shelf: bool


_me_view = view_of(MeView, User, "scopes", "tenant", "shelves", "default_shelf_id")


class SessionView(msgspec.Struct, frozen=True):
    """A signed-in browser."""

    id: str
    device: str
    address: str
    is_current: bool
    created_at: Time
    last_used_at: Time
    expires_at: Time


_session_view = view_of(SessionView, Session, "is_current", device=lambda session: device_name(session.user_agent))


class EndedView(msgspec.Struct, frozen=True):
    """How many sessions were ended."""

    ended: int


class TokenView(msgspec.Struct, frozen=True):
    """A token or a device password, without its secret.

    `client` is what used a device password last; `shelf_name` its shelf, if it was created for one.
    """

    id: str
    name: str
    kind: str
    scopes: list[str]
    kinds: DeviceKinds
    client: str | None
    shelf_name: str | None
    created_at: Time
    last_used_at: Time | None
    expires_at: Time | None
    revoked_at: Time | None


_token_view = view_of(TokenView, Token, scopes=lambda token: token.scopes.split())


class NewTokenView(msgspec.Struct, frozen=True):
    """A new token; `token` is the secret, shown only once."""

    token: str
    details: TokenView


class MeBody(Body, frozen=True, kw_only=True):
    """What to change; null selects your own shelf."""

    default_shelf_id: IdText | UnsetType | None = UNSET


class PasswordBody(Body, frozen=True, kw_only=True):
    """The current password, empty if there is none, and the new one. Tokens are revoked without `keep_tokens`."""

    current_password: str = ""
    new_password: NewPassword
    keep_tokens: bool = False


class TokenBody(Body, frozen=True, kw_only=True):
    """Scopes for the API, or protocols for a device password: see `GET /me/protocols`. Without `expires_at` it never
    expires.

    A device password shows articles (`item`), chapters or both, of one shelf; without `shelf` of your default one.
    """

    name: Annotated[str, Meta(min_length=1, max_length=100)]
    scopes: tuple[Scope, ...] = ()
    protocols: tuple[str, ...] = ()
    kinds: DeviceKinds = "both"
    shelf: IdText | None = None
    expires_at: Moment | None = None


async def show_me(caller: Caller, current_user: CurrentUser) -> MeView:
    """The current user, their tenant, their own shelves and the shelves shared with them."""
    me = await current_user.get(caller)
    chosen = [shelf for shelf in me.shelves if shelf.id == me.user.default_shelf_id]
    default = next(iter(chosen + me.shelves), None)
    return _me_view(
        me.user,
        scopes=sorted(caller.scopes),
        tenant=tenant_ref(me.tenant),
        shelves=[shelf_view(shelf) for shelf in me.shelves],
        default_shelf_id=show_id(default.public_id) if default else None,
    )


async def change_me(caller: Caller, body: MeBody, current_user: CurrentUser) -> MeView:
    """Sets the shelf that is used by requests without `?shelf=`."""
    if body.default_shelf_id is not UNSET:
        await current_user.choose_shelf(caller, id_in_field(body.default_shelf_id, "default_shelf_id"))
    return await show_me(caller, current_user)


async def change_password(caller: Caller, body: PasswordBody, current_user: CurrentUser) -> None:
    """Ends all other sessions, and revokes all tokens and device passwords except those created in this session."""
    await current_user.change_own_password(
        caller, body.current_password, body.new_password, keep_tokens=body.keep_tokens
    )


async def unlink_identity(caller: Caller, current_user: CurrentUser) -> None:
    """Unlinks the account from its identity provider."""
    await current_user.unlink(caller)


async def list_sessions(caller: Caller, sessions: Sessions) -> list[SessionView]:
    """The browsers in which you are signed in, last used first."""
    return [_session_view(one, is_current=one.id == caller.session_id) for one in await sessions.list(caller)]


async def end_session(session_id: SessionPath, caller: Caller, sessions: Sessions) -> None:
    """Signs out one browser."""
    await sessions.end(caller, session_id)


async def end_other_sessions(caller: Caller, sessions: Sessions) -> EndedView:
    """Signs out all browsers except the current one."""
    return EndedView(await sessions.end_others(caller))


async def list_tokens(caller: Caller, tokens: Tokens) -> list[TokenView]:
    """Your tokens and device passwords, newest first."""
    return [_token_view(one) for one in await tokens.list(caller)]


async def create_token(caller: Caller, body: TokenBody, tokens: Tokens) -> NewTokenView:
    """A token created with another token cannot have more rights or expire later than that one."""
    shelf = None if body.shelf is None else id_in_field(body.shelf, "shelf")
    request = copied(TokenRequest, body, expires_at=read_time(body.expires_at), shelf=shelf)
    made = await tokens.make(caller, request)
    return NewTokenView(made.key, _token_view(made.token))


class ProtocolView(msgspec.Struct, frozen=True):
    """A protocol that reader apps speak with this server."""

    name: str
    title: str
    path: str


_protocol_view = view_of(ProtocolView, AppProtocol)


async def list_protocols(tokens: Tokens) -> list[ProtocolView]:
    """What device passwords can be created for; `path` comes after the server's address."""
    return [_protocol_view(one) for one in tokens.protocols]


async def revoke_token(token_id: TokenPath, caller: Caller, tokens: Tokens) -> None:
    """Revokes the token and every token that was created with it."""
    await tokens.revoke(caller, token_id)


_read = declaring("me", Access.READ)
_write = declaring("me", Access.WRITE)

ENDPOINTS = (
    _read("GET", "/me", show_me, "Show my account"),
    _write("PATCH", "/me", change_me, "Choose my default shelf", errors=(NotFound,)),
    _write("PUT", "/me/password", change_password, "Change my password", errors=(Conflict, TooManyRequests)),
    _write("DELETE", "/me/identity", unlink_identity, "Unlink my identity", errors=(Conflict,)),
    _read("GET", "/me/sessions", list_sessions, "List my sessions"),
    _write("DELETE", "/me/sessions", end_other_sessions, "Sign out everywhere else"),
    _write("DELETE", "/me/sessions/{session_id}", end_session, "Sign out one browser", errors=(NotFound,)),
    _read("GET", "/me/protocols", list_protocols, "List protocols of apps"),
    _read("GET", "/me/tokens", list_tokens, "List my tokens"),
    _write("POST", "/me/tokens", create_token, "Create a token", status=201),
    _write("DELETE", "/me/tokens/{token_id}", revoke_token, "Revoke a token", errors=(NotFound,)),
)
