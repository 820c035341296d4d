"""Search filters as a source declares them, and as a reader fills them in."""

from typing import Literal

import msgspec


class Header(msgspec.Struct, frozen=True, tag="header"):
    """A line of text between filters."""

    name: str


class Separator(msgspec.Struct, frozen=True, tag="separator"):
    """A rule between filters."""

    name: str = ""


class Select(msgspec.Struct, frozen=True, tag="select"):
    """One of several; the state is the index of the choice."""

    name: str
    values: tuple[str, ...]
    state: int = 0


class Text(msgspec.Struct, frozen=True, tag="text"):
    """Free text."""

    name: str
    state: str = ""


class CheckBox(msgspec.Struct, frozen=True, tag="checkbox"):
    """Yes or no."""

    name: str
    state: bool = False


TriStateValue = Literal[0, 1, 2]
"""Ignore, include, exclude."""


class TriState(msgspec.Struct, frozen=True, tag="tristate"):
    """Ignore, include or exclude."""

    name: str
    state: TriStateValue = 0


class SortState(msgspec.Struct, frozen=True):
    """Which of a sort's values, and in which direction."""

    index: int
    ascending: bool = False


class Sort(msgspec.Struct, frozen=True, tag="sort"):
    """An order with a direction."""

    name: str
    values: tuple[str, ...]
    state: SortState | None = None


class Group(msgspec.Struct, frozen=True, tag="group"):
    """Filters that belong together, such as all genres."""

    name: str
    filters: tuple[CheckBox | TriState | Text | Select, ...]


Filter = Header | Separator | Select | Text | CheckBox | TriState | Sort | Group


class FilterValue(msgspec.Struct, frozen=True):
    """A filter that a reader set: its name, within which group, and the new state."""

    name: str
    state: int | str | bool | SortState
    group: str | None = None
