"""The filters of a MangaDex search, and the query that they make."""

from tsuzuki.connectors.filters import (
    CheckBox,
    Filter,
    FilterGroup,
    FilterValue,
    Select,
    Sort,
    SortState,
    TriState,
    with_values,
)
from tsuzuki.connectors.mangadex.tags import GROUPS

Query = list[tuple[str, str]]

INCLUDE, EXCLUDE = 1, 2

ORDERS = {
    "Best match": "relevance",
    "Latest chapter": "latestUploadedChapter",
    "Followers": "followedCount",
    "Rating": "rating",
    "Title": "title",
    "Year": "year",
    "Added": "createdAt",
    "Changed": "updatedAt",
}
RATINGS = {"Safe": "safe", "Suggestive": "suggestive", "Erotica": "erotica", "Pornographic": "pornographic"}
STATUSES = {"Ongoing": "ongoing", "Completed": "completed", "Hiatus": "hiatus", "Cancelled": "cancelled"}
DEMOGRAPHICS = {"Shounen": "shounen", "Shoujo": "shoujo", "Seinen": "seinen", "Josei": "josei", "None": "none"}
ORIGINS = {"Japanese": "ja", "Korean": "ko", "Chinese": "zh", "English": "en", "French": "fr"}
MODES = ("AND", "OR")

_BOXES = {
    "Status": ("status[]", STATUSES),
    "Demographic": ("publicationDemographic[]", DEMOGRAPHICS),
    "Original language": ("originalLanguage[]", ORIGINS),
}
_RATING = "Content rating"
_MODES = {"Included tags": "includedTagsMode", "Excluded tags": "excludedTagsMode"}
_SORT = "Order"


def declared(ratings: tuple[str, ...]) -> tuple[Filter, ...]:
    """All filters; those content ratings that the source's config accepts are ticked."""
    rating = FilterGroup(_RATING, tuple(CheckBox(name, value in ratings) for name, value in RATINGS.items()))
    boxes = (FilterGroup(name, tuple(CheckBox(choice) for choice in choices)) for name, (_, choices) in _BOXES.items())
    modes = (Select("Included tags", MODES, 0), Select("Excluded tags", MODES, 1))
    tags = (FilterGroup(name, tuple(TriState(tag) for tag in tags)) for name, tags in GROUPS.items())
    return (Sort(_SORT, tuple(ORDERS)), rating, *boxes, *modes, *tags)


def query_of(values: tuple[FilterValue, ...], ratings: tuple[str, ...]) -> Query:
    """The parameters of a search; `Invalid` names every value that fits no filter."""
    query: Query = []
    for entry in with_values(declared(ratings), values):
        match entry:
            case Sort(state=SortState(index=index, ascending=ascending)):
                query.append((f"order[{list(ORDERS.values())[index]}]", "asc" if ascending else "desc"))
            case Select(name=name, values=modes, state=state):
                query.append((_MODES[name], modes[state]))
            case FilterGroup():
                query += _group_query(entry)
            case _:  # an order that the reader did not choose
                query.append(("order[relevance]", "desc"))
    return query


def _group_query(group: FilterGroup) -> Query:
    if group.name in GROUPS:
        ids = GROUPS[group.name]
        names = {INCLUDE: "includedTags[]", EXCLUDE: "excludedTags[]"}
        return [(names[tag.state], ids[tag.name]) for tag in group.filters if isinstance(tag, TriState) and tag.state]
    parameter, choices = ("contentRating[]", RATINGS) if group.name == _RATING else _BOXES[group.name]
    return [(parameter, choices[box.name]) for box in group.filters if box.state]
