"""Komga's API as other apps call it: conditions, lists of what to read, progress by pages, events."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from tests.api.people import RunningApp, a_running_app
from tests.app import in_settings
from tests.builders import a_new_chapter
from tests.catalogue.merge_builders import a_merging
from tests.images.builders import a_gallery, a_picture
from tests.images.test_downloads import fill, no_release_tx
from tests.protocols import komga_schema as schema
from tests.protocols.komga import BASE, KomgaReader, a_komga_reader, said
from tests.protocols.test_pictures import follow_gallery
from tests.web.sample_shelf import release_chapters
from tsuzuki.accounts.types import SYSTEM, Slice
from tsuzuki.db.queries import parse_queries
from tsuzuki.ingest.chapters import upsert_chapters_tx
from tsuzuki.model.ids import ChapterId, PublicId, SeriesId, read_id, show_id
from tsuzuki.model.times import MINUTE, iso
from tsuzuki.shelves.backfill import deliver_known_chapters_tx
from tsuzuki.shelves.library import ChapterFilter, Library, SeriesFilter
from tsuzuki.shelves.types import ChapterSelection

q = parse_queries(
    "tests",
    """
-- name: find_series
select id from series where public_id = :public_id;
-- name: set_genres
update series_source set genres = :genres where id = :id;
""",
    """
-- name: set_genres
update series_source set genres = cast(:genres as jsonb) where id = :id;
""",
)


@pytest.fixture
async def app(empty_database_url, tmp_path) -> AsyncIterator[RunningApp]:
    async with a_running_app(tmp_path, database_url=in_settings(empty_database_url)) as app:
        yield app


@pytest.fixture
async def ann(app) -> KomgaReader:
    return await a_komga_reader(app)


async def test_bodies_have_all_that_apps_require(tmp_path, empty_database_url):
    async with a_gallery(tmp_path, empty_database_url, pages=2) as gallery:
        ann = await a_komga_reader(gallery.app)
        await follow_gallery(gallery, ann)
        await ann.add("Of nobody", "")
        await ann.add("Known", 1, "Extra", author="A", artist="B", description="C", language="en", status=6)
        gallery.show(0, a_picture())
        [library] = await ann.get("/api/v1/libraries")
        schema.check(library, schema.LIBRARY)
        schema.check(await ann.get("/api/v2/users/me?remember-me=true"), schema.USER)
        found = await ann.get("/api/v1/series?unpaged=true&sort=name")
        schema.check(found, schema.results(schema.SERIES))
        for row in found["content"]:
            await ann.done("PUT", f"/api/v2/series/{row['id']}/read-progress/tachiyomi", {"lastBookNumberSortRead": 1})
            books = await ann.get(f"/api/v1/series/{row['id']}/books?unpaged=true")
            schema.check(books, schema.results(schema.BOOK))
            tracked = await ann.get(f"/api/v2/series/{row['id']}/read-progress/tachiyomi")
            schema.check(tracked, schema.TRACKED)
            again = await ann.get(f"/api/v1/series/{row['id']}")
            assert {name: again[name] for name in tracked if name in again} == {
                name: tracked[name] for name in tracked if name in again
            }
        book = f"/api/v1/books/{gallery.chapter_id}"
        assert (await ann.call("GET", f"{book}/pages/1")).status == 200
        schema.check(await ann.get(f"{book}/pages"), schema.each(schema.PAGE))
        schema.check(await ann.get("/api/v1/collections"), schema.results(schema.COLLECTION))
        schema.check(await ann.get("/api/v1/readlists"), schema.results({"not": {}}))


KOMELIA = {"user-agent": "Snd-R/Komelia (https://github.com/Snd-R/Komelia)"}


def without_nulls(what: Any) -> Any:
    if isinstance(what, dict):
        return {name: without_nulls(each) for name, each in what.items() if each is not None}
    return [without_nulls(each) for each in what] if isinstance(what, list) else what


async def test_komelia_finds_null_where_a_value_is_missing(tmp_path, empty_database_url):
    """Its library needs every field of Komga's; in the bodies of all others no field is null."""
    async with a_gallery(tmp_path, empty_database_url, pages=2) as gallery:
        ann = await a_komga_reader(gallery.app)
        await follow_gallery(gallery, ann)
        book = f"/api/v1/books/{gallery.chapter_id}"
        series = f"/api/v1/series/{(await ann.get(book))['seriesId']}"

        async def told(path: str) -> Any:
            found = await ann.get(path, headers=ann.basic | KOMELIA)
            assert without_nulls(found) == await ann.get(path)
            return found

        assert (await told("/api/v2/users/me"))["ageRestriction"] is None
        assert (await told("/api/v1/libraries"))[0]["oneshotsDirectory"] is None
        for one in (await told(series), (await told("/api/v1/series"))["content"][0]):
            assert (one["metadata"]["ageRating"], one["metadata"]["totalBookCount"]) == (None, None)
            assert "releaseDate" in one["booksMetadata"]
        for one in (await told(book), (await told(f"{series}/books"))["content"][0]):
            assert one["readProgress"] is None
            assert one["metadata"]["releaseDate"]
        page = (await told(f"{book}/pages"))[0]
        assert (page["width"], page["height"], page["sizeBytes"]) == (None, None, None)
        await told("/api/v1/collections")
        await told(f"{book}/manifest")


