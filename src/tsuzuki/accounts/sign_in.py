"""Signing in with a username and a password."""

import msgspec
import structlog

from tsuzuki.accounts.audit import AuditEvent, record_tx
from tsuzuki.accounts.caller import get_user_tx
from tsuzuki.accounts.credentials import PasswordCheck, Passwords, device_key, hash_of
from tsuzuki.accounts.deps import AccountDeps
from tsuzuki.accounts.people import on_user
from tsuzuki.accounts.policy import DEVICE_LIFE, MOST_DEVICES, plain_name
from tsuzuki.accounts.sessions import Device, Sessions
from tsuzuki.accounts.sign_in_limits import Limiter, is_known_device_tx, remember_device_tx
from tsuzuki.accounts.store import end_session_by_key_tx, find_session_tx, get_credential_tx, set_password_hash_tx
from tsuzuki.accounts.types import Actor, Credential, User
from tsuzuki.db import Tx, load_queries
from tsuzuki.model.errors import Unauthorized
from tsuzuki.model.ids import show_id
from tsuzuki.model.times import Millis

q = load_queries("tsuzuki.accounts")

_log = structlog.stdlib.get_logger("tsuzuki.accounts")

WRONG_PAIR = "Wrong username or password."


class SignedIn(msgspec.Struct, frozen=True):
    """A person with a new session; its key goes into a cookie and nowhere else.

    So does the device's, by which it is known again.
    """

    user: User
    key: str
    device_key: str


class SignIn:
    """Signs people in. `is_open` lets in whoever has no password yet (R76): the settings allow it on loopback only."""

    def __init__(self, deps: AccountDeps, passwords: Passwords, limiter: Limiter, *, is_open: bool = False) -> None:
        self._deps = deps
        self._passwords = passwords
        self._limiter = limiter
        self._sessions = Sessions(deps)
        self._is_open = is_open

    async def sign_in(self, username: str, password: str, device: Device) -> SignedIn:
        """A new session; Unauthorized alike for a wrong name, a wrong password and a disabled account (SEC-38)."""
        name = plain_name(username)
        attempt = await self._limiter.begin(device.address, name, device=await self._known(device, name))
        signed_in = await self._try(name, password, device) or await self._try(name, password, device)
        if signed_in is None:
            raise self._refusal(device.address)
        await self._limiter.forgive(attempt)
        return signed_in

    async def sign_out(self, key: str, address: str) -> None:
        """End the session of this key; nothing happens when it opens none."""

        async def end(tx: Tx) -> None:
            now = self._deps.clock()
            holder = await find_session_tx(tx, hash_of(key), now)
            if await end_session_by_key_tx(tx, hash_of(key)) and holder is not None:
                actor = Actor(holder.user_public_id, holder.username, address)
                audit_event = AuditEvent("session.end", "session", show_id(holder.key_public_id))
                await record_tx(tx, actor, audit_event, now=now)

        await self._deps.db.with_tx(end)

    async def open_session_tx(self, tx: Tx, user: User, device: Device, *, reason: str) -> SignedIn:
        """A session for someone who has proved who they are, by whatever means `reason` says."""
        now = self._deps.clock()
        key = await self._sessions.open_tx(tx, user, device, now=now)
        known_by = device_key(self._deps.random_bytes)
        old_hash = hash_of(device.known_key) if device.known_key else None
        await remember_device_tx(tx, user.id, hash_of(known_by), old_hash=old_hash, most=MOST_DEVICES, now=now)
        actor = Actor(user.public_id, user.username, device.address)
        audit_event = on_user("session.create", user, reason=reason)
        await record_tx(tx, actor, audit_event, now=now)
        return SignedIn(user, key, known_by)

    async def _known(self, device: Device, name: str) -> bytes | None:
        """The hash of the device's key if this person has signed in with it before."""
        if device.known_key is None:
            return None
        key_hash, since = hash_of(device.known_key), Millis(self._deps.clock() - DEVICE_LIFE)
        is_known = await self._deps.db.read(lambda tx: is_known_device_tx(tx, key_hash, name, since=since))
        return key_hash if is_known else None

    @staticmethod
    def _refusal(address: str) -> Unauthorized:
        """Log the address only: what was typed as a name may be a password."""
        _log.warning("sign_in_failed", address=address)
        return Unauthorized(WRONG_PAIR)

    async def _try(self, name: str, password: str, device: Device) -> SignedIn | None:
        """None when the password was changed, or its hash bettered, while we were checking: then check again."""
        known = await self._deps.db.read(lambda tx: tx.maybe(Credential, q.find_credential, username=name))
        checked = await self._check(password, known)
        if known is None or not checked.right or known.disabled_at is not None:
            raise self._refusal(device.address)
        return await self._deps.db.with_tx(lambda tx: self._admit_tx(tx, known, checked, device=device))

    async def _check(self, password: str, known: Credential | None) -> PasswordCheck:
        checked = await self._passwords.check(password, known.password_hash if known else None)
        if self._is_open and known is not None and known.password_hash is None and not password:
            return PasswordCheck(right=True)
        return checked

    async def _admit_tx(self, tx: Tx, known: Credential, checked: PasswordCheck, *, device: Device) -> SignedIn | None:
        if await get_credential_tx(tx, known.user_id) != known:
            return None
        if checked.better is not None:
            await set_password_hash_tx(tx, known.user_id, checked.better, now=self._deps.clock())
        user = await get_user_tx(tx, known.user_id)
        return await self.open_session_tx(tx, user, device, reason="password")
