"""What Komga's clients ask lists for, by parameters of the address or by nested conditions in a body."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from tsuzuki.model.ids import SeriesId, read_id, show_id
from tsuzuki.protocols.komga.conditions import CombinedCondition, Condition, ValueCondition, leaves
from tsuzuki.protocols.komga.requests import KomgaRequest
from tsuzuki.protocols.komga.views import ONGOING, STATUSES
from tsuzuki.shelves.library import (
    STATES,
    ChapterFilter,
    ChapterSort,
    LibrarySort,
    ReadState,
    SeriesFacts,
    SeriesFilter,
)

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
BOOK_SORTS: dict[str, ChapterSort] = {
    "metadata.numberSort": "number",
    "number": "number",
    "metadata.title": "title",
    "name": "title",
    "createdDate": "added",
    "created": "added",
    "lastModifiedDate": "changed",
    "lastModified": "changed",
    "metadata.releaseDate": "released",
    "readProgress.readDate": "read",
    "readProgress.lastModified": "read",
    "relevance": "relevance",
    "random": "random",
}
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
_FLAGS = ("deleted", "oneShot")
"""What no series here is."""
_NEVER_HERE = ("tag", "publisher", "sharingLabel", "ageRating")
"""What no series here has."""

Named = Mapping[str, Sequence[str]]
"""Values of which one is enough, by what they are about."""
Key = TypeVar("Key", LibrarySort, ChapterSort)


class SearchBody(msgspec.Struct, frozen=True, rename="camel"):
    """What is looked for."""

    condition: dict[str, Any] | None = None
    full_text_search: str | None = None


def named_in_address(asked: KomgaRequest) -> Named:
    """What the address says."""
    said = {about: asked.texts(name) for name, about in _PARAMETERS.items()}
    said["author"] = [text for text in asked.params.all("author") if text]
    return {about: values for about, values in said.items() if values}


def is_elsewhere(asked: KomgaRequest, named: Named) -> bool:
    """Whether nothing of this shelf can be meant."""
    is_other = "libraryId" in named and asked.library_id not in named["libraryId"]
    has_more = any(name in named for name in _NEVER_HERE)
    return is_other or has_more or any(list(named.get(name, ())) == ["true"] for name in _FLAGS)


# -- series


def series_in_address(asked: KomgaRequest) -> SeriesFilter | None:
    """Which series; None where it can be none of this shelf."""
    named = named_in_address(asked)
    if is_elsewhere(asked, named):
        return None
    groups, authors, statuses = (named.get(name) for name in ("collectionId", "author", "seriesStatus"))
    return SeriesFilter(
        words=asked.params.one("search"),
        groups=None if groups is None else [group for text in groups if (group := read_id(text)) is not None],
        states=states_in(named),
        statuses=None if statuses is None else [number for word in statuses for number in STATUSES.get(word, ())],
        genres=named.get("genre"),
        authors=None if authors is None else [_author(text) for text in authors],
        languages=named.get("language"),
    )


async def series_under(asked: KomgaRequest, condition: Condition | None, words: str) -> SeriesFilter:
    """Those that match the condition."""
    if condition is None:
        return SeriesFilter(words=words)
    among = [series for series, facts in await _facts(asked, condition) if condition.holds(facts)]
    return SeriesFilter(words=words, among=among)


async def _facts(
    asked: KomgaRequest, condition: Condition, *, of_books: bool = False
) -> list[tuple[SeriesId, dict[str, frozenset[str]]]]:
    """What is true of each followed series; only the condition's own questions are looked up."""
    about = {leaf.about for leaf in leaves(condition)}
    found = await asked.library.facts(
        asked.shelf_id, with_states="readStatus" in about and not of_books, with_genres="genre" in about
    )
    common = {"libraryId": {asked.library_id}, "mediaProfile": {"DIVINA"}, "deleted": {"false"}, "oneShot": {"false"}}
    shared = {name: frozenset(values) for name, values in common.items()}
    return [(one.id, shared | _own_facts(one, genres)) for one, genres in found]


def _own_facts(one: SeriesFacts, genres: Sequence[str]) -> dict[str, frozenset[str]]:
    makers = ((one.author, "writer"), (one.artist, "penciller"))
    status = next((word for word, numbers in STATUSES.items() if one.status in numbers), ONGOING)
    return {
        "seriesId": frozenset((show_id(one.public_id),)),
        "collectionId": frozenset((show_id(one.group_id),)),
        "seriesStatus": frozenset((status,)),
        "language": frozenset((one.language or "",)),
        "author": frozenset(text for name, role in makers if name for text in (f"{name},", f"{name},{role}")),
        "genre": frozenset(genres),
        "readStatus": frozenset(() if one.state is None else (one.state,)),
    }


# -- books


def condition_in_address(asked: KomgaRequest) -> Condition | None:
    """What the address says, as a condition."""
    named = {about: frozenset(values) for about, values in named_in_address(asked).items()}
    parts = [ValueCondition(about, some) for about, some in named.items() if about not in _FLAGS or "false" not in some]
    return CombinedCondition(parts, is_any=False) if parts else None


async def books_under(asked: KomgaRequest, condition: Condition | None, words: str) -> ChapterFilter:
    """Those that match the condition: of each series the chapters in some states."""
    allowed: dict[SeriesId, list[ReadState]] | None = None
    if condition is not None:
        allowed = {}
        for series, facts in await _facts(asked, condition, of_books=True):
            states = [state for state in STATES if condition.holds(facts | {"readStatus": frozenset((state,))})]
            if states:
                allowed[series] = states
    statuses = asked.texts("media_status")
    is_ready = None if not statuses or {"READY", "ERROR"} <= set(statuses) else "READY" in statuses
    return ChapterFilter(words=words, allowed=allowed, is_ready=is_ready, order=sorted_by(asked, BOOK_SORTS, words))


def states_in(named: Named) -> list[ReadState] | None:
    """In which states; None means all of them."""
    said = named.get("readStatus")
    return None if said is None else [state for state in STATES if state in said]


def _author(text: str) -> tuple[str, str]:
    name, _, role = text.rpartition(",") if "," in text else (text, "", "")
    return name, role


def sorted_by(asked: KomgaRequest, known: Mapping[str, Key], words: str) -> list[tuple[Key, bool]]:
    """The first two `sort` that mean something; what was searched, by how well it fits."""
    order = []
    for said in asked.params.all("sort"):
        name, _, direction = said.partition(",")
        if name in known and (words.strip() or known[name] != "relevance"):
            order.append((known[name], direction.lower() == "desc"))
    return order[:2] or ([(known["relevance"], False)] if words.strip() else [])
