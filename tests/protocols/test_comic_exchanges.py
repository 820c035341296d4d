"""One conversation of each kind as comic apps hold it, every word of the answers compared."""

import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
from lxml import etree

from tests.api.people import RunningApp, a_running_app
from tests.app import in_settings
from tests.builders import a_new_chapter, a_new_release, stored_series, stored_series_source, stored_source
from tests.delivery.builders import follow
from tests.images.builders import a_gallery, a_picture
from tests.protocols import komga_schema as schema
from tests.protocols.komga import KomgaReader, a_komga_reader, said
from tests.protocols.opds import FIRST, NAMES, PSE, SECOND, OpdsReader, an_opds_reader, entries
from tests.protocols.test_pictures import follow_gallery
from tsuzuki.db import Tx
from tsuzuki.db.queries import parse_queries
from tsuzuki.ingest.chapters import raise_latest_tx, upsert_chapters_tx, upsert_releases_tx
from tsuzuki.model.ids import ChapterId, PublicId, read_id, show_id
from tsuzuki.model.times import Millis, from_iso
from tsuzuki.shelves.types import ReportedReading

pytestmark = pytest.mark.both_engines

ARRIVED = from_iso("2025-12-31T23:00:00Z")
FOLLOWED = "2026-02-22T12:00:00Z"
TITLE = "The Lighthouse Cat"
ATOM = "application/atom+xml;profile=opds-catalog;kind="

q = parse_queries(
    "tests",
    """
-- name: describe
update series set author = 'Ines Brook', artist = 'Ines Brook', description = 'A cat keeps the lamp.', language = 'en',
  status = 1 where id = :id returning public_id;
-- name: show
update series_source set cover_url = 'https://example.org/cat.jpg', genres = '["slice of life"]' where id = :id;
-- name: chapters
select id from chapter where series_id = :id order by number_sort;
""",
)


@pytest.fixture
async def app(empty_database_url, tmp_path) -> AsyncIterator[RunningApp]:
    async with a_running_app(tmp_path, database_url=in_settings(empty_database_url)) as app:
        yield app


async def the_cat(ann: KomgaReader, count: int, *, group_name: str | None = None) -> tuple[str, list[int]]:
    """The series that all of them talk about: its id, and those of its chapters."""
    db = ann.app.db
    series = await stored_series(db, TITLE)
    manga = await stored_series_source(db, series, await stored_source(db))
    await follow(db, ann.shelf, series)

    async def fill(tx: Tx) -> PublicId:
        numbers = range(1, count + 1)
        new = [a_new_chapter(n, title="Fog" if n == 3 else "", published_at=ARRIVED) for n in numbers]
        await upsert_chapters_tx(tx, series, new, Millis(ARRIVED))
        releases = [a_new_release(n, page_count=24, language="en", group_name=group_name) for n in numbers]
        await upsert_releases_tx(tx, series, manga, releases, now=Millis(ARRIVED))
        await raise_latest_tx(tx, series, number=str(count), number_sort=count * 10**6, now=Millis(ARRIVED))
        await tx.run(q.show, id=manga)
        return await tx.one(PublicId, q.describe, id=series)

    public_id = await db.with_tx(fill)
    return show_id(public_id), await db.read(lambda tx: tx.many(int, q.chapters, id=series))


async def read(ann: KomgaReader, series: str, chapter: int, **reading: Any) -> None:
    public_id = read_id(series)
    assert public_id is not None
    await ann.app.reading.progress.report(ann.shelf, public_id, ChapterId(chapter), ReportedReading(**reading))


def locks(*names: str) -> dict[str, bool]:
    return {f"{name}Lock": False for name in names}


def a_page(content: list[dict[str, Any]], *, is_sorted: bool, size: int = 20, paged: bool = True) -> dict[str, Any]:
    sort = {"empty": not is_sorted, "sorted": is_sorted, "unsorted": not is_sorted}
    pageable = {"pageNumber": 0, "pageSize": size, "offset": 0, "paged": paged, "unpaged": not paged, "sort": sort}
    counts = {"totalElements": len(content), "totalPages": 1, "numberOfElements": len(content), "number": 0}
    ends = {"first": True, "last": True, "empty": False}
    return {"content": content, "pageable": pageable, "size": size, "sort": sort} | counts | ends


# -- Komga


