"""Sessions: one row per signed-in browser, 30 days from its last use, revocable (R73, SEC-34)."""

import msgspec

from tsuzuki.accounts.audit import AuditEvent, record_tx
from tsuzuki.accounts.caller import Caller, caller_of
from tsuzuki.accounts.credentials import hash_of, session_key
from tsuzuki.accounts.deps import AccountDeps
from tsuzuki.accounts.policy import SESSION_LIFE, SESSION_TOUCH, is_stale
from tsuzuki.accounts.store import end_session_by_key_tx, end_sessions_tx, find_session_tx
from tsuzuki.accounts.types import Session, SessionId, User
from tsuzuki.db import Tx, load_queries
from tsuzuki.model.errors import NotFound
from tsuzuki.model.ids import PublicId, show_id
from tsuzuki.model.times import Millis

q = load_queries("tsuzuki.accounts")

_BROWSERS = (
    ("edg", "Edge"),
    ("opr/", "Opera"),
    ("samsungbrowser", "Samsung Internet"),
    ("firefox", "Firefox"),
    ("fxios", "Firefox"),
    ("crios", "Chrome"),
    ("chrome", "Chrome"),
    ("safari", "Safari"),
    ("curl", "curl"),
    ("python", "Python"),
)
_SYSTEMS = (
    ("android", "Android"),
    ("iphone", "iPhone"),
    ("ipad", "iPad"),
    ("windows", "Windows"),
    ("mac os", "macOS"),
    ("cros", "ChromeOS"),
    ("linux", "Linux"),
)


def device_name(user_agent: str) -> str:
    """`Firefox on Linux`; `Unknown device` when nothing is recognised."""
    said = user_agent.lower()
    browser = next((name for mark, name in _BROWSERS if mark in said), None)
    system = next((name for mark, name in _SYSTEMS if mark in said), None)
    return " on ".join(part for part in (browser, system) if part) or "Unknown device"


LONGEST_USER_AGENT = 300


class Device(msgspec.Struct, frozen=True):
    """Where a request comes from, as far as it says so; `key` is the session's it came with.

    By `known_key` it is known again after it was signed out.
    """

    address: str
    user_agent: str = ""
    key: str | None = None
    known_key: str | None = None


class ResumedSession(msgspec.Struct, frozen=True):
    """Who a cookie stands for; `renewed` when the session was prolonged, so that the cookie should be too."""

    caller: Caller
    renewed: bool


class Sessions:
    """Opens, finds, lists and ends sessions."""

    def __init__(self, deps: AccountDeps) -> None:
        self._deps = deps

    async def open_tx(self, tx: Tx, user: User, device: Device, *, now: Millis) -> str:
        """A new session's key. The one that the browser came with ends: a key from before is worth nothing after."""
        if device.key is not None:
            await end_session_by_key_tx(tx, hash_of(device.key))
        key = session_key(self._deps.random_bytes)
        await tx.run(
            q.add_session,
            public_id=self._deps.new_id(now),
            user_id=user.id,
            key_hash=hash_of(key),
            user_agent=device.user_agent[:LONGEST_USER_AGENT],
            address=device.address,
            expires_at=Millis(now + SESSION_LIFE),
            now=now,
        )
        return key

    async def resume(self, key: str, address: str) -> ResumedSession | None:
        """The owner of this session key; None when it is unknown or has ended."""
        now = self._deps.clock()
        holder = await self._deps.db.read(lambda tx: find_session_tx(tx, hash_of(key), now))
        if holder is None:
            return None
        renewed = is_stale(holder.last_used_at, now, SESSION_TOUCH)
        if renewed:
            session_id = SessionId(holder.key_id)
            expires_at = Millis(now + SESSION_LIFE)
            await self._deps.db.with_tx(
                lambda tx: tx.run(q.touch_session, id=session_id, address=address, expires_at=expires_at, now=now)
            )
        return ResumedSession(caller_of(holder, "session", address), renewed)

    async def list(self, caller: Caller) -> list[Session]:
        """The caller's own, last used first."""
        return await self._deps.db.read(
            lambda tx: tx.many(Session, q.list_sessions, user_id=caller.user_id, now=self._deps.clock())
        )

    async def end(self, caller: Caller, public_id: PublicId) -> None:
        """End one of the caller's own."""

        async def end(tx: Tx) -> None:
            if not await tx.run(q.end_session, user_id=caller.user_id, public_id=public_id):
                raise NotFound("There is no such session.")
            await self._record_tx(tx, caller, AuditEvent("session.end", "session", show_id(public_id)))

        await self._deps.db.with_tx(end)

    async def end_others(self, caller: Caller) -> int:
        """End all of the caller's but the one that is calling; how many that were."""

        async def end(tx: Tx) -> int:
            ended = await end_sessions_tx(tx, caller.user_id, but=caller.session_id)
            audit_event = AuditEvent(
                "session.end_others", "user", show_id(caller.user_public_id), after={"ended": ended}
            )
            await self._record_tx(tx, caller, audit_event)
            return ended

        return await self._deps.db.with_tx(end)

    async def _record_tx(self, tx: Tx, caller: Caller, audit_event: AuditEvent) -> None:
        await record_tx(tx, caller.actor, audit_event, now=self._deps.clock())