async def cookies_of(ann: KomgaReader, method: str, path: str, headers: dict[str, str]) -> list[str]:
    async with ann.app.client._session.request(method, f"{ann.app.client.base}{BASE}{path}", headers=headers) as answer:
        assert answer.status in {200, 204}
        return answer.headers.getall("set-cookie")


async def test_komelia_returns_with_its_remember_me_cookie(ann):
    lasting, session = await cookies_of(ann, "GET", "/api/v2/users/me?remember-me=true", ann.basic | KOMELIA)
    assert session.startswith("KOMGA-SESSION=")
    assert lasting == session.replace("KOMGA-SESSION", "komga-remember-me")
    cookie = {"cookie": lasting.partition(";")[0]}
    assert (await ann.get("/api/v2/users/me", headers=cookie))["email"] == ann.user.username
    assert len(await cookies_of(ann, "GET", "/api/v2/users/me?remember-me=false", ann.basic)) == 1
    taken_back = [line.partition(";")[0] for line in await cookies_of(ann, "POST", "/api/logout", cookie)]
    assert taken_back == ["komga-remember-me=", "KOMGA-SESSION="]
    await ann.refused(401, "GET", "/api/v2/users/me", headers={"cookie": "komga-remember-me=komga-x"})


async def test_covers_and_files_are_given_out(tmp_path, empty_database_url):
    async with a_gallery(tmp_path, empty_database_url, pages=2) as gallery:
        ann = await a_komga_reader(gallery.app)
        await follow_gallery(gallery, ann)
        [row] = await ann.content("/api/v1/series")
        await ann.refused(404, "GET", f"/api/v1/series/{row['id']}/thumbnail")
        await gallery.show_cover(a_picture())
        for path in (f"/api/v1/series/{row['id']}/thumbnail", f"/api/v1/books/{gallery.chapter_id}/thumbnail"):
            cover = await ann.call("GET", path)
            assert (cover.status, cover.headers["content-type"]) == (200, "image/jpeg"), cover.text
        pictures = [a_picture(color=color) for color in ("red", "green")]
        for position, picture in enumerate(pictures):
            gallery.show(position, picture)
        small = await ann.call("GET", f"/api/v1/books/{gallery.chapter_id}/pages/1/thumbnail")
        assert small.headers["content-type"] == "image/webp"
        file = await ann.call("GET", f"/api/v1/books/{gallery.chapter_id}/file")
        assert (file.status, file.body[:2]) == (200, b"PK")
        assert all(picture in file.body for picture in pictures)
        await gallery.db.with_tx(lambda tx: tx.run(q.set_genres, id=gallery.manga_id, genres=["Sea", "Cats"]))
        assert await ann.get("/api/v1/genres") == ["Cats", "Sea"]
        assert (await ann.content("/api/v1/series?genre=Horror,Sea"))[0]["metadata"]["genres"] == ["Cats", "Sea"]
        assert await ann.content("/api/v1/series?genre=Horror") == []