async def test_an_extension_signs_in_and_lists_series(app):
    ann = await a_komga_reader(app)
    series, chapters = await the_cat(ann, 3)
    await read(ann, series, chapters[0], is_read=True)
    await read(ann, series, chapters[2], page=9)
    path = "/api/v1/series?search=&page=0&deleted=false&sort=lastModifiedDate,desc"
    stranger = await ann.call("GET", path, headers={})
    assert (stranger.status, stranger.headers["www-authenticate"]) == (401, 'Basic realm="Tsuzuki"')
    answer = await ann.call("GET", path)
    cookie = re.fullmatch(
        r"KOMGA-SESSION=[\w-]+; Path=/komga; Max-Age=31536000; HttpOnly; SameSite=Lax", answer.headers["set-cookie"]
    )
    assert cookie
    names = "status title titleSort summary readingDirection publisher ageRating language genres tags totalBookCount"
    times = {"created": FOLLOWED, "lastModified": "2025-12-31T23:00:00Z"}
    one = {
        "id": series,
        "libraryId": (await ann.get("/api/v1/libraries"))[0]["id"],
        "name": TITLE,
        "url": "",
        **times,
        "fileLastModified": "2025-12-31T23:00:00Z",
        "booksCount": 3,
        "booksReadCount": 1,
        "booksUnreadCount": 1,
        "booksInProgressCount": 1,
        "metadata": {
            "status": "ONGOING",
            "title": TITLE,
            "titleSort": "Lighthouse Cat, The",
            "summary": "A cat keeps the lamp.",
            "readingDirection": "",
            "publisher": "",
            "language": "en",
            "genres": ["slice of life"],
            "tags": [],
            "sharingLabels": [],
            "links": [],
            "alternateTitles": [],
        }
        | times
        | locks(*names.split(), "sharingLabels", "links", "alternateTitles"),
        "booksMetadata": {
            "authors": [{"name": "Ines Brook", "role": "writer"}, {"name": "Ines Brook", "role": "penciller"}],
            "tags": [],
            "releaseDate": "2025-12-31",
            "summary": "",
            "summaryNumber": "",
            **times,
        },
        "deleted": False,
        "oneshot": False,
    }
    assert said(answer) == a_page([one], is_sorted=True)
    schema.check(said(answer), schema.results(schema.SERIES))


async def test_an_extension_lists_the_chapters_of_a_series(app):
    ann = await a_komga_reader(app)
    series, chapters = await the_cat(ann, 3, group_name="Harbour Scans")
    await read(ann, series, chapters[2], page=9, device="Kitchen tablet", at=from_iso("2026-01-01T08:30:00Z"))
    found = await ann.get(f"/api/v1/series/{series}/books?unpaged=true&media_status=READY&deleted=false")
    assert [book["metadata"]["number"] for book in found["content"]] == ["1", "2", "3"]
    names = ("title", "summary", "number", "numberSort", "releaseDate", "authors", "tags", "isbn", "links")
    arrived = "2025-12-31T23:00:00Z"
    at = "2026-01-01T08:30:00Z"
    fog = {
        "id": str(chapters[2]),
        "seriesId": series,
        "seriesTitle": TITLE,
        "libraryId": (await ann.get("/api/v1/libraries"))[0]["id"],
        "name": "Chapter 3: Fog",
        "url": "",
        "number": 3,
        "created": arrived,
        "lastModified": arrived,
        "fileLastModified": arrived,
        "sizeBytes": 0,
        "size": "24 pages",
        "media": {
            "status": "READY",
            "mediaType": "application/zip",
            "pagesCount": 24,
            "comment": "",
            "mediaProfile": "DIVINA",
            "epubDivinaCompatible": False,
            "epubIsKepub": False,
        },
        "metadata": {
            "title": "Fog",
            "summary": "",
            "number": "3",
            "numberSort": 3.0,
            "releaseDate": "2025-12-31",
            "authors": [{"name": "Harbour Scans", "role": "translator"}],
            "tags": [],
            "isbn": "",
            "links": [],
            "created": arrived,
            "lastModified": arrived,
        }
        | locks(*names),
        "readProgress": {
            "page": 10,
            "completed": False,
            "readDate": at,
            "created": at,
            "lastModified": at,
            "deviceId": "",
            "deviceName": "Kitchen tablet",
        },
        "deleted": False,
        "fileHash": "",
        "oneshot": False,
    }
    assert found["content"][2] == fog
    assert found == a_page(found["content"], is_sorted=False, size=3, paged=False)
    assert await ann.get(f"/api/v1/books/{chapters[2]}") == fog
    schema.check(found, schema.results(schema.BOOK))


