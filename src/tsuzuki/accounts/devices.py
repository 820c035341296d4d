"""Device passwords at work: what an app sends, and whose shelf it may read (R107)."""

import msgspec
import structlog

from tsuzuki.accounts.caller import Caller, caller_of
from tsuzuki.accounts.credentials import hash_of
from tsuzuki.accounts.current_user import CurrentUser
from tsuzuki.accounts.deps import AccountDeps
from tsuzuki.accounts.policy import TOKEN_TOUCH, is_stale, may_write, plain_name
from tsuzuki.accounts.sign_in_limits import Limiter
from tsuzuki.accounts.store import add_device_key_tx
from tsuzuki.accounts.types import DeviceHolder, MemberShelf, TokenId
from tsuzuki.db import load_queries
from tsuzuki.model.errors import Forbidden, NotFound, Unauthorized
from tsuzuki.model.harvest import Kind
from tsuzuki.model.ids import PublicId

q = load_queries("tsuzuki.accounts")

_log = structlog.stdlib.get_logger("tsuzuki.accounts")

LONGEST_CLIENT = 100
WRONG_PAIR = "Wrong username or device password."


class AppRequest(msgspec.Struct, frozen=True):
    """Which protocol an app speaks, where it calls from, and what it calls itself."""

    protocol: str
    address: str
    client: str = ""


class AppUser(msgspec.Struct, frozen=True):
    """Somebody who reads with an app: their shelf, and what the password shows of it."""

    caller: Caller
    shelf: MemberShelf
    kind: Kind | None
    """Only articles, or only chapters; None for both (R109)."""
    password_id: PublicId

    def must_write(self) -> None:
        """Forbidden where they only read the shelf (R91)."""
        if not may_write(self.shelf.role):
            raise Forbidden("You can only read this shelf.")


class Devices:
    """Finds the owner of a device password. It is random, so a plain hash is enough: argon2 is for what people choose.

    Wrong ones are counted apart from sign-ins: pages of other sites can make a browser send them, and an app whose
    password was revoked goes on asking. Nobody is to be kept from signing in by that.
    """

    def __init__(self, deps: AccountDeps, limiter: Limiter, current_user: CurrentUser) -> None:
        self._deps = deps
        self._limiter = limiter
        self._current_user = current_user

    async def sign_in(self, request: AppRequest, username: str | None, password: str) -> AppUser:
        """Whoever sent this password, or what stands for it; Unauthorized for one that opens nothing.

        None as the username where the protocol sends no name: what is wrong then counts for the address alone, or
        anybody could lock anybody out.
        """
        name = None if username is None else plain_name(username)
        holder = await self._find(request, password)
        if holder is None or name not in (None, holder.username):
            if name is None:
                await self._limiter.begin_at(request.address)
            else:
                await self._limiter.begin(request.address, name)
            _log.warning("app_sign_in_failed", address=request.address, protocol=request.protocol)
            raise Unauthorized(WRONG_PAIR)
        return await self._user(holder, request.address)

    async def accept(self, request: AppRequest, user: AppUser, digest: str) -> None:
        """Let the app send this from now on instead of its password, for as long as that is valid."""
        token_id = user.caller.token_id
        assert token_id is not None
        await self._deps.db.with_tx(lambda tx: add_device_key_tx(tx, token_id, request.protocol, digest))

    async def find(self, password_id: PublicId, address: str) -> AppUser:
        """Whoever has this device password, for an address that we signed; NotFound once it is revoked."""
        now = self._deps.clock()
        holder = await self._deps.db.read(
            lambda tx: tx.maybe(DeviceHolder, q.find_device_by_id, public_id=password_id, now=now)
        )
        if holder is None:
            raise NotFound("This address is no longer valid: its device password was revoked.")
        return await self._user(holder, address)

    async def _find(self, request: AppRequest, key: str) -> DeviceHolder | None:
        now = self._deps.clock()
        values = {"key_hash": hash_of(key), "protocol": request.protocol, "now": now}
        holder = await self._deps.db.read(lambda tx: tx.maybe(DeviceHolder, q.find_device, **values))
        if holder is None or request.protocol not in holder.scopes.split():
            return None
        client = request.client[:LONGEST_CLIENT] or None
        if is_stale(holder.last_used_at, now, TOKEN_TOUCH) or client != holder.client:
            token_id = TokenId(holder.key_id)
            await self._deps.db.with_tx(lambda tx: tx.run(q.touch_device, id=token_id, client=client, now=now))
        return holder

    async def _user(self, holder: DeviceHolder, address: str) -> AppUser:
        caller = caller_of(holder, "token", address)
        shelf = await self._current_user.pick_shelf(caller, holder.shelf_public_id)
        kind = None if holder.kinds == "both" else holder.kinds
        return AppUser(caller, shelf, kind, holder.key_public_id)
