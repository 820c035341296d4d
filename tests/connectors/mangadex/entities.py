"""Answers in the shape of the MangaDex API, made by us."""

from typing import Any

CAT = "11111111-2222-4333-8444-555555555555"
TEA = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee"
HARBOUR = "99999999-8888-4777-8666-555555555555"
NIGHT = "99999999-8888-4777-8666-666666666666"
UPLOADER = "12121212-3434-4565-8787-909090909090"


def a_chapter_id(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012d}"


def a_manga(id_: str = CAT, **over: Any) -> dict[str, Any]:
    attributes = {
        "title": {"en": "The Lighthouse Cat"},
        "altTitles": [{"ja": "灯台の猫"}, {"ja-ro": "Toudai no Neko"}, {"en": "The Lighthouse Cat"}],
        "description": {"en": "A cat keeps the light.", "fr": "Un chat garde le phare."},
        "isLocked": False,
        "links": {"al": "1"},
        "originalLanguage": "ja",
        "lastVolume": "",
        "lastChapter": "",
        "publicationDemographic": "seinen",
        "status": "ongoing",
        "year": 2019,
        "contentRating": "safe",
        "tags": [
            {
                "id": "4d32cc48-9f00-4cca-9b5a-a839f0764984",
                "type": "tag",
                "attributes": {"name": {"en": "Comedy"}, "description": [], "group": "genre", "version": 1},
                "relationships": [],
            }
        ],
        "state": "published",
        "availableTranslatedLanguages": ["en", None, "fr"],
        "latestUploadedChapter": a_chapter_id(3),
        "createdAt": "2019-05-01T10:00:00+00:00",
        "updatedAt": "2026-05-01T10:00:00+00:00",
        "version": 12,
    }
    relationships = [
        {"id": "a1", "type": "author", "attributes": {"name": "A. Keeper", "twitter": None}},
        {"id": "a1", "type": "artist", "attributes": {"name": "A. Keeper"}},
        {"id": "a2", "type": "artist", "attributes": {"name": "B. Brush"}},
        {"id": "c1", "type": "cover_art", "attributes": {"fileName": "cover.png", "volume": "1"}},
        {"id": "m2", "type": "manga", "related": "spin_off"},
    ]
    return {"id": id_, "type": "manga", "attributes": attributes | over, "relationships": relationships}


def a_chapter(number: int = 1, *, groups: Any = None, manga: str = CAT, **over: Any) -> dict[str, Any]:
    attributes = {
        "title": "Fog",
        "volume": "1",
        "chapter": str(number),
        "pages": 20,
        "translatedLanguage": "en",
        "uploader": UPLOADER,
        "externalUrl": None,
        "isUnavailable": False,
        "version": 3,
        "createdAt": f"2024-01-01T{number // 3600 % 24:02d}:{number // 60 % 60:02d}:{number % 60:02d}+00:00",
        "updatedAt": "2024-01-01T00:00:00+00:00",
        "publishAt": "2024-01-01T00:00:00+00:00",
        "readableAt": "2024-01-02T00:00:00+00:00",
    }
    named = [{"id": HARBOUR, "type": "scanlation_group", "attributes": {"name": "Harbour Scans"}}]
    relationships = [
        *(named if groups is None else groups),
        {"id": manga, "type": "manga"},
        {"id": UPLOADER, "type": "user", "attributes": {"username": "keeper"}},
    ]
    return {
        "id": a_chapter_id(number),
        "type": "chapter",
        "attributes": attributes | over,
        "relationships": relationships,
    }


def a_list(data: list[dict[str, Any]], *, total: int | None = None, limit: int = 32, offset: int = 0) -> dict[str, Any]:
    return {
        "result": "ok",
        "response": "collection",
        "data": data,
        "limit": limit,
        "offset": offset,
        "total": len(data) if total is None else total,
    }


def an_error(status: int, title: str, detail: str) -> dict[str, Any]:
    problem = {"id": "e1", "status": status, "title": title, "detail": detail, "context": None}
    return {"result": "error", "errors": [problem]}


def at_home(base_url: str = "https://node.mangadex.network") -> dict[str, Any]:
    chapter = {"hash": "abc123", "data": ["1-x.png", "2-y.png"], "dataSaver": ["1-x.jpg", "2-y.jpg"]}
    return {"result": "ok", "baseUrl": base_url, "chapter": chapter}