async def test_an_extension_reads_the_pages_of_a_chapter(tmp_path, empty_database_url):
    async with a_gallery(tmp_path, empty_database_url, pages=2) as gallery:
        ann = await a_komga_reader(gallery.app)
        await follow_gallery(gallery, ann)
        jpeg = a_picture("JPEG", size=(160, 240))
        for position in range(2):
            gallery.show(position, jpeg)
        path = f"/api/v1/books/{gallery.chapter_id}/pages"
        page = await ann.call("GET", f"{path}/1", headers=ann.basic | {"accept": "image/*,*/*;q=0.8"})
        assert (page.status, page.headers["content-type"], page.body) == (200, "image/jpeg", jpeg)
        first = (await ann.get(path))[0]
        size = {"width": 160, "height": 240, "sizeBytes": len(jpeg), "size": f"{len(jpeg) / 1024:.1f} KiB"}
        assert first == {"number": 1, "fileName": "001.jpg", "mediaType": "image/jpeg"} | size


async def test_a_tracker_goes_on_with_the_cookie_alone(app):
    ann = await a_komga_reader(app)
    series, chapters = await the_cat(ann, 3)
    await read(ann, series, chapters[0], is_read=True)
    await read(ann, series, chapters[2], page=9)
    cookie = (await ann.call("GET", f"/api/v1/series/{series}")).headers["set-cookie"].partition(";")[0]
    tracker, headers = f"/api/v2/series/{series}/read-progress/tachiyomi", {"cookie": cookie, "user-agent": "Mihon v1"}
    assert await ann.get(tracker, headers=headers) == {
        "booksCount": 3,
        "booksReadCount": 1,
        "booksUnreadCount": 1,
        "booksInProgressCount": 1,
        "lastReadContinuousNumberSort": 1.0,
        "maxNumberSort": 3.0,
    }
    await ann.done("PUT", tracker, {"lastBookNumberSortRead": 2.0}, headers=headers)
    assert (await ann.get(tracker, headers=headers))["lastReadContinuousNumberSort"] == 2.0


async def test_every_body_has_what_the_schema_requires(app):
    """Of series, books, collections, progress, and whatever an app asks for once."""
    ann = await a_komga_reader(app)
    series, chapters = await the_cat(ann, 3)
    await read(ann, series, chapters[0], is_read=True)
    await read(ann, series, chapters[2], page=9)
    one, book = f"/api/v1/series/{series}", f"/api/v1/books/{chapters[1]}"
    body: dict[str, Any] = {"condition": {}}
    collection = (await ann.content("/api/v1/collections"))[0]["id"]
    for path in ("series", "series/new", "series/updated", "series/latest", f"collections/{collection}/series"):
        schema.check(await ann.get(f"/api/v1/{path}"), schema.results(schema.SERIES))
    for path in ("books", "books/latest", "books/ondeck", f"series/{series}/books"):
        schema.check(await ann.get(f"/api/v1/{path}"), schema.results(schema.BOOK))
    for path, row in (("series", schema.SERIES), ("books", schema.BOOK)):
        found = said(await ann.call("POST", f"/api/v1/{path}/list?sort=name,asc", body))
        assert found["content"]
        schema.check(found, schema.results(row))
    for path, row in (
        (one, schema.SERIES),
        (book, schema.BOOK),
        (f"{book}/next", schema.BOOK),
        (f"{book}/previous", schema.BOOK),
        (f"/api/v1/collections/{collection}", schema.COLLECTION),
        (f"{one}/collections", schema.each(schema.COLLECTION)),
        ("/api/v1/collections", schema.results(schema.COLLECTION)),
        ("/api/v1/readlists", schema.results({"not": {}})),
        (f"{book}/readlists", schema.each({"not": {}})),
        ("/api/v1/libraries", schema.each(schema.LIBRARY)),
        (f"/api/v1/libraries/{(await ann.get('/api/v1/libraries'))[0]['id']}", schema.LIBRARY),
        ("/api/v1/authors", schema.AUTHORS),
        ("/api/v1/users/me", schema.USER),
        ("/api/v2/users/me", schema.USER),
        (f"/api/v2/series/{series}/read-progress/tachiyomi", schema.TRACKED),
        (f"/api/v1/books/{chapters[2]}/progression", schema.PROGRESSION),
        ("/actuator/info", schema.thing({"build": schema.thing({"version": schema.WORDS})})),
    ):
        schema.check(await ann.get(path), row)
    texts = "genres tags publishers languages age-ratings sharing-labels series/release-dates tags/series tags/book"
    for name in (*texts.split(), "authors/names", "authors/roles"):
        schema.check(await ann.get(f"/api/v1/{name}"), schema.TEXTS)
    for path in ("/api/v1/nothing", "/api/v1/books/999999"):
        failed = await ann.call("GET", path)
        schema.check(said(failed), schema.FAILURE)
    for path in ("/api/v1/announcements", "/api/v1/releases"):
        assert (await ann.call("GET", path)).status == 403
    assert await ann.get("/api/v1/client-settings/global/list") == {}
    assert (await ann.call("GET", "/api/v1/login/set-cookie")).status == 204


