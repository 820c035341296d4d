"""What answers are made of. Every success is `{"data": ...}`; a list adds `"meta"` (R48)."""

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import lru_cache
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    NewType,
    Protocol,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec
from msgspec import Meta

from tsuzuki.model.ids import PublicId, show_id
from tsuzuki.model.times import Millis, from_datetime, iso
from tsuzuki.model.titles import title_of

T = TypeVar("T")
M = TypeVar("M")
R = TypeVar("R")
V = TypeVar("V")
R_contra = TypeVar("R_contra", contravariant=True)
V_co = TypeVar("V_co", covariant=True)

Time = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
"""ISO 8601 in UTC, with milliseconds and a Z: `2026-02-22T00:16:49.000Z`."""


def shown(moment: Millis | None) -> Time | None:
    """A time that may be missing, as clients see it; `iso` for one that never is."""
    return None if moment is None else iso(moment)


def read_time(moment: datetime | None) -> Millis | None:
    """A time that may be missing, as services have it."""
    return None if moment is None else from_datetime(moment)


def copied(kind: type[V], body: msgspec.Struct, /, **changed: Any) -> V:
    """What a service takes, with the fields of a body that have the same names, and these."""
    fields = {name: getattr(body, name) for name in body.__struct_fields__ if name in kind.__struct_fields__}  # type: ignore[attr-defined]
    return kind(**fields | changed)


def display_title(title: str, text: str, at: Millis) -> str:
    """What an item is shown by: its title, else what stands for one in its text, else its day (R103)."""
    return title_of(title, text) or day_of(at)


def day_of(moment: Millis) -> str:
    """`2026-02-22`."""
    return iso(moment)[:10]


class ListAnswer(msgspec.Struct, Generic[T, M], frozen=True):
    """A list and what there is to know about it."""

    data: list[T]
    meta: M


class WithMeta(msgspec.Struct, Generic[T, M], frozen=True):
    """One thing and what there is to know about the answer."""

    data: T
    meta: M