async def test_a_downloaded_chapter_is_read_without_its_source(tmp_path, empty_database_url):
    async with a_gallery(tmp_path, empty_database_url) as gallery:
        ann = await a_komga_reader(gallery.app)
        await follow_gallery(gallery, ann)
        pictures = fill(gallery)
        own = msgspec.structs.replace(gallery, reader=await gallery.app.signed_in(ann.user))
        await own.reader.post(own.download)
        async with own.at_work():
            await own.until_kept("done")
        await gallery.app.crawling.sources.deregister(SYSTEM, gallery.source_id, reason=None, release=no_release_tx)
        path = f"/api/v1/books/{gallery.chapter_id}"
        book, size = await ann.get(path), sum(map(len, pictures))
        assert (book["media"]["pagesCount"], book["sizeBytes"], book["size"]) == (3, size, f"{size / 1024**2:.1f} MiB")
        assert [page["sizeBytes"] for page in await ann.get(f"{path}/pages")] == [len(picture) for picture in pictures]
        assert (await ann.call("GET", f"{path}/pages/2")).body == pictures[1]


async def test_conditions_narrow_as_parameters_do(ann):
    read = await ann.add("All read", 1, 2, status=2)
    await ann.add("Unread", 1)
    await ann.done("POST", f"/api/v1/series/{read}/read-progress")
    is_read = {"readStatus": {"operator": "is", "value": "READ"}}
    is_unread = {"readStatus": {"operator": "is", "value": "UNREAD"}}
    mine = {"libraryId": {"operator": "is", "value": (await ann.get("/api/v1/libraries"))[0]["id"]}}
    deep: Any = is_read
    for _ in range(20):
        deep = {"allOf": [deep]}
    for condition, names in (
        (None, ["All read", "Unread"]),
        ({}, ["All read", "Unread"]),
        ({"allOf": []}, ["All read", "Unread"]),
        (is_read, ["All read"]),
        (deep, ["All read"]),
        ({"allOf": [mine, is_unread, {"deleted": {"operator": "isFalse"}}]}, ["Unread"]),
        ({"anyOf": [is_read, is_unread]}, ["All read", "Unread"]),
        ({"allOf": [is_read, is_unread]}, []),
        ({"readStatus": {"operator": "isNot", "value": "READ"}}, ["Unread"]),
        ({"allOf": [{"readStatus": {"operator": "isnot", "value": "READ"}}]}, ["Unread"]),  # KMReader
        ({"oneshot": {"operator": "istrue"}}, []),
        ({"allOf": [{"deleted": {"operator": "isfalse"}}, is_read]}, ["All read"]),
        ({"type": "AllOfSeries", "allOf": [{"type": "ReadStatus", **is_read}]}, ["All read"]),  # Komelia
        ({"seriesStatus": {"operator": "is", "value": "ENDED"}}, ["All read"]),
        ({"libraryId": {"operator": "is", "value": "x"}}, []),
        ({"tag": {"operator": "is", "value": "x"}}, []),
        ({"whatever": {"operator": "is", "value": "x"}}, ["All read", "Unread"]),
        ({"allOf": {"x": 1}, "readStatus": [], "genre": {"operator": 5, "value": []}}, ["All read", "Unread"]),
    ):
        answer = await ann.call("POST", "/api/v1/series/list?sort=name,asc", {"condition": condition})
        assert answer.status == 200, answer.text
        assert [row["name"] for row in said(answer)["content"]] == names, condition
    found = await ann.call("POST", "/api/v1/series/list", {"fullTextSearch": "unr"})
    assert [row["name"] for row in said(found)["content"]] == ["Unread"]
    of_series = {"condition": {"seriesId": {"operator": "is", "value": read}}}
    assert len(said(await ann.call("POST", "/api/v1/books/list", of_series))["content"]) == 2
    odds: list[Any] = [{"condition": []}, {"condition": "x"}, [], "x"]
    for odd in odds:
        await ann.refused(400, "POST", "/api/v1/series/list", odd)


