"""Preferences, remembered."""

from typing import Any

import msgspec

from tsuzuki.accounts.preferences.nouns import Preferences
from tsuzuki.db import Tx, load_queries
from tsuzuki.model.ids import UserId
from tsuzuki.model.times import Millis

q = load_queries("tsuzuki.accounts.preferences")


async def get_preferences_tx(tx: Tx, user_id: UserId) -> dict[str, Any]:
    """What is stored, as it is stored: another version of this program may have written it."""
    return await tx.one(dict[str, Any], q.get_preferences, id=user_id)


async def set_preferences_tx(tx: Tx, user_id: UserId, preferences: Preferences, now: Millis) -> None:
    """Store them whole."""
    await tx.run(q.set_preferences, id=user_id, preferences=msgspec.to_builtins(preferences), now=now)
