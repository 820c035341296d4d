"""Search filters as a source declares them, and as a reader fills them in."""

from typing import Literal, TypeVar

import msgspec

from tsuzuki.model.errors import Invalid, Problem

MAX_TEXT = 500


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


class TextFilter(msgspec.Struct, frozen=True, tag="text"):
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


GroupedFilter = CheckBox | TriState | TextFilter | Select


class FilterGroup(msgspec.Struct, frozen=True, tag="group"):
    """Filters that belong together, such as all genres."""

    name: str
    filters: tuple[GroupedFilter, ...]


Filter = Header | Separator | Select | TextFilter | CheckBox | TriState | Sort | FilterGroup


class FilterValue(msgspec.Struct, frozen=True):
    """A filter that a reader set: its name, within which group, and the new state."""

    name: str
    state: int | str | bool | SortState
    group: str | None = None


def with_values(filters: tuple[Filter, ...], values: tuple[FilterValue, ...]) -> tuple[Filter, ...]:
    """The filters as the reader set them, or `Invalid` with every value that fits none of them."""
    problems: list[Problem] = []
    wanted = {(value.group, value.name): value.state for value in values}
    known: set[tuple[str | None, str]] = {(None, entry.name) for entry in filters if not isinstance(entry, FilterGroup)}
    known |= {
        (entry.name, inner.name) for entry in filters if isinstance(entry, FilterGroup) for inner in entry.filters
    }
    for group, name in wanted.keys() - known:
        problems.append(Problem(_place(group, name), "This source has no such filter."))
    result = tuple(_with_state(entry, None, wanted, problems) for entry in filters)
    if problems:
        raise Invalid(f"{problems[0].field}: {problems[0].message}", tuple(problems))
    return result


FilterStates = dict[tuple[str | None, str], int | str | bool | SortState]
F = TypeVar("F", Filter, GroupedFilter)


def _with_state(entry: F, group: str | None, wanted: FilterStates, problems: list[Problem]) -> F:
    if isinstance(entry, FilterGroup):
        inner = tuple(_with_state(part, entry.name, wanted, problems) for part in entry.filters)
        return msgspec.structs.replace(entry, filters=inner)
    if (group, entry.name) not in wanted:
        return entry
    state = wanted[group, entry.name]
    reason = _misfit(entry, state)
    if reason:
        problems.append(Problem(_place(group, entry.name), reason))
        return entry
    return msgspec.structs.replace(entry, state=state)


def _misfit(entry: Filter, state: int | str | bool | SortState) -> str | None:  # noqa: FBT001  # a state, not a switch
    """Why this state cannot be that filter's; None when it can."""
    match entry:
        case Select(values=choices):
            fits = type(state) is int and 0 <= state < len(choices)
            return None if fits else f"Expected a number from 0 to {len(choices) - 1}."
        case Sort(values=choices):
            fits = isinstance(state, SortState) and 0 <= state.index < len(choices)
            return None if fits else f"Expected an index from 0 to {len(choices) - 1} and a direction."
        case TextFilter():
            return (
                None if isinstance(state, str) and len(state) <= MAX_TEXT else f"Expected up to {MAX_TEXT} characters."
            )
        case CheckBox():
            return None if isinstance(state, bool) else "Expected true or false."
        case TriState():
            return None if type(state) is int and 0 <= state <= 2 else "Expected 0, 1 or 2."
        case _:
            return "This is not a filter."


def _place(group: str | None, name: str) -> str:
    return f"filters.{group}.{name}" if group else f"filters.{name}"