def is_one(about: str, value: str) -> dict[str, Any]:
    return {about: {"operator": "is", "value": value}}


def is_not(about: str, value: str) -> dict[str, Any]:
    return {about: {"operator": "isNot", "value": value}}


async def test_conditions_join_what_they_are_about(app, ann):
    sea = await app.reading.groups.add(ann.shelf, "Sea")
    a = await ann.add("Alpha", 1, 2, author="Ines", status=2, language="en", group=sea.id)
    b = await ann.add("Beta", 1, 2, author="Jon", language="en")
    await ann.add("Gamma", 1, artist="Ines", language="fr")
    await ann.done("POST", f"/api/v1/series/{a}/read-progress")
    await ann.done("PUT", f"/api/v2/series/{b}/read-progress/tachiyomi", {"lastBookNumberSortRead": 1})
    by = {"author": {"operator": "is", "value": {"name": "Ines", "role": "penciller"}}}
    by_any = {"author": {"operator": "is", "value": {"name": "Ines"}}}
    for condition, names in (
        ({"anyOf": [is_one("language", "fr"), is_one("seriesStatus", "ENDED")]}, ["Alpha", "Gamma"]),
        ({"allOf": [is_one("language", "en"), is_not("seriesStatus", "ENDED")]}, ["Beta"]),
        ({"anyOf": [{"allOf": [is_one("language", "en"), is_one("readStatus", "READ")]}, by]}, ["Alpha", "Gamma"]),
        ({"allOf": [is_not("language", "fr"), is_not("language", "de")]}, ["Alpha", "Beta"]),
        ({"allOf": [by_any, is_not("readStatus", "UNREAD")]}, ["Alpha"]),
        (is_one("collectionId", show_id(sea.public_id)), ["Alpha"]),
        (is_not("tag", "x"), ["Alpha", "Beta", "Gamma"]),
        ({"oneShot": {"operator": "isTrue"}}, []),
        ({"anyOf": [is_one("language", "fr"), is_one("whatever", "x")]}, ["Alpha", "Beta", "Gamma"]),
    ):
        answer = await ann.call("POST", "/api/v1/series/list?sort=name,asc", {"condition": condition})
        assert [row["name"] for row in said(answer)["content"]] == names, condition
        assert said(answer)["totalElements"] == len(names)

    async def books(condition: dict[str, Any], query: str = "sort=metadata.numberSort,asc") -> list[str]:
        answer = await ann.call("POST", f"/api/v1/books/list?{query}", {"condition": condition})
        found = said(answer)
        assert found["totalElements"] == len(found["content"]), answer.text
        return [f"{book['seriesTitle']} {book['metadata']['number']}" for book in found["content"]]

    both = {"anyOf": [is_one("seriesId", a), is_one("seriesId", b)]}
    assert await books(both) == ["Alpha 1", "Beta 1", "Alpha 2", "Beta 2"]
    assert await books(both, "sort=metadata.numberSort,desc") == ["Alpha 2", "Beta 2", "Alpha 1", "Beta 1"]
    assert await books({"allOf": [both, is_not("readStatus", "READ")]}) == ["Beta 2"]
    assert await books({"allOf": [is_one("seriesId", a), is_one("seriesId", b)]}) == []
    assert await books(is_not("seriesId", a)) == ["Beta 1", "Gamma 1", "Beta 2"]
    assert await books({"anyOf": [is_one("seriesId", b), is_one("readStatus", "UNREAD")]}) == [
        "Beta 1",
        "Gamma 1",
        "Beta 2",
    ]
    found = await ann.content("/api/v1/books?read_status=UNREAD,IN_PROGRESS&sort=metadata.numberSort,desc")
    assert [(book["seriesTitle"], book["number"]) for book in found] == [("Beta", 2), ("Gamma", 1)]


