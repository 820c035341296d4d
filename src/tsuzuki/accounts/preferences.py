"""Preferences: how the pages look and behave for one person."""

from collections.abc import Mapping
from functools import cache
from typing import Any, Literal

import msgspec

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.deps import AccountDeps
from tsuzuki.db import Tx, load_queries
from tsuzuki.model.errors import Invalid, Problem
from tsuzuki.model.ids import UserId
from tsuzuki.model.times import Millis

Theme = Literal["auto", "light", "dark"]
Density = Literal["cozy", "compact"]
TextSize = Literal["small", "normal", "large", "huge"]
ReadingFont = Literal["serif", "sans"]
ReadingWidth = Literal["narrow", "normal", "wide"]
LibraryLook = Literal["grid", "list"]
Clock = Literal["auto", "12", "24"]


class Preferences(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One person's choices."""

    theme: Theme = "auto"
    density: Density = "cozy"
    text_size: TextSize = "normal"
    reading_font: ReadingFont = "serif"
    reading_width: ReadingWidth = "normal"
    clock: Clock = "auto"
    marks_on_scroll: bool = False
    """Whether what scrolled out of sight above counts as read."""
    opds_turns_pages: bool = False
    """Whether a page that an OPDS app fetches counts as read: apps fetch pages ahead, too."""
    library_look: LibraryLook = "grid"
    time_zone: str = ""
    """A name of the tz database; empty until a browser reported it."""


q = load_queries("tsuzuki.accounts.preferences")


async def get_preferences_tx(tx: Tx, user_id: UserId) -> dict[str, Any]:
    """The stored values as they are: another version of this program may have written them."""
    return await tx.one(dict[str, Any], q.get_preferences, id=user_id)


async def set_preferences_tx(tx: Tx, user_id: UserId, preferences: Preferences, now: Millis) -> None:
    """Store the preferences, all of them."""
    await tx.run(q.set_preferences, id=user_id, preferences=msgspec.to_builtins(preferences), now=now)


class PreferenceService:
    """Reads and changes one's own preferences."""

    def __init__(self, deps: AccountDeps) -> None:
        self._deps = deps

    async def get(self, caller: Caller) -> Preferences:
        """The caller's preferences, with defaults for what was never chosen."""
        return read_preferences(await self._deps.db.read(lambda tx: get_preferences_tx(tx, caller.user_id)))

    async def change(self, caller: Caller, changes: Mapping[str, Any]) -> Preferences:
        """Choose these, and leave the others; Invalid for a name or a value that there is not."""

        async def change(tx: Tx) -> Preferences:
            before = read_preferences(await get_preferences_tx(tx, caller.user_id))
            wanted = _changed(before, changes)
            if wanted != before:
                await set_preferences_tx(tx, caller.user_id, wanted, self._deps.clock())
            return wanted

        return await self._deps.db.with_tx(change)


def read_preferences(stored: Mapping[str, Any]) -> Preferences:
    """The preferences that this version knows; a value that is no longer a choice counts as not chosen."""
    known: dict[str, Any] = {}
    for name, kind in _kinds().items():
        if name in stored:
            try:
                known[name] = msgspec.convert(stored[name], kind)
            except msgspec.ValidationError:
                continue
    return Preferences(**known)


def _changed(before: Preferences, changes: Mapping[str, Any]) -> Preferences:
    kinds = _kinds()
    chosen: dict[str, Any] = {}
    problems = []
    for name, value in changes.items():
        try:
            chosen[name] = msgspec.convert(value, kinds[name])
        except (KeyError, msgspec.ValidationError):
            problems.append(Problem(name, "Choose one of the options."))
    if problems:
        raise Invalid(problems[0].message, tuple(problems))
    return msgspec.structs.replace(before, **chosen)


@cache
def _kinds() -> dict[str, Any]:
    return {field.name: field.type for field in msgspec.structs.fields(Preferences)}
