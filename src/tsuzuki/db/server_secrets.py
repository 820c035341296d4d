"""Secrets of the server itself: random bytes that every process shares, made at its first start."""

from tsuzuki.db.queries import load_queries
from tsuzuki.db.tx import Tx
from tsuzuki.model.times import Millis

q = load_queries("tsuzuki.db.server_secrets")


KEY_SIZE = 32
"""Bytes that are enough for any of them."""


async def secret_tx(tx: Tx, name: str, fresh: bytes, now: Millis) -> bytes:
    """The server's secret of this name, the same in every process; `fresh` when there was none."""
    await tx.run(q.keep_secret, name=name, value=fresh, now=now)
    return await tx.one(bytes, q.find_secret, name=name)
