"""KOReader's progress sync, as its plugin speaks it."""

import hashlib
from collections.abc import AsyncIterator
from io import BytesIO
from typing import Any

import pytest

from tests.api.people import RunningApp, a_running_app
from tests.app import in_settings
from tests.books.test_chapter_files import partial_md5, path_of
from tests.protocols.koreader import BASE, Device, a_device, a_library
from tests.protocols.people import an_app_reader
from tests.protocols.test_pictures import follow_gallery
from tsuzuki.accounts.sharing import shelf_user
from tsuzuki.accounts.tokens import TokenRequest
from tsuzuki.accounts.types import SYSTEM
from tsuzuki.books.archives import Archive
from tsuzuki.db.queries import parse_queries
from tsuzuki.inbox.entries import EntryFilter
from tsuzuki.model.pages import FROM_THE_TOP
from tsuzuki.model.times import MINUTE, SECOND, Millis
from tsuzuki.shelves.documents import DocumentProgress, Documents
from tsuzuki.shelves.types import ChapterSelection

DOCUMENT = "f34024643c82aec13b2fd5eb2842658a"
TOLD = {"document": DOCUMENT, "progress": "10", "percentage": 0.4167, "device": "Kobo Libra", "device_id": "9A1E0C"}

q = parse_queries(
    "tests",
    """
-- name: count
select count(*) from document_progress where shelf_id = :shelf_id;
-- name: enable
update user_account set disabled_at = :disabled_at where id = :id;
""",
)


@pytest.fixture
async def app(empty_database_url, tmp_path) -> AsyncIterator[RunningApp]:
    async with a_running_app(tmp_path, database_url=in_settings(empty_database_url)) as app:
        yield app


@pytest.fixture
async def kobo(app) -> Device:
    return await a_device(app)


# -- the exchange


