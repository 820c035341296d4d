"""Komga's API, as Mihon's extension and tracker call it."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.api.people import RunningApp, a_running_app
from tests.app import in_settings
from tests.images.builders import a_gallery, a_picture
from tests.protocols.komga import BASE, KomgaReader, a_komga_reader
from tests.protocols.people import an_app_reader
from tests.protocols.test_pictures import follow_gallery
from tsuzuki.accounts.sharing import shelf_user
from tsuzuki.accounts.tokens import TokenRequest
from tsuzuki.accounts.types import SYSTEM, Slice
from tsuzuki.db.queries import parse_queries
from tsuzuki.model.ids import show_id
from tsuzuki.model.times import MINUTE, Millis
from tsuzuki.shelves.types import FollowChange, FollowFilter, Mode, ReleasePreferences

HUGE = ("0", "-1", "9223372036854775807", "9223372036854775808", "1e3", "99999999999999999999999", "%00", "x", "..%2F")
COUNTS = ("booksCount", "booksReadCount", "booksUnreadCount", "booksInProgressCount")

q = parse_queries(
    "tests",
    """
-- name: set_genres
update series_source set genres = :genres where series_id = :series_id;
-- name: marks
select distinct marked_at from progress where shelf_id = :shelf_id and is_read order by marked_at;
""",
)


@pytest.fixture
async def app(empty_database_url, tmp_path) -> AsyncIterator[RunningApp]:
    async with a_running_app(tmp_path, database_url=in_settings(empty_database_url)) as app:
        yield app


@pytest.fixture
async def ann(app) -> KomgaReader:
    return await a_komga_reader(app)


# -- who may come in


async def test_basic_key_and_the_cookie_alone_open(app, ann):
    unknown = await ann.call("GET", "/api/v1/libraries", headers={})
    assert unknown.status == 401
    assert unknown.headers["www-authenticate"] == 'Basic realm="Tsuzuki"'
    assert "set-cookie" not in unknown.headers
    answer = await ann.call("GET", "/api/v1/libraries")
    assert answer.status == 200
    cookie, *rest = answer.headers["set-cookie"].split("; ")
    assert cookie.startswith("KOMGA-SESSION=")
    assert rest == ["Path=/komga", "Max-Age=31536000", "HttpOnly", "SameSite=Lax"]
    for headers in ({"x-api-key": ann.key}, {"cookie": cookie}, {"x-auth-token": cookie.partition("=")[2]}):
        assert (await ann.get("/api/v2/users/me", headers=headers))["email"] == ann.user.username
    again = await ann.call("GET", "/api/v1/libraries", headers=ann.basic | {"cookie": cookie})
    assert "set-cookie" not in again.headers
    session = await ann.call("GET", "/api/v1/libraries", headers=ann.basic | {"x-auth-token": ""})
    assert session.headers["x-auth-token"] == cookie.partition("=")[2]


async def test_an_app_finds_the_server_before_it_signs_in(app, ann):
    """As KMReader does: it asks for what needs no password first, then for a session and a cookie that lasts."""
    found = await ann.call("GET", "/api/v1/client-settings/global/list", headers={"accept": "application/json"})
    assert (found.status, found.headers["content-type"], found.json()) == (200, "application/json", {})
    assert "set-cookie" not in found.headers
    asked = ann.basic | {"x-auth-token": ""}
    session = (await ann.call("GET", "/api/v2/users/me?remember-me=true", headers=asked)).headers["x-auth-token"]
    assert (await ann.get("/api/v1/libraries", headers={"x-auth-token": session}))[0]["name"]
    await ann.refused(401, "GET", "/api/v1/client-settings/user/list", headers={})


async def test_signing_out_takes_the_cookie_back(app, ann):
    for headers in (ann.basic, ann.basic | {"x-auth-token": ""}):
        answer = await ann.call("POST", "/api/logout", headers=headers)
        assert answer.status == 204
        assert answer.headers["set-cookie"].startswith("KOMGA-SESSION=; Path=/komga; Max-Age=0; ")
    await ann.refused(401, "POST", "/api/logout", headers={})


async def test_the_cookie_ends_with_the_password_and_opens_nothing_else(app, ann):
    series = await ann.add("The Lighthouse Cat", 1, 2)
    cookie = {"cookie": (await ann.call("GET", "/api/v1/libraries")).headers["set-cookie"].partition(";")[0]}
    session = {"cookie": cookie["cookie"].replace("KOMGA-SESSION", "tsuzuki")}
    for path in ("/api/v1/me", "/inbox", "/settings", "/fever/?api", "/miniflux/v1/me", "/reader/api/0/user-info"):
        stranger = await app.client.get(path)
        assert (await app.client.get(path, headers=cookie)).status == stranger.status, path
        assert (await app.client.get(path, headers=session)).status == stranger.status, path
    token = cookie["cookie"].partition("=")[2]
    assert (await app.client.get("/api/v1/me", headers={"authorization": f"Bearer {token}"})).status == 401
    signed_in = await app.signed_in(ann.user)
    assert (await ann.call("GET", "/api/v1/libraries", headers=signed_in.headers)).status == 401
    tracker = f"/api/v2/series/{series}/read-progress/tachiyomi"
    body = {"lastBookNumberSortRead": 1.0}
    await ann.refused(403, "PUT", tracker, body, headers=cookie | {"origin": "https://evil.example"})
    await ann.done("PUT", tracker, body, headers=cookie)
    caller = (await app.accounts.devices.sign_in(ann.request, ann.user.username, ann.key)).caller
    await app.accounts.tokens.revoke(caller, ann.issued.token.public_id)
    await ann.refused(401, "GET", tracker, headers=cookie)
    await ann.refused(401, "GET", tracker)


async def test_another_protocols_password_opens_nothing(app, ann):
    fever = await an_app_reader(app, "fever")
    for headers in ({"x-api-key": fever.key}, {"x-api-key": "x"}, {"authorization": "Basic eDp5"}, {"x-api-key": ""}):
        await ann.refused(401, "GET", "/api/v1/series", headers=headers)
        await ann.refused(401, "GET", "/api/v1/books/1/pages/1", headers=headers)


async def test_a_password_for_articles_shows_no_series(app):
    ann = await a_komga_reader(app, kinds="item")
    await ann.refused(403, "GET", "/api/v1/series")


async def test_who_only_reads_a_shelf_marks_nothing_on_it(app, ann):
    series = await ann.add("The Lighthouse Cat", 1, 2)
    bob = await app.add()
    shelf = await app.accounts.current_user.shelf_of(ann.user)
    await app.accounts.sharing.share(shelf_user(ann.user), shelf.public_id, bob.username, "reader")
    request = TokenRequest(name="App", protocols=("komga",), shelf=shelf.public_id)
    reader = KomgaReader(app, bob, shelf.id, await app.accounts.tokens.make_for(SYSTEM, bob, request))
    [book, _] = await reader.books(series)
    for method, path, body in (
        ("POST", f"/api/v1/series/{series}/read-progress", None),
        ("DELETE", f"/api/v1/series/{series}/read-progress", None),
        ("PUT", f"/api/v2/series/{series}/read-progress/tachiyomi", {"lastBookNumberSortRead": 1}),
        ("PATCH", f"/api/v1/books/{book['id']}/read-progress", {"completed": True}),
        ("DELETE", f"/api/v1/books/{book['id']}/read-progress", None),
    ):
        await reader.refused(403, method, path, body)
    assert (await ann.get(f"/api/v1/series/{series}"))["booksReadCount"] == 0


# -- lists


async def test_a_series_says_all_that_apps_require(ann):
    plain = await ann.add("Plain")
    await ann.add(
        "The Lighthouse Cat", 1, 2, 3, author="Ines Brook", artist="Ines Brook", description="Lamp.", language="en"
    )
    found = await ann.get("/api/v1/series?search=&page=0&deleted=false&sort=metadata.titleSort,asc")
    assert [row["name"] for row in found["content"]] == ["The Lighthouse Cat", "Plain"]
    assert (found["totalElements"], found["last"], found["first"], found["empty"]) == (2, True, True, False)
    cat, bare = found["content"]
    assert (cat["metadata"]["titleSort"], bare["metadata"]["titleSort"]) == ("Lighthouse Cat, The", "Plain")
    assert bare == await ann.get(f"/api/v1/series/{plain}")
    for row in (bare, cat):
        assert not any(
            value is None for part in (row, row["metadata"], row["booksMetadata"]) for value in part.values()
        )
        assert row["booksCount"] == sum(row[name] for name in COUNTS[1:])
        assert row["libraryId"] == (await ann.get("/api/v1/libraries"))[0]["id"]
    assert cat["metadata"]["summary"] == "Lamp."
    assert cat["booksMetadata"]["authors"] == [
        {"name": "Ines Brook", "role": "writer"},
        {"name": "Ines Brook", "role": "penciller"},
    ]
    assert cat["created"] == "2026-02-22T12:00:00Z"


async def test_a_series_has_its_readers_direction_or_its_languages(app, ann):
    manga, comic = await ann.add("One", 1, language="ja"), await ann.add("Two", 1, language="en")
    assert [await direction(ann, one) for one in (manga, comic)] == ["RIGHT_TO_LEFT", ""]
    modes: dict[Mode, str] = {"webtoon": "WEBTOON", "ltr": "LEFT_TO_RIGHT", "double": ""}
    for mode, told in modes.items():
        follows, _ = await app.reading.follows.list(ann.shelf, FollowFilter(), Slice())
        follow = next(one for one in follows if one.title == "One")
        change = FollowChange(preferences=ReleasePreferences(mode=mode))
        await app.reading.follows.change(ann.shelf, follow.public_id, change)
        assert await direction(ann, manga) == told


async def direction(ann: KomgaReader, series: str) -> Any:
    return (await ann.get(f"/api/v1/series/{series}"))["metadata"]["readingDirection"]


async def test_pages_go_on_until_the_last(ann):
    for number in range(5):
        await ann.add(f"Series {number}", 1)
    names, page = [], 0
    while True:
        found = await ann.get(f"/api/v1/series?size=2&page={page}&sort=name,asc")
        names += [row["name"] for row in found["content"]]
        assert (found["number"], found["size"], found["totalElements"], found["totalPages"]) == (page, 2, 5, 3)
        if found["last"]:
            break
        page += 1
    assert names == [f"Series {number}" for number in range(5)]
    for beyond in ("3", "999999999999999999999", "1000000000", "9223372036854775807"):
        found = await ann.get(f"/api/v1/series?size=2&page={beyond}")
        assert (found["last"], found["totalElements"]) == (beyond != "999999999999999999999", 5)
    every = await ann.get("/api/v1/series?unpaged=true")
    assert (len(every["content"]), every["last"]) == (5, True)
    for odd in ("size=-1", "size=0", "size=99999999999", "page=-1", "page=x", "sort=;drop,asc", "sort="):
        assert len(await ann.content(f"/api/v1/series?{odd}")) == 5, odd


async def test_lists_are_sorted_as_asked(app, ann):
    for title in ("Banana", "apple", "Cherry"):
        await ann.add(title, 1)
        app.time.pass_(MINUTE)
    by = "/api/v1/series?sort="
    assert await ann.names(f"{by}metadata.titleSort,asc") == ["apple", "Banana", "Cherry"]
    assert await ann.names(f"{by}metadata.titleSort,desc") == ["Cherry", "Banana", "apple"]
    assert await ann.names(f"{by}lastModifiedDate,desc") == ["Cherry", "apple", "Banana"]
    assert await ann.names("/api/v1/series/latest") == ["Cherry", "apple", "Banana"]
    orders = {tuple(await ann.names(f"{by}random,asc")) for _ in range(30)}
    assert len(orders) > 1
    assert await ann.names("/api/v1/series?search=che&sort=relevance,asc") == ["Cherry"]
    assert await ann.names("/api/v1/series?search=nothing-like-it") == []
    assert await ann.names("/api/v1/series?search=%22%27*%2F%5C") == []


async def test_filters_narrow_a_list(app, ann):
    sea = await app.reading.groups.add(ann.shelf, "Sea")
    read = await ann.add("All read", 1, 2, author="Ines Brook", status=2, language="en", group=sea.id)
    begun = await ann.add("Begun", 1, 2, artist="Ines Brook", language="fr")
    await ann.add("Unread", 1)
    await ann.done("POST", f"/api/v1/series/{read}/read-progress")
    await ann.done("PUT", f"/api/v2/series/{begun}/read-progress/tachiyomi", {"lastBookNumberSortRead": 1})
    found = {
        "read_status=READ": ["All read"],
        "read_status=UNREAD&read_status=IN_PROGRESS": ["Begun", "Unread"],
        "read_status=IN_PROGRESS": ["Begun"],
        "read_status=nonsense": [],
        "status=ENDED": ["All read"],
        "status=ONGOING,ENDED": ["All read", "Begun", "Unread"],
        "author=Ines Brook,writer": ["All read"],
        "author=Ines Brook,penciller&author=Nobody,writer": ["Begun"],
        "author=Ines Brook": ["All read", "Begun"],
        "language=fr,de": ["Begun"],
        "tag=x": [],
        "genre=Horror": [],
        f"collection_id={show_id(sea.public_id)}": ["All read"],
        "collection_id=x": [],
        "library_id=x": [],
        f"library_id=x,{(await ann.get('/api/v1/libraries'))[0]['id']}": ["All read", "Begun", "Unread"],
    }
    for query, names in found.items():
        found_now = await ann.get(f"/api/v1/series?{query.replace(' ', '%20')}&sort=name,asc")
        assert [row["name"] for row in found_now["content"]] == names, query
        assert found_now["totalElements"] == len(names), query
    assert await ann.get("/api/v1/languages") == ["en", "fr"]
    assert await ann.get("/api/v1/authors") == [
        {"name": "Ines Brook", "role": "penciller"},
        {"name": "Ines Brook", "role": "writer"},
    ]
    paged = await ann.get("/api/v2/authors?search=ines&role=writer&unpaged=true")
    assert (paged["content"], paged["totalElements"]) == ([{"name": "Ines Brook", "role": "writer"}], 1)
    second = await ann.get("/api/v2/authors?page=1&size=1")
    assert (second["content"], second["last"]) == ([{"name": "Ines Brook", "role": "writer"}], True)
    assert await ann.content("/api/v2/authors?search=nobody") == []
    for path in ("genres", "tags", "publishers"):
        assert await ann.get(f"/api/v1/{path}") == []
    _, collection = await ann.content("/api/v1/collections?unpaged=true")
    assert (collection["name"], collection["seriesIds"]) == ("Sea", [read])
    assert await ann.names(f"/api/v1/collections/{collection['id']}/series") == ["All read"]
    assert await ann.content("/api/v1/readlists?search=&page=0") == []


# -- books


async def test_books_come_in_order_and_are_numbered_once(ann):
    series = await ann.add("The Lighthouse Cat", 11, 10, 10.5, "Extra", "Extra 2", 1234.5)
    books = await ann.books(series)
    assert [book["metadata"]["number"] for book in books][2:] == ["10", "10.5", "11", "1234.5"]
    sorts = [book["metadata"]["numberSort"] for book in books]
    assert sorts[2:] == [10.0, 10.5, 11.0, 1234.5]
    assert -1 < sorts[0] < sorts[1] < 0
    assert [book["number"] for book in books] == [1, 2, 3, 4, 5, 6]
    assert [book["name"] for book in books][:3] == ["Extra", "Extra 2", "Chapter 10"]
    for book in books:
        assert book == await ann.get(f"/api/v1/books/{book['id']}")
        parts = (book, book["metadata"], book["media"])
        assert not any(value is None for part in parts for value in part.values())
    newest = await ann.content(f"/api/v1/series/{series}/books?sort=metadata.numberSort,desc&size=2")
    assert [book["id"] for book in newest] == [books[5]["id"], books[4]["id"]]
    assert (await ann.get(f"/api/v1/books/{books[2]['id']}/next"))["id"] == books[3]["id"]
    assert (await ann.get(f"/api/v1/books/{books[2]['id']}/previous"))["id"] == books[1]["id"]
    await ann.refused(404, "GET", f"/api/v1/books/{books[0]['id']}/previous")
    await ann.refused(404, "GET", f"/api/v1/books/{books[5]['id']}/next")


async def test_nothing_of_another_shelf_is_found(app, ann):
    series = await ann.add("The Lighthouse Cat", 1)
    [book] = await ann.books(series)
    ben = await a_komga_reader(app)
    for method, path, body in (
        ("GET", f"/api/v1/series/{series}", None),
        ("GET", f"/api/v1/series/{series}/books", None),
        ("GET", f"/api/v1/series/{series}/thumbnail", None),
        ("POST", f"/api/v1/series/{series}/read-progress", None),
        ("GET", f"/api/v2/series/{series}/read-progress/tachiyomi", None),
        ("PUT", f"/api/v2/series/{series}/read-progress/tachiyomi", {"lastBookNumberSortRead": 1}),
        ("GET", f"/api/v1/books/{book['id']}", None),
        ("GET", f"/api/v1/books/{book['id']}/pages", None),
        ("GET", f"/api/v1/books/{book['id']}/pages/1", None),
        ("PATCH", f"/api/v1/books/{book['id']}/read-progress", {"completed": True}),
        ("DELETE", f"/api/v1/books/{book['id']}/read-progress", None),
    ):
        await ben.refused(404, method, path, body)
    assert await ben.content("/api/v1/series") == []
    assert (await ann.books(series)) == [book]


async def test_hostile_ids_are_unknown(ann):
    for text in HUGE:
        for method, path in (
            ("GET", f"/api/v1/series/{text}"),
            ("GET", f"/api/v1/series/{text}/books"),
            ("PUT", f"/api/v2/series/{text}/read-progress/tachiyomi"),
            ("GET", f"/api/v1/books/{text}"),
            ("GET", f"/api/v1/books/{text}/pages"),
            ("GET", f"/api/v1/collections/{text}"),
        ):
            body = {"lastBookNumberSortRead": 1} if method == "PUT" else None
            assert (await ann.call(method, path, body)).status in {400, 404}, path
    await ann.refused(404, "GET", "/api/v1/readlists/1")
    await ann.refused(404, "GET", "/api/v1/whatever")


# -- trackers


async def test_a_tracker_reads_up_to_a_number_in_one_mark(app, ann):
    series = await ann.add("The Lighthouse Cat", 0, 1, 2, 3, 4, "Extra")
    tracker = f"/api/v2/series/{series}/read-progress/tachiyomi"
    books = await ann.books(series)
    await ann.done("PATCH", f"/api/v1/books/{books[5]['id']}/read-progress", {"completed": True})
    app.time.pass_(MINUTE)
    assert await ann.get(tracker) == {
        "booksCount": 6,
        "booksReadCount": 1,
        "booksUnreadCount": 5,
        "booksInProgressCount": 0,
        "lastReadContinuousNumberSort": 0.0,
        "maxNumberSort": 4.0,
    }
    await ann.done("PUT", tracker, {"lastBookNumberSortRead": 0.0})
    assert (await ann.get(tracker))["booksReadCount"] == 1
    await ann.done("PUT", tracker, {"lastBookNumberSortRead": 2.0})
    found = await ann.get(tracker)
    assert (found["booksReadCount"], found["lastReadContinuousNumberSort"]) == (4, 2.0)
    app.time.pass_(MINUTE)
    await ann.done("PUT", tracker, {"lastBookNumberSortRead": 1.0})
    assert (await ann.get(tracker))["booksReadCount"] == 4
    _, at = await app.db.read(lambda tx: tx.many(Millis, q.marks, shelf_id=ann.shelf))
    await app.inbox.undo(ann.shelf, at)
    assert (await ann.get(tracker))["booksReadCount"] == 1
    numbers: list[Any] = [-1, "x", None, [], {}]
    for body in ({}, [], *({"lastBookNumberSortRead": number} for number in numbers)):
        await ann.refused(400, "PUT", tracker, body)
    await ann.done("PUT", tracker, {"lastBookNumberSortRead": 1e300})
    found = await ann.get(tracker)
    assert (found["booksReadCount"], found["lastReadContinuousNumberSort"]) == (5, 4.0)


async def test_numbers_in_32_bits_are_the_same_numbers(ann):
    series = await ann.add("The Lighthouse Cat", 1.1, 1.2)
    tracker = f"/api/v2/series/{series}/read-progress/tachiyomi"
    await ann.done("PUT", tracker, {"lastBookNumberSortRead": 1.10000002384})
    assert (await ann.get(tracker))["lastReadContinuousNumberSort"] == 1.1
    await ann.done("PUT", tracker, {"lastBookNumberSortRead": 1.19999992847})
    assert (await ann.get(tracker))["lastReadContinuousNumberSort"] == 1.2


async def test_volumes_count_where_no_chapter_has_a_number(ann):
    series = await ann.add("The Lighthouse Cat", "v1", "v2", "v3", "Extra")
    tracker = f"/api/v2/series/{series}/read-progress/tachiyomi"
    sorts = [book["metadata"]["numberSort"] for book in await ann.books(series)]
    assert sorted(sorts)[1:] == [1.0, 2.0, 3.0]
    await ann.done("PUT", tracker, {"lastBookNumberSortRead": 2.0})
    found = await ann.get(tracker)
    assert (found["booksReadCount"], found["lastReadContinuousNumberSort"], found["maxNumberSort"]) == (2, 2.0, 3.0)
    mixed = await ann.add("Mixed", 1, "v2")
    assert [book["metadata"]["numberSort"] > 0 for book in await ann.books(mixed)] == [False, True]


async def test_what_a_tracker_reads_is_read_in_the_inbox(app, ann):
    series = await ann.add_series("The Lighthouse Cat")
    [row] = await ann.content("/api/v1/series")
    assert series
    assert (await app.inbox.count(ann.shelf)).chapters == 3
    await ann.done("PUT", f"/api/v2/series/{row['id']}/read-progress/tachiyomi", {"lastBookNumberSortRead": 41})
    assert (await app.inbox.count(ann.shelf)).chapters == 1


# -- pages


async def test_pages_are_shown_as_they_are(tmp_path, empty_database_url):
    async with a_gallery(tmp_path, empty_database_url, pages=3, is_listed=False) as gallery:
        ann = await a_komga_reader(gallery.app)
        await follow_gallery(gallery, ann)
        book = f"/api/v1/books/{gallery.chapter_id}"
        pictures = [a_picture(color=color) for color in ("red", "green", "blue")]
        for position, picture in enumerate(pictures):
            gallery.show(position, picture)
        listed = await ann.get(f"{book}/pages")
        assert [(page["number"], page["mediaType"]) for page in listed] == [(n, "image/png") for n in (1, 2, 3)]
        shown = [await ann.call("GET", f"{book}/pages/{number}?convert=png") for number in (1, 2, 3)]
        assert [answer.body for answer in shown] == pictures
        assert shown[0].headers["content-type"] == "image/png"
        assert (await ann.call("GET", f"{book}/pages/0?zero_based=true")).body == pictures[0]
        jpeg = await ann.call("GET", f"{book}/pages/2?convert=jpeg")
        assert (jpeg.headers["content-type"], jpeg.body[:3]) == ("image/jpeg", b"\xff\xd8\xff")
        head = await ann.call("HEAD", f"{book}/pages/2")
        assert (head.status, head.body, head.headers["content-length"]) == (200, b"", str(len(pictures[1])))
        again = await ann.call("GET", f"{book}/pages/2", headers=ann.basic | {"if-none-match": head.headers["etag"]})
        assert (again.status, again.body) == (304, b"")
        for wrong in ("0", "4", "-1", "1000000000000", "x", "3?zero_based=true"):
            await ann.refused(400, "GET", f"{book}/pages/{wrong}")
        page = (await ann.get(f"{book}/pages"))[0]
        assert (page["fileName"], page["sizeBytes"]) == ("001.png", len(pictures[0]))
        [listed] = await ann.books((await ann.content("/api/v1/series"))[0]["id"])
        assert (listed["media"]["pagesCount"], listed["size"]) == (3, "3 pages")


async def test_pages_that_a_source_withholds_are_retried_later(tmp_path, empty_database_url):
    async with a_gallery(tmp_path, empty_database_url, is_listed=False) as gallery:
        ann = await a_komga_reader(gallery.app)
        await follow_gallery(gallery, ann)
        gallery.site.is_down = True
        for path in ("pages", "pages/1", "manifest", "file"):
            answer = await ann.call("GET", f"/api/v1/books/{gallery.chapter_id}/{path}")
            assert (answer.status, answer.json()["status"]) == (503, 503), (path, answer.text)
            assert int(answer.headers["retry-after"]) > 0


async def test_what_apps_open_in_a_browser_leads_to_our_pages(app, ann):
    series = await ann.add("The Lighthouse Cat", 1)
    [book] = await ann.books(series)
    browser = await app.signed_in(ann.user)
    places = {f"series/{series}": f"/series/{series}", f"book/{book['id']}": f"/series/{series}/chapters/{book['id']}"}
    for path, place in places.items():
        answer = await app.client.get(f"{BASE}/{path}", headers=browser.headers)
        assert (answer.status, answer.headers["location"]) == (303, place)
        stranger = await app.client.get(f"{BASE}/{path}")
        assert stranger.headers["location"].startswith("/sign-in")
    other = await app.signed_in(await app.add())
    for missing in (f"book/{book['id']}", "book/x", "series/x"):
        assert (await app.client.get(f"{BASE}/{missing}", headers=other.headers)).status == 404