async def test_a_crafted_condition_costs_no_more_than_its_length(ann):
    await ann.add("Alpha", 1)
    wide = {"anyOf": [is_one("seriesId", str(number)) for number in range(9_000)]}
    deep: Any = {"anyOf": [is_one("genre", str(number)) for number in range(5_000)]}
    for _ in range(25):
        deep = {"anyOf": [deep, is_one("genre", "x")]}
    many = {"allOf": [is_one("genre", str(number)) for number in range(9_000)]}
    began = time.process_time()
    for path in ("series", "books"):
        assert (await ann.call("POST", f"/api/v1/{path}/list", {"condition": wide})).status == 200
        assert (await ann.call("POST", f"/api/v1/{path}/list", {"condition": deep})).status == 200
        await ann.refused(400, "POST", f"/api/v1/{path}/list", {"condition": many})
    assert time.process_time() - began < 20


async def test_several_sort_keys_come_in_turn(app, ann):
    for title, count in (("The Beta", 2), ("Alpha", 1), ("A Gamma", 3)):
        await ann.add(title, *range(1, count + 1))
    app.time.pass_(MINUTE)
    await ann.add("Delta", 1)
    by = "/api/v1/series?sort="
    titles = ["Alpha", "The Beta", "Delta", "A Gamma"]  # all were followed at once
    assert await ann.names(f"{by}createdDate,desc&sort=metadata.titleSort,desc") == titles[::-1]
    assert await ann.names(f"{by}nonsense&sort=createdDate,asc&sort=name,asc") == titles
    assert (await ann.names(f"{by}lastModifiedDate,desc&sort=name,asc"))[0] == "Delta"
    found = await ann.content("/api/v1/books?sort=metadata.numberSort,desc&sort=createdDate,asc&size=3")
    assert [(book["seriesTitle"], book["number"]) for book in found[:2]] == [("A Gamma", 3), ("The Beta", 2)]
    assert found[2]["number"] == 2


async def test_unavailable_releases_are_not_offered(ann):
    series = await ann.add("The Lighthouse Cat", 1, 2)
    number = await ann.app.db.read(lambda tx: tx.one(SeriesId, q.find_series, public_id=read_id(series)))
    lost = await ann.app.db.with_tx(
        lambda tx: upsert_chapters_tx(tx, number, [a_new_chapter("1.5"), a_new_chapter("0.5")], ann.app.time())
    )
    books = await ann.books(series)
    assert [book["media"]["status"] for book in books] == ["ERROR", "READY", "ERROR", "READY"]
    ready = await ann.books(series, "media_status=READY&deleted=false")
    assert [book["metadata"]["number"] for book in ready] == ["1", "2"]
    assert (await ann.get(f"/api/v1/books/{ready[0]['id']}/next"))["id"] == ready[1]["id"]
    assert (await ann.get(f"/api/v1/books/{ready[1]['id']}/previous"))["id"] == ready[0]["id"]
    await ann.refused(404, "GET", f"/api/v1/books/{ready[0]['id']}/previous")
    await ann.refused(404, "GET", f"/api/v1/books/{lost[0].id}/pages")
    await ann.done("PATCH", f"/api/v1/books/{ready[0]['id']}/read-progress", {"completed": True})
    [deck] = await ann.content("/api/v1/books/ondeck")
    assert deck["id"] == ready[1]["id"]


async def test_another_library_is_empty_in_every_list(ann):
    series = await ann.add("The Lighthouse Cat", 1, 2)
    await ann.done("PUT", f"/api/v2/series/{series}/read-progress/tachiyomi", {"lastBookNumberSortRead": 1})
    mine = (await ann.get("/api/v1/libraries"))[0]["id"]
    for path in ("series", "series/new", "series/updated", "series/latest", "books/ondeck", f"series/{series}/books"):
        assert await ann.content(f"/api/v1/{path}?library_id={mine}"), path
        assert await ann.content(f"/api/v1/{path}?library_id=x") == [], path
    for path in ("books", "books/latest"):
        assert await ann.content(f"/api/v1/{path}?library_id=x") == [], path


