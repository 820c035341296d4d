"""The operator's side of people: accounts and invitations."""

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.invites import Invites
from tsuzuki.accounts.types import Invite, ListedUser, Role, Tenant, User, UserContents
from tsuzuki.accounts.users import NewPerson, UserChange, Users
from tsuzuki.api.endpoints import Access, Body, declaring
from tsuzuki.api.ids import IdText, InvitationPath, UserPath, id_in_field
from tsuzuki.api.me import TenantRef, tenant_ref
from tsuzuki.api.paging import PageQuery
from tsuzuki.api.sign_in import Name, NewPassword
from tsuzuki.api.views import ListAnswer, PageMeta, Time, copied, view_of
from tsuzuki.model.errors import Conflict, LimitExceeded, NotFound
from tsuzuki.model.ids import show_id
from tsuzuki.model.times import iso

Email = Annotated[str, Meta(min_length=3, max_length=254, pattern=r"^[^@\s]+@[^@\s]+\Z")]
Reason = Annotated[str, Meta(max_length=500)]


class PersonView(msgspec.Struct, frozen=True):
    """A user, as administrators see them."""

    id: str
    username: str
    role: Role
    email: str | None
    tenant: TenantRef
    disabled_at: Time | None
    created_at: Time


class ListedAccountView(PersonView, frozen=True, kw_only=True):
    """A user in the list; `last_used_at` is the last use of any of their sessions."""

    has_password: bool
    is_linked: bool
    last_used_at: Time | None


class InviteView(msgspec.Struct, frozen=True):
    """An open invitation, without its code."""

    id: str
    role: Role
    tenant_id: str
    invited_by: str | None
    created_at: Time
    expires_at: Time


class NewInviteView(msgspec.Struct, frozen=True):
    """A new invitation; `code` is shown only once, `path` is the page where it is used."""

    id: str
    role: Role
    code: str
    path: str
    expires_at: Time


_person_view = view_of(PersonView, User, "tenant")
_listed_view = view_of(
    ListedAccountView, ListedUser, tenant=lambda user: TenantRef(show_id(user.tenant_public_id), user.tenant_name)
)
_invite_view = view_of(InviteView, Invite)


class AccountBody(Body, frozen=True, kw_only=True):
    """A new user. Default tenant: the first one. Without a password they can only sign in with an identity provider."""

    username: Name
    role: Role = "reader"
    tenant_id: IdText | None = None
    password: NewPassword | None = None
    email: Email | None = None


class AccountChangeBody(Body, frozen=True, kw_only=True):
    """What to change."""

    role: Role | UnsetType = UNSET
    email: Email | UnsetType | None = UNSET


class ReasonBody(Body, frozen=True, kw_only=True):
    """The reason, for the audit log."""

    reason: Reason | None = None


class NewPasswordBody(Body, frozen=True, kw_only=True):
    """The new password."""

    password: NewPassword


class InviteBody(Body, frozen=True, kw_only=True):
    """The account to be created. Default tenant: the first one."""

    role: Role = "reader"
    tenant_id: IdText | None = None


async def list_users(page: PageQuery, users: Users) -> ListAnswer[ListedAccountView, PageMeta]:
    """All users, oldest first."""
    found, total = await users.list(page.part)
    return ListAnswer([_listed_view(user) for user in found], page.meta(total))


async def create_user(caller: Caller, body: AccountBody, users: Users) -> PersonView:
    """Adds a user."""
    new = copied(NewPerson, body, tenant_id=id_in_field(body.tenant_id, "tenant_id"))
    user = await users.add(caller.actor, new)
    return _account(*await users.get(user.public_id))


async def show_user(user_id: UserPath, users: Users) -> PersonView:
    """One user."""
    return _account(*await users.get(user_id))


async def change_user(user_id: UserPath, caller: Caller, body: AccountChangeBody, users: Users) -> PersonView:
    """Changes the role or the e-mail address."""
    await users.change(caller.actor, user_id, copied(UserChange, body))
    return _account(*await users.get(user_id))


async def disable_user(user_id: UserPath, caller: Caller, body: ReasonBody, users: Users) -> PersonView:
    """Disables a user: their sessions end and their tokens stop working."""
    await users.disable(caller.actor, user_id, reason=body.reason)
    return _account(*await users.get(user_id))


async def enable_user(user_id: UserPath, caller: Caller, users: Users) -> PersonView:
    """Enables a disabled user."""
    await users.enable(caller.actor, user_id)
    return _account(*await users.get(user_id))


async def reset_user_password(user_id: UserPath, caller: Caller, body: NewPasswordBody, users: Users) -> None:
    """Sets a new password; ends the user's sessions and revokes their tokens and device passwords."""
    await users.reset_password(caller.actor, user_id, body.password)


async def show_user_contents(user_id: UserPath, users: Users) -> UserContents:
    """What would be deleted with this user."""
    return await users.contents(user_id)


async def delete_user(user_id: UserPath, caller: Caller, users: Users) -> UserContents:
    """Deletes a user with the shelves that have no other owner, and returns what was deleted."""
    return await users.delete(caller.actor, user_id)


async def list_invites(invites: Invites) -> list[InviteView]:
    """Open invitations, oldest first."""
    return [_invite_view(one) for one in await invites.list()]


async def create_invite(caller: Caller, body: InviteBody, invites: Invites) -> NewInviteView:
    """Creates a code with which one account can be created within seven days."""
    made = await invites.make(caller, body.role, id_in_field(body.tenant_id, "tenant_id"))
    path = f"/invite?code={made.code}"
    return NewInviteView(show_id(made.public_id), made.role, made.code, path, iso(made.expires_at))


async def revoke_invite(invite_id: InvitationPath, caller: Caller, invites: Invites) -> None:
    """The code can no longer be used."""
    await invites.revoke(caller, invite_id)


def _account(user: User, tenant: Tenant) -> PersonView:
    return _person_view(user, tenant=tenant_ref(tenant))


_admin = declaring("people", Access.ADMIN)

ENDPOINTS = (
    _admin("GET", "/admin/users", list_users, "List users"),
    _admin("POST", "/admin/users", create_user, "Add a user", status=201, errors=(Conflict, NotFound, LimitExceeded)),
    _admin("GET", "/admin/users/{user_id}", show_user, "Show a user", errors=(NotFound,)),
    _admin("PATCH", "/admin/users/{user_id}", change_user, "Change a user", errors=(NotFound, Conflict)),
    _admin("DELETE", "/admin/users/{user_id}", delete_user, "Delete a user", errors=(NotFound, Conflict)),
    _admin("GET", "/admin/users/{user_id}/contents", show_user_contents, "Preview deleting a user", errors=(NotFound,)),
    _admin("POST", "/admin/users/{user_id}/disable", disable_user, "Disable a user", errors=(NotFound, Conflict)),
    _admin("POST", "/admin/users/{user_id}/enable", enable_user, "Enable a user", errors=(NotFound,)),
    _admin("PUT", "/admin/users/{user_id}/password", reset_user_password, "Reset a password", errors=(NotFound,)),
    _admin("GET", "/admin/invites", list_invites, "List open invitations"),
    _admin("POST", "/admin/invites", create_invite, "Invite a user", status=201, errors=(NotFound, LimitExceeded)),
    _admin("DELETE", "/admin/invites/{invite_id}", revoke_invite, "Revoke an invitation", errors=(NotFound,)),
)
