"""What every service of accounts is given."""

from collections.abc import Callable

import msgspec

from tsuzuki.accounts.activity import ActivityPublisher
from tsuzuki.accounts.types import Clock, Protocol, RandomBytes
from tsuzuki.db import Database
from tsuzuki.model.ids import PublicId, uuid7
from tsuzuki.model.times import Millis


class AccountDeps(msgspec.Struct, frozen=True):
    """The database, the clock, random bytes, and the publisher of activities."""

    db: Database
    clock: Clock
    random_bytes: RandomBytes
    publisher: ActivityPublisher = msgspec.field(default_factory=ActivityPublisher)
    protocols: Callable[[], tuple[Protocol, ...]] = tuple
    """Those that this server answers."""

    def new_id(self, now: Millis) -> PublicId:
        """A new public id."""
        return uuid7(now, self.random_bytes(10))
