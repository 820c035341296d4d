"""A source's filters as fields of a form, and what was chosen of them as values.

`f2` is the third filter of a source, `f2.0` the first one within it.
"""

from collections.abc import Iterator, Sequence

import msgspec
from starlette.datastructures import QueryParams

from tsuzuki.connectors.filters import (
    MAX_TEXT,
    CheckBox,
    Filter,
    FilterGroup,
    FilterValue,
    GroupedFilter,
    Select,
    Sort,
    SortState,
    TextFilter,
    TriState,
)
from tsuzuki.web.ids import number_of


class Choice(msgspec.Struct, frozen=True):
    """One of several in a list."""

    value: str
    words: str


class FilterField(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the form; `kind` as the source declares it."""

    kind: str
    name: str
    label: str
    value: str = ""
    choices: tuple[Choice, ...] = ()
    is_ascending: bool = False
    fields: tuple["FilterField", ...] = ()


def fields_of(filters: Sequence[Filter], query: QueryParams) -> list[FilterField]:
    """The form, filled in as the address says, else as the source has it."""
    return [_field(entry, f"f{place}", query) for place, entry in enumerate(filters)]


def values_of(filters: Sequence[Filter], query: QueryParams) -> tuple[FilterValue, ...]:
    """What the address sets to something else than the source has it; a value that cannot be is left out."""
    found: list[FilterValue] = []
    for place, entry in enumerate(filters):
        if isinstance(entry, FilterGroup):
            for inner, part in enumerate(entry.filters):
                found += _values(part, f"f{place}.{inner}", query, group=entry.name)
        else:
            found += _values(entry, f"f{place}", query, group=None)
    return tuple(found)


def _values(
    entry: Filter | GroupedFilter, name: str, query: QueryParams, *, group: str | None
) -> Iterator[FilterValue]:
    state = _state(entry, name, query)
    if state is not None and state != getattr(entry, "state", None):
        yield FilterValue(entry.name, state, group)


def _state(entry: Filter | GroupedFilter, name: str, query: QueryParams) -> int | str | bool | SortState | None:
    """None where nothing was said, or nothing that fits."""
    said = query.get(name)
    match entry:
        case CheckBox():
            return said == "on" if "is_sent" in query else None
        case TextFilter():
            return None if said is None else said.replace("\0", "")[:MAX_TEXT]
        case TriState():
            return number_of(said) if said in ("0", "1", "2") else None
        case Select():
            chosen = number_of(said)
            return chosen if chosen is not None and chosen < len(entry.values) else None
        case Sort():
            chosen = number_of(said)
            fits = chosen is not None and chosen < len(entry.values)
            return SortState(chosen or 0, ascending=query.get(f"{name}.asc") == "on") if fits else None
        case _:
            return None


def _field(entry: Filter | GroupedFilter, name: str, query: QueryParams) -> FilterField:
    kind = str(entry.__struct_config__.tag)
    state = _state(entry, name, query)
    match entry:
        case FilterGroup():
            inner = tuple(_field(part, f"{name}.{place}", query) for place, part in enumerate(entry.filters))
            return FilterField(kind=kind, name=name, label=entry.name, fields=inner)
        case Select():
            shown = entry.state if state is None else state
            return FilterField(kind=kind, name=name, label=entry.name, value=str(shown), choices=_choices(entry.values))
        case Sort():
            sort = state if isinstance(state, SortState) else entry.state
            return FilterField(
                kind=kind,
                name=name,
                label=entry.name,
                value="" if sort is None else str(sort.index),
                choices=_choices(entry.values),
                is_ascending=sort is not None and sort.ascending,
            )
        case CheckBox():
            is_on = entry.state if state is None else state
            return FilterField(kind=kind, name=name, label=entry.name, value="on" if is_on else "")
        case TextFilter() | TriState():
            return FilterField(
                kind=kind, name=name, label=entry.name, value=str(entry.state if state is None else state)
            )
        case _:
            return FilterField(kind=kind, name=name, label=entry.name)


def _choices(values: Sequence[str]) -> tuple[Choice, ...]:
    return tuple(Choice(str(place), words) for place, words in enumerate(values))