@pytest.mark.both_engines
async def test_the_exchange_of_the_notes(app, kobo):
    """Seven requests with the very bodies; the server's clock is the only thing that may differ."""
    make = "Make a device password under Settings, Device passwords, and log in with it."
    created = {"username": kobo.user.username, "password": kobo.hashed}
    missing = {name: TOLD[name] for name in ("progress", "percentage", "device")}
    wrong = hashlib.md5(b"wrong").hexdigest()
    said = [
        await kobo.call("GET", "/users/auth"),
        await kobo.call("GET", f"/syncs/progress/{DOCUMENT}"),
        await kobo.call("PUT", "/syncs/progress", TOLD),
        await kobo.call("GET", f"/syncs/progress/{DOCUMENT}"),
        await kobo.call("PUT", "/syncs/progress", missing),
        await app.client.ask("POST", f"{BASE}/users/create", json=created),
        await kobo.call("GET", "/users/auth", key=wrong),
    ]
    at = said[2].json()["timestamp"]
    assert isinstance(at, int)
    assert abs(at - app.time() // SECOND) <= 5
    assert [(answer.status, answer.json()) for answer in said] == [
        (200, {"authorized": "OK"}),
        (200, {}),
        (200, {"document": DOCUMENT, "timestamp": at}),
        (200, TOLD | {"timestamp": at}),
        (403, {"code": 2004, "message": "Field 'document' not provided."}),
        (402, {"code": 2005, "message": make}),
        (401, {"code": 2001, "message": "Unauthorized"}),
    ]
    assert {answer.headers["content-type"] for answer in said} == {"application/json"}
    assert not any("www-authenticate" in answer.headers for answer in said)


@pytest.mark.both_engines
async def test_the_exchange_that_the_plugin_knows(app, kobo):
    answer = await kobo.call("GET", "/users/auth")
    assert (answer.status, answer.json()) == (200, {"authorized": "OK"})
    assert await kobo.get(DOCUMENT) == {}
    now = app.time() // SECOND
    said = await kobo.put(**TOLD)
    assert said["document"] == DOCUMENT
    assert 0 <= said["timestamp"] - now <= 1
    assert await kobo.get(DOCUMENT) == TOLD | {"timestamp": said["timestamp"]}
    created = await app.client.ask("POST", f"{BASE}/users/create", json={"username": "ann", "password": "x"})
    assert (created.status, created.json()["code"]) == (402, 2005)
    healthy = await app.client.get(f"{BASE}/healthcheck")
    assert (healthy.status, healthy.json()) == (200, {"state": "OK"})


async def test_hashed_and_plain_keys_open_until_they_end(app, kobo):
    assert (await kobo.call("GET", "/users/auth", key=kobo.key)).status == 200
    fever = await an_app_reader(app, "fever")
    wrong = hashlib.md5(b"wrong").hexdigest()
    for key in ("", wrong, fever.key, hashlib.md5(fever.key.encode()).hexdigest(), kobo.hashed.upper()):
        answer = await kobo.call("GET", "/users/auth", key=key)
        assert (answer.status, answer.json()) == (401, {"code": 2001, "message": "Unauthorized"}), key
    stranger = Device(app, fever.user, fever.shelf, kobo.issued)
    assert (await stranger.call("GET", "/users/auth")).status == 401
    await app.db.with_tx(lambda tx: tx.run(q.enable, id=kobo.user.id, disabled_at=1))
    assert (await kobo.call("GET", "/users/auth")).status == 401
    await app.db.with_tx(lambda tx: tx.run(q.enable, id=kobo.user.id, disabled_at=None))
    caller = (await app.accounts.devices.sign_in(kobo.request, kobo.user.username, kobo.key)).caller
    await app.accounts.tokens.revoke(caller, kobo.issued.token.public_id)
    assert (await kobo.call("PUT", "/syncs/progress", TOLD)).status == 401


async def test_what_other_clients_send_is_taken(kobo):
    await kobo.put(document="1", progress=12, percentage="0.5", device="Readest", metadata={"title": "Fog"}, more=[])
    found = await kobo.get("1")
    assert (found["progress"], found["percentage"], "device_id" in found) == ("12", 0.5, False)
    pointer = "/body/DocFragment[10]/body/div/p[1]/text().0"
    await kobo.put(**TOLD | {"progress": pointer, "percentage": 1e9})
    found = await kobo.get(DOCUMENT)
    assert (found["progress"], found["percentage"]) == (pointer, 1.0)
    await kobo.put(**TOLD | {"percentage": -1})
    assert (await kobo.get(DOCUMENT))["percentage"] == 0


async def test_what_is_wrong_is_refused_and_nothing_kept(app, kobo):
    for name, code in (("document", 2004), ("progress", 2003), ("percentage", 2003), ("device", 2003)):
        answer = await kobo.call("PUT", "/syncs/progress", {key: TOLD[key] for key in TOLD if key != name})
        assert (answer.status, answer.json()["code"]) == (403, code), name
        values: list[Any] = [None, "", [], {}, True, "NaN" if name == "percentage" else None]
        for value in values:
            answer = await kobo.call("PUT", "/syncs/progress", TOLD | {name: value})
            assert (answer.status, answer.json()["code"]) == (403, code), (name, value)
    for document in ("x" * 10_000, "a:b", "a/b", "a b", "\n", "a\u0000b", 7):
        answer = await kobo.call("PUT", "/syncs/progress", TOLD | {"document": document})
        assert answer.status == 403, document
    bodies: list[Any] = [[], "x", 1]
    for body in bodies:
        assert (await kobo.call("PUT", "/syncs/progress", body)).status == 403
    assert (await kobo.call("PUT", "/syncs/progress", TOLD | {"progress": "9" * 2000})).status == 403
    for document in ("x" * 5_000, "a%3Ab", "a%2Fb", "a/b", "%00", "%FF"):
        assert await kobo.get(document) == {}, document
    assert await app.db.read(lambda tx: tx.one(int, q.count, shelf_id=kobo.shelf)) == 0


async def test_everybody_has_documents_of_their_own(app, kobo):
    await kobo.put(**TOLD)
    other = await a_device(app)
    assert await other.get(DOCUMENT) == {}
    await other.put(**TOLD | {"progress": "11"})
    assert (await kobo.get(DOCUMENT))["progress"] == "10"


async def test_who_only_reads_a_shelf_tells_nothing_of_it(app, kobo):
    bob = await app.add()
    shelf = await app.accounts.current_user.shelf_of(kobo.user)
    await app.accounts.sharing.share(shelf_user(kobo.user), shelf.public_id, bob.username, "reader")
    request = TokenRequest(name="App", protocols=("koreader",), shelf=shelf.public_id)
    device = Device(app, bob, shelf.id, await app.accounts.tokens.make_for(SYSTEM, bob, request))
    assert (await device.call("PUT", "/syncs/progress", TOLD)).status == 403
    assert await device.get(DOCUMENT) == {}


async def test_a_shelf_keeps_the_documents_told_of_last(app, kobo):
    documents = Documents(app.db, most=3)
    for number in range(6):
        told = DocumentProgress(str(number), "1", 0.5, "Kobo", None, Millis(number))
        await documents.report(kobo.shelf, told)
    kept = [number for number in range(6) if await documents.find(kobo.shelf, str(number)) is not None]
    assert kept == [3, 4, 5]


# -- our own chapters


DIGESTS = {
    0: "d41d8cd98f00b204e9800998ecf8427e",
    1: "93b885adfe0da089cdf634904fd59f71",
    500: "07002923d687cd67b695e8c3bdaabff9",
    1024: "9ee0a0e0c0bc0f1ff29d663d1fdf0743",
    1025: "3f3789452b88cb32b8cbfbafe715e29a",
    4096: "1544ef7a46131a30cf328f55979db73d",
    5000: "e77dcca7f22a949ae8492c260ca19f32",
    100000: DOCUMENT,
    2000000: "da96d9df9e3ed2a4e922f3641ba40600",
}
"""By KOReader's own arithmetic, of files whose byte k is k mod 251."""


async def test_files_have_the_digests_that_koreader_gives_them():
    nothing: Any = None
    for size, digest in DIGESTS.items():
        content = bytes(range(251)) * (size // 251 + 1)
        archive = Archive("a.cbz", "application/zip", (content[:size],))
        assert await archive.partial_md5(nothing) == digest, size


async def test_a_page_on_the_device_is_a_page_here(tmp_path, empty_database_url):
    async with a_library(tmp_path, empty_database_url) as library:
        kobo, digest = library.kobo, await library.digest()
        assert await library.digest() == digest
        assert await kobo.get(digest) == {}
        await kobo.read(digest, 5, 8)
        assert await library.state() == (4, 4, False)
        assert (await kobo.get(digest))["device"] == "Kobo Libra"
        library.time.pass_(MINUTE)
        await kobo.read(digest, 99, 99)
        assert await library.state() == (7, 7, True)
        assert (await library.gallery.app.inbox.count(kobo.shelf)).chapters == 0


async def test_pages_read_elsewhere_reach_the_device(tmp_path, empty_database_url):
    async with a_library(tmp_path, empty_database_url) as library:
        kobo, digest = library.kobo, await library.digest()
        await kobo.read(digest, 2, 8)
        before = await kobo.get(digest)
        library.time.pass_(MINUTE)
        await library.report(page=5, device="Phone")
        found = await kobo.get(digest)
        assert (found["progress"], found["percentage"], found["device"]) == ("6", 0.75, "Phone")
        assert found["device_id"] != before["device_id"]
        assert found["timestamp"] > before["timestamp"]
        library.time.pass_(MINUTE)
        await kobo.read(digest, 3, 8)  # it was queued while the device was away
        assert await library.state() == (2, 5, False)
        assert (await kobo.get(digest))["progress"] == "3"


async def test_what_was_marked_read_here_is_at_its_end_there(tmp_path, empty_database_url):
    async with a_library(tmp_path, empty_database_url) as library:
        kobo, digest = library.kobo, await library.digest()
        await library.progress.mark(kobo.shelf, library.series, ChapterSelection(), is_read=True)
        found = await kobo.get(digest)
        assert (found["progress"], found["percentage"], found["device"]) == ("8", 1.0, "Tsuzuki")
        library.time.pass_(MINUTE)
        await kobo.read(digest, 2, 8)
        assert await library.state() == (1, 1, True)  # a late page makes nothing unread
        assert (await kobo.get(digest))["progress"] == "2"


async def test_a_chapter_begun_there_and_marked_here_is_complete(tmp_path, empty_database_url):
    async with a_library(tmp_path, empty_database_url) as library:
        kobo, digest = library.kobo, await library.digest()
        await kobo.read(digest, 3, 8)
        library.time.pass_(MINUTE)
        await library.progress.mark(kobo.shelf, library.series, ChapterSelection(), is_read=True)
        found = await kobo.get(digest)
        assert (found["progress"], found["percentage"], found["device"]) == ("8", 1.0, "Tsuzuki")
        assert found["device_id"] != kobo.name
        library.time.pass_(MINUTE)
        await library.progress.mark(kobo.shelf, library.series, ChapterSelection(), is_read=False)
        found = await kobo.get(digest)
        assert (found["progress"], found["device"]) == ("3", kobo.name)


async def test_a_file_is_known_by_its_name_too(tmp_path, empty_database_url):
    async with a_library(tmp_path, empty_database_url) as library:
        answer = await library.gallery.reader.get(path_of(library.gallery))
        name = answer.headers["content-disposition"].partition('filename="')[2].partition('"')[0]
        await library.kobo.read(hashlib.md5(name.encode()).hexdigest(), 4, 8)
        assert await library.state() == (3, 3, False)


async def test_a_chapter_of_another_shelf_is_only_a_document(tmp_path, empty_database_url):
    async with a_library(tmp_path, empty_database_url) as library:
        digest = await library.digest()
        other = await a_device(library.gallery.app)
        await other.read(digest, 5, 8)
        assert (await other.get(digest))["progress"] == "5"
        assert await library.state() == (0, 0, False)
        articles = await a_device(library.gallery.app, kinds="item")
        await follow_gallery(library.gallery, articles)
        await articles.read(digest, 5, 8)
        assert (await articles.get(digest))["progress"] == "5"


async def test_an_article_read_to_its_end_is_read(app):
    kobo = await a_device(app)
    await kobo.add_feed("The Gull Letters", items=2)
    wanted = EntryFilter(kind="item", unread=True)
    entry, _ = (await app.inbox.list(kobo.shelf, wanted, after=FROM_THE_TOP, most=9)).rows
    visitor = await app.signed_in(kobo.user)
    digest = partial_md5(BytesIO((await visitor.get(f"/items/{entry.item_id}/file")).body))
    place = {"document": digest, "progress": "/body/DocFragment[2]/body/p[1]/text().0", "device": "Kobo Libra"}
    await kobo.put(**place, percentage=0.5)
    assert (await app.inbox.count(kobo.shelf)).items == 2
    await kobo.put(**place, percentage=1)
    assert (await kobo.get(digest))["progress"] == place["progress"]
    left = (await app.inbox.list(kobo.shelf, wanted, after=FROM_THE_TOP, most=9)).rows
    assert entry.item_id not in [one.item_id for one in left]
    assert len(left) == 1
    other = await a_device(app)
    await other.put(**place, percentage=1)
    assert (await app.inbox.count(kobo.shelf)).items == 1
