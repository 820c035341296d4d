"""The verbs about preferences."""

from collections.abc import Mapping
from typing import Any

import msgspec

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.deps import AccountDeps
from tsuzuki.accounts.preferences.nouns import Preferences
from tsuzuki.accounts.preferences.store import get_preferences_tx, set_preferences_tx
from tsuzuki.db import Tx
from tsuzuki.model.errors import Invalid, Problem


class PreferenceService:
    """Reads and changes one's own preferences."""

    def __init__(self, deps: AccountDeps) -> None:
        self._deps = deps

    async def look(self, caller: Caller) -> Preferences:
        """The caller's; the default for everything that was never chosen."""
        return read_preferences(await self._deps.db.read(lambda tx: get_preferences_tx(tx, caller.user_id)))

    async def change(self, caller: Caller, wishes: Mapping[str, Any]) -> Preferences:
        """Choose these, and leave the others; Invalid for a name or a value that there is not."""

        async def change(tx: Tx) -> Preferences:
            before = read_preferences(await get_preferences_tx(tx, caller.user_id))
            wanted = _changed(before, wishes)
            if wanted != before:
                await set_preferences_tx(tx, caller.user_id, wanted, self._deps.clock())
            return wanted

        return await self._deps.db.with_tx(change)


def read_preferences(stored: Mapping[str, Any]) -> Preferences:
    """What is understood of them: a value that is no longer a choice counts as not chosen."""
    known: dict[str, Any] = {}
    for field in msgspec.structs.fields(Preferences):
        if field.name in stored:
            try:
                known[field.name] = msgspec.convert(stored[field.name], field.type)
            except msgspec.ValidationError:
                continue
    return Preferences(**known)


def _changed(before: Preferences, wishes: Mapping[str, Any]) -> Preferences:
    kinds = {field.name: field.type for field in msgspec.structs.fields(Preferences)}
    chosen: dict[str, Any] = {}
    problems = []
    for name, value in wishes.items():
        try:
            chosen[name] = msgspec.convert(value, kinds[name])
        except (KeyError, msgspec.ValidationError):
            problems.append(Problem(name, "There is no such choice."))
    if problems:
        raise Invalid(problems[0].message, tuple(problems))
    return msgspec.structs.replace(before, **chosen)
