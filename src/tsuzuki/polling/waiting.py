"""The hosts of which something is due, for claims that meet the long line of a full host."""

import asyncio
import math
from collections.abc import Collection, Iterable

from tsuzuki.db import Database
from tsuzuki.model.times import Millis
from tsuzuki.sources.store import waiting_hosts_tx

MOST_HOSTS = 1000
FRESH_FOR = 1.0
"""Seconds at least; then, if they are wanted, they are read again."""
SELDOM = 50
"""Times as long as it took to read them: that reads all that is due."""


class WaitingHosts:
    """What was read now and then. Used from one event loop.

    Several processes may know the same hosts: a claim takes what is still due there.
    """

    def __init__(self, db: Database, *, is_new: bool) -> None:
        """`is_new` for watches that were never looked at."""
        self.is_new = is_new
        self._db = db
        self._hosts: list[str] = []
        self._fresh_until = -math.inf
        self._is_wanted = False

    async def read(self, now: Millis) -> None:
        """See who waits, if somebody asked for it and that was not seen lately."""
        clock = asyncio.get_running_loop().time
        if not self._is_wanted or (began := clock()) < self._fresh_until:
            return
        self._hosts = await self._db.read(lambda tx: waiting_hosts_tx(tx, MOST_HOSTS, is_new=self.is_new, now=now))
        self._is_wanted = False
        self._fresh_until = clock() + max(FRESH_FOR, SELDOM * (clock() - began))

    def others(self, busy: Collection[str], most: int) -> list[str]:
        """Up to so many that are not busy, the longest waiting first."""
        self._is_wanted = True
        apart = frozenset(busy)
        found = (host for host in self._hosts if host not in apart)
        return [host for host, _ in zip(found, range(most), strict=False)]

    def forget(self, hosts: Iterable[str]) -> None:
        """Nothing more of these is due."""
        gone = frozenset(hosts)
        self._hosts = [host for host in self._hosts if host not in gone]
