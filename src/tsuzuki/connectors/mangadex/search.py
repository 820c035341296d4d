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

FORMATS = {
    "4-Koma": "b11fda93-8f1d-4bef-b2ed-8803d3733170",
    "Adaptation": "f4122d1c-3b44-44d0-9936-ff7502c39ad3",
    "Anthology": "51d83883-4103-437c-b4b1-731cb73d786c",
    "Award Winning": "0a39b5a1-b235-4886-a747-1d05d216532d",
    "Doujinshi": "b13b2a48-c720-44a9-9c77-39c9979373fb",
    "Fan Colored": "7b2ce280-79ef-4c09-9b58-12b7c23a9b78",
    "Full Color": "f5ba408b-0e7a-484d-8d49-4e9125ac96de",
    "Long Strip": "3e2b8dae-350e-4ab8-a8ce-016e844b9f0d",
    "Official Colored": "320831a8-4026-470b-94f6-8353740e6f04",
    "Oneshot": "0234a31e-a729-4e28-9d6a-3f87c4966b9e",
    "User Created": "891cf039-b895-47f0-9229-bef4c96eccd4",
    "Web Comic": "e197df38-d0e7-43b5-9b09-2842d0c326dd",
}

GENRES = {
    "Action": "391b0423-d847-456f-aff0-8b0cfc03066b",
    "Adventure": "87cc87cd-a395-47af-b27a-93258283bbc6",
    "Boys' Love": "5920b825-4181-4a17-beeb-9918b0ff7a30",
    "Comedy": "4d32cc48-9f00-4cca-9b5a-a839f0764984",
    "Crime": "5ca48985-9a9d-4bd8-be29-80dc0303db72",
    "Drama": "b9af3a63-f058-46de-a9a0-e0c13906197a",
    "Fantasy": "cdc58593-87dd-415e-bbc0-2ec27bf404cc",
    "Girls' Love": "a3c67850-4684-404e-9b7f-c69850ee5da6",
    "Historical": "33771934-028e-4cb3-8744-691e866a923e",
    "Horror": "cdad7e68-1419-41dd-bdce-27753074a640",
    "Isekai": "ace04997-f6bd-436e-b261-779182193d3d",
    "Magical Girls": "81c836c9-914a-4eca-981a-560dad663e73",
    "Mecha": "50880a9d-5440-4732-9afb-8f457127e836",
    "Medical": "c8cbe35b-1b2b-4a3f-9c37-db84c4514856",
    "Mystery": "ee968100-4191-4968-93d3-f82d72be7e46",
    "Philosophical": "b1e97889-25b4-4258-b28b-cd7f4d28ea9b",
    "Psychological": "3b60b75c-a2d7-4860-ab56-05f391bb889c",
    "Romance": "423e2eae-a7a2-4a8b-ac03-a8351462d71d",
    "Sci-Fi": "256c8bd9-4904-4360-bf4f-508a76d67183",
    "Slice of Life": "e5301a23-ebd9-49dd-a0cb-2add944c7fe9",
    "Sports": "69964a64-2f90-4d33-beeb-f3ed2875eb4c",
    "Superhero": "7064a261-a137-4d3a-8848-2d385de3a99c",
    "Thriller": "07251805-a27e-4d59-b488-f0bfbec15168",
    "Tragedy": "f8f62932-27da-4fe4-8ee1-6779a8c5edba",
    "Wuxia": "acc803a4-c95a-4c22-86fc-eb6b582d82a2",
}

THEMES = {
    "Aliens": "e64f6742-c834-471d-8d72-dd51fc02b835",
    "Animals": "3de8c75d-8ee3-48ff-98ee-e20a65c86451",
    "Cooking": "ea2bc92d-1c26-4930-9b7c-d5c0dc1b6869",
    "Crossdressing": "9ab53f92-3eed-4e9b-903a-917c86035ee3",
    "Delinquents": "da2d50ca-3018-4cc0-ac7a-6b7d472a29ea",
    "Demons": "39730448-9a5f-48a2-85b0-a70db87b1233",
    "Genderswap": "2bd2e8d0-f146-434a-9b51-fc9ff2c5fe6a",
    "Ghosts": "3bb26d85-09d5-4d2e-880c-c34b974339e9",
    "Harem": "aafb99c1-7f60-43fa-b75f-fc9502ce29c7",
    "Mafia": "85daba54-a71c-4554-8a28-9901a8b0afad",
    "Magic": "a1f53773-c69a-4ce5-8cab-fffcd90b1565",
    "Martial Arts": "799c202e-7daa-44eb-9cf7-8a3c0441531e",
    "Military": "ac72833b-c4e9-4878-b9db-6c8a4a99444a",
    "Monster Girls": "dd1f77c5-dea9-4e2b-97ae-224af09caf99",
    "Monsters": "36fd93ea-e8b8-445e-b836-358f02b3d33d",
    "Music": "f42fbf9e-188a-447b-9fdc-f19dc1e4d685",
    "Ninja": "489dd859-9b61-4c37-af75-5b18e88daafc",
    "Office Workers": "92d6d951-ca5e-429c-ac78-451071cbf064",
    "Police": "df33b754-73a3-4c54-80e6-1a74a8058539",
    "Post-Apocalyptic": "9467335a-1b83-4497-9231-765337a00b96",
    "Reincarnation": "0bc90acb-ccc1-44ca-a34a-b9f3a73259d0",
    "Reverse Harem": "65761a2a-415e-47f3-bef2-a9dababba7a6",
    "Samurai": "81183756-1453-4c81-aa9e-f6e1b63be016",
    "School Life": "caaa44eb-cd40-4177-b930-79d3ef2afe87",
    "Supernatural": "eabc5b4c-6aff-42f3-b657-3e90cbd00b75",
    "Survival": "5fff9cde-849c-4d78-aab0-0d52b2ee1d25",
    "Time Travel": "292e862b-2d17-4062-90a2-0356caa4ae27",
    "Traditional Games": "31932a7e-5b8e-49a6-9f12-2afa39dc544c",
    "Vampires": "d7d1730f-6eb0-4ba6-9437-602cac38664c",
    "Video Games": "9438db5a-7e2a-4ac0-b39e-e0d95a34b8a8",
    "Villainess": "d14322ac-4d6f-4e9b-afd9-629d5f4d8a41",
    "Virtual Reality": "8c86611e-fab7-4986-9dec-d1a2f44acdd5",
    "Zombies": "631ef465-9aba-4afb-b0fc-ea10efe274a8",
}

CONTENT = {
    "Gore": "b29d6a3d-1569-4e7a-8caf-7557bc92cd5d",
    "Sexual Violence": "97893a4c-12af-4dac-b6be-0dffb353568e",
}

GROUPS = {"Genres": GENRES, "Themes": THEMES, "Formats": FORMATS, "Content": CONTENT}


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
