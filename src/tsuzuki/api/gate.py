"""Who comes in: the declared access of an endpoint against what the caller may."""

import msgspec
from starlette.requests import Request

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.nouns import Scope
from tsuzuki.api.endpoints import Access
from tsuzuki.http.auth import Callers, bearer_of
from tsuzuki.http.csrf import refuse_cross_site
from tsuzuki.model.errors import Forbidden, Unauthorized

_SCOPES: dict[Access, Scope] = {Access.READ: "read", Access.WRITE: "write", Access.ADMIN: "admin"}


class AccountsGate:
    """Admits by session or token (R77). What is public needs neither, but takes no write from other sites' pages."""

    caller: type = Caller

    def __init__(self, callers: Callers) -> None:
        self._callers = callers

    async def admit(self, request: Request, access: Access) -> Caller | None:
        """The caller; None at a public endpoint. Unauthorized and Forbidden say which of the two is missing."""
        if access is Access.PUBLIC:
            if bearer_of(request) is None:
                refuse_cross_site(request)
            return None
        caller = await self._callers.of(request)
        if caller is None:
            raise Unauthorized("Sign in first.")
        if not caller.may(_SCOPES[access]):
            raise Forbidden(_refusal(caller, access))
        return msgspec.structs.replace(caller, writes=True) if access is Access.WRITE else caller


def _refusal(caller: Caller, access: Access) -> str:
    if access is Access.ADMIN and caller.role != "admin":
        return "This is for administrators."
    return f"This token does not have the scope {_SCOPES[access]}."
