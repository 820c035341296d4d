"""Which fields Komga's clients require, and of which type, as a JSON schema."""

from typing import Any

import jsonschema

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
WORDS: Schema = {"type": "string", "minLength": 1}
WHOLE: Schema = {"type": "integer", "minimum": 0}
NUMBER: Schema = {"type": "number"}
FLAG: Schema = {"type": "boolean"}
TEXTS: Schema = {"type": "array", "items": TEXT}
TIME: Schema = {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"}
DAY: Schema = {"type": "string", "pattern": r"^\d{4}-\d\d-\d\d$"}


def thing(required: Schema, **optional: Schema) -> Schema:
    return {"type": "object", "required": sorted(required), "properties": required | optional}


def named(schema: Schema, names: str) -> Schema:
    return dict.fromkeys(names.split(), schema)


def each(schema: Schema) -> Schema:
    return {"type": "array", "items": schema}


AUTHORS = each(thing({"name": WORDS, "role": WORDS}))
TIMES = {"created": TIME, "lastModified": TIME}

SERIES = thing(
    named(WORDS, "id libraryId name")
    | {"url": TEXT, "fileLastModified": TIME}
    | TIMES
    | named(WHOLE, "booksCount booksReadCount booksUnreadCount booksInProgressCount")
    | named(FLAG, "deleted oneshot")
    | {
        "metadata": thing(
            {"status": {"enum": ["ENDED", "ONGOING", "ABANDONED", "HIATUS"]}, "title": WORDS, "titleSort": WORDS}
            | named(TEXT, "summary publisher language")
            | {"readingDirection": {"enum": ["LEFT_TO_RIGHT", "RIGHT_TO_LEFT", "VERTICAL", "WEBTOON", ""]}}
            | named(TEXTS, "genres tags sharingLabels")
            | named({"type": "array"}, "links alternateTitles")
            | named(
                FLAG,
                "statusLock titleLock titleSortLock summaryLock readingDirectionLock publisherLock ageRatingLock "
                "languageLock genresLock tagsLock totalBookCountLock sharingLabelsLock linksLock alternateTitlesLock",
            )
            | TIMES,
            ageRating=WHOLE,
            totalBookCount=WHOLE,
        ),
        "booksMetadata": thing(
            named(TEXT, "summary summaryNumber") | TIMES | {"authors": AUTHORS, "tags": TEXTS}, releaseDate=DAY
        ),
    }
)

BOOK = thing(
    named(WORDS, "id seriesId seriesTitle libraryId name")
    | named(TEXT, "url fileHash size")
    | named(WHOLE, "number sizeBytes")
    | TIMES
    | named(FLAG, "deleted oneshot")
    | {
        "fileLastModified": TIME,
        "media": thing(
            {"status": {"enum": ["READY", "ERROR"]}, "mediaType": {"const": "application/zip"}, "pagesCount": WHOLE}
            | {"mediaProfile": {"const": "DIVINA"}, "comment": TEXT}
            | named(FLAG, "epubDivinaCompatible epubIsKepub")
        ),
        "metadata": thing(
            {"title": WORDS, "number": WORDS, "numberSort": NUMBER, "authors": AUTHORS, "tags": TEXTS, "links": TEXTS}
            | named(TEXT, "summary isbn")
            | named(
                FLAG,
                "titleLock summaryLock numberLock numberSortLock releaseDateLock authorsLock tagsLock isbnLock "
                "linksLock",
            )
            | TIMES,
            releaseDate=DAY,
        ),
    },
    readProgress=thing(
        {"page": {"type": "integer", "minimum": 1}, "completed": FLAG, "readDate": TIME}
        | TIMES
        | named(TEXT, "deviceId deviceName")
    ),
)

LIBRARY = thing(
    named(WORDS, "id name scanInterval seriesCover")
    | {"root": TEXT, "scanDirectoryExclusions": TEXTS}
    | named(
        FLAG,
        "importComicInfoBook importComicInfoSeries importComicInfoCollection importComicInfoReadList "
        "importComicInfoSeriesAppendVolume importEpubBook importEpubSeries importMylarSeries importLocalArtwork "
        "importBarcodeIsbn scanForceModifiedTime scanOnStartup scanCbx scanPdf scanEpub repairExtensions convertToCbz "
        "emptyTrashAfterScan hashFiles hashPages hashKoreader analyzeDimensions unavailable",
    )
)

COLLECTION = thing(
    named(WORDS, "id name")
    | named(FLAG, "ordered filtered")
    | {"seriesIds": TEXTS, "createdDate": TIME, "lastModifiedDate": TIME}
)

PAGE = thing(
    {"number": {"type": "integer", "minimum": 1}, "fileName": WORDS, "mediaType": {"pattern": "^image/"}, "size": TEXT},
    width=WHOLE,
    height=WHOLE,
    sizeBytes=WHOLE,
)

TRACKED = thing(
    named(WHOLE, "booksCount booksReadCount booksUnreadCount booksInProgressCount")
    | named(NUMBER, "lastReadContinuousNumberSort maxNumberSort")
)

USER = thing(
    named(WORDS, "id email")
    | {"roles": TEXTS, "sharedAllLibraries": FLAG}
    | named(TEXTS, "sharedLibrariesIds labelsAllow labelsExclude")
)


LOCATION = thing({"position": {"type": "integer", "minimum": 1}, "totalProgression": {"type": "number", "maximum": 1}})
PROGRESSION = thing(
    {
        "modified": WORDS,
        "device": thing(named(WORDS, "id name")),
        "locator": thing(named(WORDS, "href type") | {"locations": LOCATION}),
    }
)

FAILURE = thing({"status": WHOLE, "error": WORDS, "message": WORDS})


def results(of: Schema) -> Schema:
    """A page of results."""
    sort = thing(named(FLAG, "empty sorted unsorted"))
    pageable = thing(named(WHOLE, "pageNumber pageSize offset") | named(FLAG, "paged unpaged") | {"sort": sort})
    return thing(
        named(WHOLE, "number numberOfElements size totalElements totalPages")
        | named(FLAG, "empty first last")
        | {"content": each(of), "pageable": pageable, "sort": sort}
    )


def check(said: Any, schema: Schema) -> None:
    """Everything that is required is there, and nothing is null."""
    jsonschema.validate(said, schema)
    assert not (nulls := list(_nulls(said, ""))), nulls


def _nulls(said: Any, path: str) -> Any:
    if said is None:
        yield path
    elif isinstance(said, dict):
        for name, value in said.items():
            yield from _nulls(value, f"{path}.{name}")
    elif isinstance(said, list):
        for value in said:
            yield from _nulls(value, path)