async def test_progress_by_pages_is_set_and_taken_back(app, ann):
    series = await ann.add("The Lighthouse Cat", 1, 2)
    first, second = await ann.books(series)
    path = f"/api/v1/books/{first['id']}/read-progress"

    async def state() -> tuple[int, bool] | None:
        app.time.pass_(MINUTE)
        progress = (await ann.get(f"/api/v1/books/{first['id']}")).get("readProgress")
        return progress and (progress["page"], progress["completed"])

    assert await state() is None
    await ann.done("PATCH", path, {"page": 10}, headers=ann.basic | KOMELIA)
    assert await state() == (10, False)
    assert (await ann.get(f"/api/v1/books/{first['id']}"))["readProgress"]["deviceName"] == "Komelia"
    assert (await ann.get(f"/api/v1/series/{series}"))["booksInProgressCount"] == 1
    await ann.done("PATCH", path, {"completed": True})
    await ann.done("PATCH", path, {"completed": True})
    assert await state() == (10, True)
    await ann.done("PATCH", path, {"page": 3, "completed": False})
    assert await state() == (3, False)
    await ann.done("DELETE", path)
    assert await state() is None
    for wrong in ({}, {"page": 0}, {"page": -1}, {"page": 10**30}, {"page": "x"}, {"completed": "x"}, {"page": None}):
        await ann.refused(400, "PATCH", path, wrong)
    assert await state() is None
    await ann.done("POST", f"/api/v1/series/{series}/read-progress")
    assert (await ann.get(f"/api/v1/series/{series}"))["booksReadCount"] == 2
    app.time.pass_(MINUTE)
    await ann.done("DELETE", f"/api/v1/series/{series}/read-progress")
    assert (await ann.get(f"/api/v1/series/{series}"))["booksUnreadCount"] == 2
    assert second["id"] != first["id"]


async def test_the_last_page_completes_a_book(tmp_path, empty_database_url):
    async with a_gallery(tmp_path, empty_database_url, pages=3) as gallery:
        ann = await a_komga_reader(gallery.app)
        await follow_gallery(gallery, ann)
        path = f"/api/v1/books/{gallery.chapter_id}"
        await ann.refused(400, "PATCH", f"{path}/read-progress", {"page": 4})
        await ann.done("PATCH", f"{path}/read-progress", {"page": 3})
        assert (await ann.get(path))["readProgress"]["completed"] is True
        assert (await gallery.app.inbox.count(ann.shelf)).chapters == 0


async def test_readium_has_pages_and_a_place(tmp_path, empty_database_url):
    async with a_gallery(tmp_path, empty_database_url, pages=4) as gallery:
        ann = await a_komga_reader(gallery.app)
        await follow_gallery(gallery, ann)
        gallery.show(1, a_picture())
        path = f"/api/v1/books/{gallery.chapter_id}"
        answer = await ann.call("GET", f"{path}/manifest")
        assert answer.headers["content-type"] == "application/divina+json"
        manifest = said(answer)
        assert manifest["metadata"]["numberOfPages"] == len(manifest["readingOrder"]) == 4
        page = manifest["readingOrder"][1]["href"].removeprefix(f"{gallery.app.client.base}{BASE}")
        assert (await ann.call("GET", page)).status == 200
        await ann.done("GET", f"{path}/progression")
        now = iso(gallery.app.time())
        place = {"href": page, "type": "image/png", "locations": {"position": 2}}
        told = {"modified": now, "device": {"id": "x", "name": "Reader"}, "locator": place}
        await ann.done("PUT", f"{path}/progression", told)
        found = await ann.get(f"{path}/progression")
        assert found["locator"]["locations"] == {"position": 2, "totalProgression": 0.3333}
        assert found["device"]["name"] == "Reader"
        assert (await ann.get(path))["readProgress"]["page"] == 2
        for old in ("2001-01-01T00:00:00Z", now):
            await ann.refused(409, "PUT", f"{path}/progression", told | {"modified": old})
        for wrong in (0, 5, None):
            place["locations"] = {"position": wrong}
            await ann.refused(400, "PUT", f"{path}/progression", told)
        await ann.refused(400, "PUT", f"{path}/progression", {"modified": "x"})