class PageMeta(msgspec.Struct, frozen=True):
    """The position of a page in the whole list."""

    total: int
    page: int
    limit: int
    pages: int

    @classmethod
    def of(cls, total: int, page: int, limit: int) -> "PageMeta":
        """The page's place; an empty list has one page."""
        return cls(total=total, page=page, limit=limit, pages=max(1, -(-total // limit)))


class CursorMeta(msgspec.Struct, frozen=True):
    """The total, and where the next page begins; null at the end."""

    total: int
    next_cursor: str | None


class ViewError(Exception):
    """A view has a field that cannot be taken from its row. Raised when the module is imported, not by a request."""


class MakeView(Protocol[R_contra, V_co]):
    """Shows a row as clients see it, with the fields that are given at each call."""

    def __call__(self, row: R_contra, /, **given: Any) -> V_co: ...


def view_of(view: type[V], row: type[R], /, *given: str, **made: str | Callable[[R], Any]) -> MakeView[R, V]:
    """A function from a row to its view.

    Each field is the row's attribute of the same name, underscores aside, shown as the field's type says: a moment as
    ISO 8601, an id as a text, another Struct as a view of its own. `made` names another attribute, or makes the value.
    A text `x_id` is `x_public_id` where the row has that. The fields in `given` are said at each call.
    """
    have = _attributes(row)
    taken: dict[str, str] = {}
    shows: dict[str, Callable[[Any], Any]] = {}
    makes = {name: make for name, make in made.items() if not isinstance(make, str)}
    for name, wanted in get_type_hints(view, include_extras=True).items():
        how = made.get(name, "")
        if name in given or not isinstance(how, str):
            continue
        taken[name] = how or _source(name, wanted, have)
        if taken[name] not in have:
            raise ViewError(f"{view.__name__}.{name}: {row.__name__} has no such attribute")
        try:
            show = _show(wanted, have[taken[name]])
        except ViewError as error:
            raise ViewError(f"{view.__name__}.{name} of {row.__name__}.{taken[name]}: {error}") from None
        if show is not None:
            shows[name] = show
    if unknown := {*given, *made} - set(view.__struct_fields__):  # type: ignore[attr-defined]
        raise ViewError(f"{view.__name__} has no {', '.join(sorted(unknown))}")
    return _compiled(view, taken, shows, makes)


def _compiled(
    view: type[V],
    taken: Mapping[str, str],
    shows: Mapping[str, Callable[[Any], Any]],
    makes: Mapping[str, Callable[[Any], Any]],
) -> MakeView[Any, V]:
    """One expression with all fields, as `dataclasses` writes methods: a list makes fifty views, and putting the values
    of each into a dict first took longer than all the rest of it.
    """
    known: dict[str, Any] = {"view": view}
    fields = []
    for name, attribute in taken.items():
        value = f"row.{attribute}"
        if name in shows:
            known[f"show_{name}"] = shows[name]
            value = f"show_{name}({value})"
        fields.append(f"{name}={value}")
    for name, make in makes.items():
        known[f"make_{name}"] = make
        fields.append(f"{name}=make_{name}(row)")
    text = f"def make_view(row, /, **given): return view({', '.join(fields)}{', ' if fields else ''}**given)"
    exec(compile(text, f"<{view.__name__}>", "exec"), known)  # noqa: S102  names of our own fields alone
    made: MakeView[Any, V] = known["make_view"]
    return made


def _attributes(row: type) -> dict[str, Any]:
    """The types of its fields and properties."""
    found = get_type_hints(row)
    for name in dir(row):
        known = getattr(row, name)
        if isinstance(known, property):
            found[name] = get_type_hints(known.fget)["return"]
    return found


def _source(name: str, wanted: Any, have: dict[str, Any]) -> str:
    plain = {known.replace("_", ""): known for known in have}
    if name.endswith("id") and str in _kinds(wanted):
        public = plain.get(f"{name[:-2].replace('_', '')}publicid")
        if public is not None:
            return public
    return name if name in have else plain.get(name.replace("_", ""), name)


show_time = lru_cache(4096)(iso)  # lists share most of their moments, and a text for each costs more than all the rest


def _show(wanted: Any, have: Any) -> Callable[[Any], Any] | None:
    """What makes the one of the other; None where nothing has to be done."""
    is_nullable = NoneType in _kinds(have)
    if is_nullable and not _kinds(wanted) & {NoneType, Any}:
        raise ViewError("it may be None")
    show = _show_some(_some(wanted), _some(have))
    if show is None or not is_nullable:
        return show
    return lambda value: None if value is None else show(value)


def _show_some(wanted: Any, have: Any) -> Callable[[Any], Any] | None:
    if wanted == Time and have is Millis:
        return show_time
    if wanted is str and have is PublicId:
        return show_id
    if wanted is str and isinstance(have, NewType) and have.__supertype__ is int and have is not Millis:
        return str
    if get_origin(wanted) is list and get_origin(have) in (list, tuple):
        show = _show(get_args(wanted)[0], get_args(have)[0])
        if show is not None:
            return lambda values: [show(value) for value in values]
        return None if get_origin(have) is list else list
    if wanted is not have and _is_struct(wanted) and _is_struct(have):
        return view_of(wanted, have)
    if not all(_accepts(_kinds(wanted), kind) for kind in _kinds(have)):
        raise ViewError(f"{have} is not {wanted}")
    return None


def _accepts(wanted: set[Any], kind: Any) -> bool:
    is_word = get_origin(kind) is Literal and str in wanted
    return is_word or kind in wanted or Any in wanted


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _some(kind: Any) -> Any:
    """Without the None that may be in its place."""
    some = [one for one in get_args(kind) if one is not NoneType] if _is_union(kind) else [kind]
    return some[0] if len(some) == 1 else Union[tuple(some)]  # noqa: UP007  made of what is only known now


def _is_union(kind: Any) -> bool:
    return get_origin(kind) in (Union, UnionType)


def _kinds(kind: Any) -> set[Any]:
    """Every plain type that this one may be."""
    if _is_union(kind):
        return set().union(*map(_kinds, get_args(kind)))
    if get_origin(kind) is Annotated:
        return _kinds(get_args(kind)[0])
    return _kinds(kind.__supertype__) if isinstance(kind, NewType) else {kind}