# -- OPDS


@pytest.fixture
async def kobo(app) -> OpdsReader:
    return await an_opds_reader(app)


async def test_a_series_is_a_feed_of_entries_with_pages(app, kobo):
    series, chapters = await the_cat(kobo, 51)
    await read(kobo, series, chapters[2], page=9, at=from_iso("2026-01-01T08:30:00Z"))
    feed = await kobo.feed(f"series/{series}")
    one = f"{FIRST}/series/{series}"
    head = [(link.get("rel"), link.get("type"), link.get("href")) for link in feed.iterfind("a:link", namespaces=NAMES)]
    assert head == [
        ("self", f"{ATOM}acquisition", one),
        ("start", f"{ATOM}navigation", f"{FIRST}/catalog"),
        ("up", f"{ATOM}navigation", f"{FIRST}/series"),
        ("search", "application/opensearchdescription+xml", f"{FIRST}/search"),
        ("first", f"{ATOM}acquisition", one),
        ("next", f"{ATOM}acquisition", f"{one}?page=1"),
        ("last", f"{ATOM}acquisition", f"{one}?page=1"),
        ("http://opds-spec.org/facet", f"{ATOM}acquisition", one),
        ("http://opds-spec.org/facet", f"{ATOM}acquisition", f"{one}?order=newest"),
        ("http://opds-spec.org/facet", f"{ATOM}acquisition", one),
        ("http://opds-spec.org/facet", f"{ATOM}acquisition", f"{one}?unread=true"),
    ]
    text = {
        name: feed.findtext(f"os:{name}", namespaces=NAMES) for name in ("totalResults", "itemsPerPage", "startIndex")
    }
    assert text == {"totalResults": "51", "itemsPerPage": "50", "startIndex": "1"}
    entry = entries(feed)[2]
    stream = entry.find("a:link[last()]", namespaces=NAMES)
    pages = stream.get("href").partition("{")[0]
    cover = f"{FIRST}/chapters/{chapters[2]}/cover"
    expected = f"""<entry xmlns="http://www.w3.org/2005/Atom" xmlns:dcterms="http://purl.org/dc/terms/"
        xmlns:pse="{PSE[1:-1]}"><id>{entry.findtext("a:id", namespaces=NAMES)}</id>
      <title>The Lighthouse Cat 3: Fog</title><updated>2025-12-31T23:00:00Z</updated>
      <author><name>Ines Brook</name></author><dcterms:language>en</dcterms:language>
      <dcterms:issued>2025-12-31</dcterms:issued><content type="text">Chapter 3, 24 pages</content>
      <link rel="http://opds-spec.org/image" type="image/jpeg" href="{cover}"/>
      <link rel="http://opds-spec.org/image/thumbnail" type="image/jpeg" href="{cover}?width=320"/>
      <link rel="http://opds-spec.org/acquisition" type="application/vnd.comicbook+zip"
        href="{pages.removesuffix("pages/")}file/The%20Lighthouse%20Cat%203.cbz"/>
      <link rel="http://vaemendis.net/opds-pse/stream" type="image/jpeg"
        href="{pages}{{pageNumber}}?width={{maxWidth}}" pse:count="24" pse:lastRead="10"
        pse:lastReadDate="2026-01-01T08:30:00Z"/></entry>"""
    assert canonical(etree.tostring(entry)) == canonical(expected.encode())


def canonical(xml: bytes) -> str:
    text: str = etree.canonicalize(xml.decode(), strip_text=True, rewrite_prefixes=True)
    return text