async def test_lists_of_what_to_read(app, ann):
    cat = await ann.add("The Lighthouse Cat", 1, 2, 3)
    dog = await ann.add("The Harbour Dog", 1, 2)
    await ann.add("Never begun", 1)
    await ann.done("PUT", f"/api/v2/series/{cat}/read-progress/tachiyomi", {"lastBookNumberSortRead": 1})
    app.time.pass_(MINUTE)
    [deck] = await ann.content("/api/v1/books/ondeck")
    assert (deck["seriesTitle"], deck["metadata"]["number"]) == ("The Lighthouse Cat", "2")
    first, _ = await ann.books(dog)
    await ann.done("PATCH", f"/api/v1/books/{first['id']}/read-progress", {"page": 2})
    app.time.pass_(MINUTE)
    reading = {"condition": {"readStatus": {"operator": "is", "value": "IN_PROGRESS"}}}
    found = said(await ann.call("POST", "/api/v1/books/list?sort=readProgress.readDate,desc", reading))
    assert [book["id"] for book in found["content"]] == [first["id"]]
    assert found["totalElements"] == 1
    assert len(await ann.content("/api/v1/books/ondeck")) == 1
    assert len(await ann.books(cat, "read_status=UNREAD")) == 2
    await ann.add_series("News")
    latest = await ann.get("/api/v1/books/latest?size=2")
    assert (len(latest["content"]), latest["totalElements"], latest["last"]) == (2, 3, False)
    assert {book["seriesTitle"] for book in latest["content"]} == {"News"}
    await ann.add("Tides", "The lantern room", 7)
    assert await ann.names("/api/v1/books?search=lantern&page=0") == ["The lantern room"]


async def next_event(stream: Any) -> tuple[str, dict[str, str]]:
    async with asyncio.timeout(20):
        async for line in stream.content:
            if line.startswith(b"event: "):
                data = await stream.content.readline()
                return line[7:-1].decode(), msgspec.json.decode(data.removeprefix(b"data: "))
    raise AssertionError("the stream ended")


async def test_new_chapters_and_marks_are_told_as_they_come(app, ann):
    """One after the other: what comes changes its series, and what is marked elsewhere the progress of it."""
    series, other = await ann.add("The Lighthouse Cat", 1), await ann.add("The Harbour Dog", 1)
    client, numbers = app.client, []
    for one in (series, other):
        public_id = read_id(one)
        numbers.append(await app.db.read(lambda tx, it=public_id: tx.one(SeriesId, q.find_series, public_id=it)))
    await release_chapters(app, numbers[1], [2])
    me, library = (await ann.get("/api/v2/users/me"))["id"], (await ann.get("/api/v1/libraries"))[0]["id"]
    async with client._session.get(f"{client.base}{BASE}/sse/v1/events", headers=ann.basic) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        await release_chapters(app, numbers[0], [44])
        where = {"seriesId": series, "libraryId": library}
        assert await next_event(stream) == ("SeriesChanged", where)
        [book] = [one["id"] for one in await ann.books(series) if one["metadata"]["number"] == "44"]
        assert await next_event(stream) == ("BookAdded", {"bookId": book} | where)
        new = await ann.add("The Star Post Office", 1)
        added = await app.db.read(lambda tx: tx.one(SeriesId, q.find_series, public_id=public_id_of(new)))
        await app.db.with_tx(lambda tx: deliver_known_chapters_tx(tx, ann.shelf, added, now=app.time()))
        assert await next_event(stream) == ("SeriesAdded", {"seriesId": new, "libraryId": library})
        await app.db.with_tx(lambda tx: deliver_known_chapters_tx(tx, ann.shelf, added, now=app.time()))
        assert await next_event(stream) == ("SeriesChanged", {"seriesId": new, "libraryId": library})
        await app.reading.progress.mark(ann.shelf, public_id_of(other), ChapterSelection(), is_read=True)
        assert await next_event(stream) == ("ReadProgressSeriesChanged", {"seriesId": other, "userId": me})
        await app.reading.progress.mark(ann.shelf, public_id_of(series), ChapterSelection(), is_read=True)
        assert await next_event(stream) == ("ReadProgressSeriesChanged", {"seriesId": series, "userId": me})
        await app.reading.progress.mark(ann.shelf, public_id_of(series), ChapterSelection(), is_read=False)
        assert await next_event(stream) == ("ReadProgressSeriesChanged", {"seriesId": series, "userId": me})


