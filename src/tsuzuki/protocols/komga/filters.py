"""What Komga's clients ask lists for, by parameters of the address or by nested conditions in a body."""

from collections.abc import Mapping, Sequence
from typing import Any, get_args

import msgspec

from tsuzuki.model.errors import Invalid
from tsuzuki.model.ids import PublicId, read_id
from tsuzuki.protocols.komga.requests import KomgaRequest
from tsuzuki.protocols.komga.views import STATUSES
from tsuzuki.shelves.library import LibrarySort, ReadState, SeriesFilter

SORTS: dict[str, LibrarySort] = {
    "metadata.titleSort": "title",
    "metadata.title": "title",
    "name": "title",
    "lastModifiedDate": "latest",
    "lastModified": "latest",
    "createdDate": "added",
    "created": "added",
    "relevance": "relevance",
    "random": "random",
}
STATES: tuple[ReadState, ...] = get_args(ReadState)
_PARAMETERS = {
    "library_id": "libraryId",
    "collection_id": "collectionId",
    "read_status": "readStatus",
    "status": "seriesStatus",
    "genre": "genre",
    "language": "language",
    "tag": "tag",
    "publisher": "publisher",
    "sharing_label": "sharingLabel",
    "age_rating": "ageRating",
    "deleted": "deleted",
    "oneshot": "oneShot",
}
"""As conditions call them. Whatever else is said is ignored."""
MOST_CONDITIONS = 3_000
"""With what they consist of: names, operators and values."""
_NEVER_HERE = ("tag", "publisher", "sharingLabel", "ageRating")
"""What no series here has."""

Facts = Mapping[str, Sequence[str]]
"""Values of which one is enough, by what they are about."""


class BookFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which books."""

    words: str = ""
    series: PublicId | None = None
    states: Sequence[ReadState] | None = None


class SearchBody(msgspec.Struct, frozen=True, rename="camel"):
    """What is looked for."""

    condition: dict[str, Any] | None = None
    full_text_search: str | None = None


def facts_of_parameters(asked: KomgaRequest) -> Facts:
    """What the address says."""
    said = {about: asked.texts(name) for name, about in _PARAMETERS.items()}
    said["author"] = [text for text in asked.params.all("author") if text]
    return {about: values for about, values in said.items() if values}


def facts_of_condition(condition: object) -> Facts:
    """What a condition says. One that narrows in a way that is not known here narrows nothing.

    Invalid for more conditions than any app has.
    """
    if _count_of(condition) > MOST_CONDITIONS:
        raise Invalid(f"A search can have at most {MOST_CONDITIONS:,} conditions, names and values.")
    return _facts_of(condition)


def _count_of(condition: object) -> int:
    """How many conditions it is made of."""
    if isinstance(condition, dict):
        return sum(1 + _count_of(said) for said in condition.values())
    return sum(map(_count_of, condition)) if isinstance(condition, list) else 0


def _facts_of(condition: object) -> Facts:
    if not isinstance(condition, dict):
        return {}
    found: list[Facts] = []
    for name, said in condition.items():
        if name in {"allOf", "anyOf"}:
            inner = [_facts_of(each) for each in said] if isinstance(said, list) else []
            found.append(_all_of(inner) if name == "allOf" else _any_of(inner))
        elif (values := _values(name, said)) is not None:
            found.append({name: values})
    return _all_of(found)


def _all_of(facts: Sequence[Facts]) -> dict[str, Sequence[str]]:
    joined: dict[str, Sequence[str]] = {}
    for one in facts:
        for about, values in one.items():
            joined[about] = [value for value in values if about not in joined or value in joined[about]]
    return joined


def _any_of(facts: Sequence[Facts]) -> Facts:
    """Where all are about the same."""
    about = {name for one in facts for name in one}
    if len(about) != 1 or not all(facts):
        return {}
    [name] = about
    return {name: [value for one in facts for value in one[name]]}


def _values(name: str, said: object) -> Sequence[str] | None:
    if not isinstance(said, dict):
        return None
    operator, value = said.get("operator"), said.get("value")
    if operator in {"isTrue", "isFalse"}:
        return ["true" if operator == "isTrue" else "false"]
    if name == "author" and isinstance(value, dict):
        value = f"{value.get('name', '')},{value.get('role') or ''}"
    if not isinstance(value, str):
        return None
    if operator == "isNot" and name == "readStatus":
        return [state for state in STATES if state != value]
    return [value] if operator == "is" else None


def series_filter(asked: KomgaRequest, facts: Facts, words: str) -> SeriesFilter | None:
    """Which series; None where it can be none of this shelf."""
    if _is_elsewhere(asked, facts):
        return None
    groups = facts.get("collectionId")
    authors = facts.get("author")
    statuses = facts.get("seriesStatus")
    wanted = SeriesFilter(
        words=words,
        groups=None if groups is None else [group for text in groups if (group := read_id(text)) is not None],
        states=_states(facts),
        statuses=None if statuses is None else [number for word in statuses for number in STATUSES.get(word, ())],
        genres=facts.get("genre"),
        authors=None if authors is None else [_author(text) for text in authors],
        languages=facts.get("language"),
    )
    return sorted_as_asked(asked, wanted)


def book_filter(asked: KomgaRequest, facts: Facts, words: str) -> BookFilter | None:
    """Which books; None where it can be none of this shelf."""
    series = [read_id(text) for text in facts.get("seriesId", ())]
    if _is_elsewhere(asked, facts) or ("seriesId" in facts and series[:1] in ([], [None])):
        return None
    return BookFilter(words=words, series=series[0] if series else None, states=_states(facts))


def _is_elsewhere(asked: KomgaRequest, facts: Facts) -> bool:
    is_other = "libraryId" in facts and asked.library_id not in facts["libraryId"]
    has_more = any(name in facts for name in _NEVER_HERE)
    return is_other or has_more or any(list(facts.get(name, ())) == ["true"] for name in ("deleted", "oneShot"))


def _states(facts: Facts) -> list[ReadState] | None:
    said = facts.get("readStatus")
    return None if said is None else [state for state in STATES if state in said]


def _author(text: str) -> tuple[str, str]:
    name, _, role = text.rpartition(",") if "," in text else (text, "", "")
    return name, role


def sorted_as_asked(asked: KomgaRequest, wanted: SeriesFilter) -> SeriesFilter:
    """By the first `sort` that means something; what was searched, by how well it fits."""
    for said in asked.params.all("sort"):
        name, _, direction = said.partition(",")
        if name in SORTS and (wanted.words or SORTS[name] != "relevance"):
            return msgspec.structs.replace(wanted, sort=SORTS[name], downwards=direction.lower() == "desc")
    return msgspec.structs.replace(wanted, sort="relevance") if wanted.words.strip() else wanted