async def test_a_series_is_a_feed_of_publications(app, kobo):
    series, chapters = await the_cat(kobo, 51)
    feed = await kobo.json(f"series/{series}")
    base, kind = f"{app.client.base}{SECOND}", "application/opds+json"
    assert feed["links"] == [
        {"rel": "self", "href": f"{base}/series/{series}", "type": kind},
        {"rel": "start", "href": f"{base}/catalog", "type": kind},
        {"rel": "search", "href": f"{base}/search{{?query}}", "type": kind, "templated": True},
        {"rel": "up", "href": f"{base}/series", "type": kind},
        {"rel": "first", "href": f"{base}/series/{series}", "type": kind},
        {"rel": "next", "href": f"{base}/series/{series}?page=1", "type": kind},
        {"rel": "last", "href": f"{base}/series/{series}?page=1", "type": kind},
    ]
    one, chapter = feed["publications"][2], f"{base}/chapters/{chapters[2]}"
    file = one["links"][1]["href"]
    assert re.fullmatch(rf"{base}/releases/\d+/file/The%20Lighthouse%20Cat%203\.cbz", file)
    assert one == {
        "metadata": {
            "@type": "http://schema.org/Chapter",
            "title": "The Lighthouse Cat 3: Fog",
            "identifier": one["metadata"]["identifier"],
            "language": "en",
            "modified": "2025-12-31T23:00:00.000Z",
            "published": "2025-12-31",
            "author": ["Ines Brook"],
            "artist": "Ines Brook",
            "description": "Chapter 3, 24 pages",
            "numberOfPages": 24,
            "belongsTo": {
                "series": [{"name": TITLE, "position": 3, "links": [{"href": f"{base}/series/{series}", "type": kind}]}]
            },
        },
        "links": [
            {"rel": "self", "href": f"{chapter}/manifest", "type": "application/divina+json"},
            {"rel": "http://opds-spec.org/acquisition", "href": file, "type": "application/vnd.comicbook+zip"},
            {
                "rel": "http://www.cantook.com/api/progression",
                "href": f"{chapter}/progression",
                "type": "application/vnd.readium.progression+json",
            },
            {
                "rel": "http://opds-spec.org/progression",
                "href": f"{chapter}/progress",
                "type": "application/opds-progression+json",
            },
        ],
        "images": [{"href": f"{chapter}/cover", "type": "image/jpeg"}],
    }
    ids = [entry.findtext("a:id", namespaces=NAMES) for entry in entries(await kobo.feed(f"series/{series}"))]
    assert [each["metadata"]["identifier"] for each in feed["publications"]] == ids


async def test_progression_is_fetched_and_an_older_one_refused(app, kobo):
    series, chapters = await the_cat(kobo, 3)
    at = from_iso("2026-01-01T08:30:00Z")
    await read(kobo, series, chapters[2], page=9, at=at, device="Kitchen tablet")
    path = f"{SECOND}/chapters/{chapters[2]}/progression"
    found = (await kobo.call("GET", path)).json()
    device, href = found["device"], found["locator"]["href"]
    assert re.fullmatch(r"urn:uuid:[0-9a-f-]{36}", device["id"])
    assert re.fullmatch(rf"{app.client.base}{SECOND}/releases/\d+/pages/9", href)
    assert found == {
        "modified": "2026-01-01T08:30:00.000Z",
        "device": {"id": device["id"], "name": "Kitchen tablet"},
        "locator": {
            "href": href,
            "type": "image/jpeg",
            "locations": {"position": 10, "totalProgression": 0.3913},
        },
    }
    told = {
        "modified": "2026-01-01T08:00:00Z",
        "device": device,
        "locator": {"href": "", "type": "", "locations": {"position": 4}},
    }
    refused = await kobo.call("PUT", path, told)
    assert (refused.status, refused.headers["content-type"]) == (409, "application/problem+json")


async def test_how_to_search_is_described(app, kobo):
    answer = await kobo.call("GET", f"{FIRST}/search")
    template = f"{app.client.base}{FIRST}/series?search={{searchTerms}}"
    expected = f"""<OpenSearchDescription xmlns="http://a9.com/-/spec/opensearch/1.1/">
      <ShortName>Tsuzuki</ShortName><Description>Series by their titles</Description>
      <InputEncoding>UTF-8</InputEncoding><OutputEncoding>UTF-8</OutputEncoding>
      <Url type="{ATOM}acquisition" template="{template}"/></OpenSearchDescription>"""
    assert canonical(etree.tostring(etree.fromstring(answer.body))) == canonical(expected.encode())


async def test_how_to_sign_in_is_described(app, kobo):
    base = app.client.base
    document = f"{base}{SECOND}/auth"
    answer = await kobo.call("GET", f"{SECOND}/catalog", headers={})
    assert answer.status == 401
    assert answer.headers["www-authenticate"] == 'Basic realm="Tsuzuki", charset="UTF-8"'
    rel = 'rel="http://opds-spec.org/auth/document"'
    assert answer.headers["link"] == f'<{document}>; {rel}; type="application/opds-authentication+json"'
    labels = {"login": "Username", "password": "Device password"}
    assert answer.json() == {
        "id": document,
        "title": "Tsuzuki",
        "description": "Your username and a device password.",
        "authentication": [{"type": "http://opds-spec.org/auth/basic", "labels": labels}],
        "links": [{"rel": "help", "href": f"{base}/apps", "type": "text/html"}],
    }
    assert (await app.client.get(f"{SECOND}/auth")).json() == answer.json()