def public_id_of(series: str) -> PublicId:
    found = read_id(series)
    assert found is not None
    return found


async def test_an_id_from_before_a_merge_finds_the_survivor(app, ann):
    gone, stays = await ann.add("The Lighthouse Cat", 1, 2), await ann.add("Lighthouse Cat", 1)
    old = await ann.books(gone)
    [kept] = await ann.books(stays)
    merging = a_merging(app.db)
    await merging.merge(SYSTEM, public_id_of(gone), public_id_of(stays))
    assert (await ann.get(f"/api/v1/series/{gone}"))["id"] == stays
    assert [book["id"] for book in await ann.books(gone)] == [kept["id"], old[1]["id"]]
    assert (await ann.get(f"/api/v1/books/{old[0]['id']}"))["id"] == kept["id"]
    await ann.done("PATCH", f"/api/v1/books/{old[0]['id']}/read-progress", {"completed": True})
    assert (await ann.get(f"/api/v1/books/{kept['id']}"))["readProgress"]["completed"] is True
    third = await ann.add("Cat", 1)
    await merging.merge(SYSTEM, public_id_of(stays), public_id_of(third))
    assert (await ann.get(f"/api/v1/books/{old[0]['id']}"))["seriesId"] == third


class Counting:
    """A database that counts the statements of its reads."""

    def __init__(self, db: Any) -> None:
        self._db = db
        self.statements = 0

    async def read(self, work: Any) -> Any:
        return await self._db.read(lambda tx: work(CountingTx(tx, self)))

    read_replica = read


class CountingTx:
    def __init__(self, tx: Any, counts: Counting) -> None:
        self._tx = tx
        self._counts = counts

    def __getattr__(self, name: str) -> Any:
        if name in {"one", "maybe", "many", "bulk", "run"}:
            self._counts.statements += 1
        return getattr(self._tx, name)


async def test_a_page_takes_the_same_statements_however_much_there_is(app, ann):
    async def statements() -> list[int]:
        counted = []
        for ask in (
            lambda library: library.list(ann.shelf, SeriesFilter(words="series"), Slice(20)),
            lambda library: library.arrived(ann.shelf, Slice(20)),
            lambda library: library.on_deck(ann.shelf, Slice(20)),
            lambda library: library.books(ann.shelf, ChapterFilter(words="chapter"), Slice(20)),
        ):
            counting: Any = Counting(app.db)
            await ask(Library(counting))
            counted.append(counting.statements)
        return counted

    async def grow(start: int, end: int) -> None:
        for number in range(start, end):
            series = await ann.add(f"Series {number}", 1, 2)
            await ann.add_series(f"More {number}")
            book = (await ann.books(series))[0]["id"]
            await ann.done("PATCH", f"/api/v1/books/{book}/read-progress", {"page": 1})
            assert ChapterId(int(book))

    await grow(0, 1)
    before = await statements()
    await grow(1, 8)
    assert await statements() == before
    assert max(before) <= 5
