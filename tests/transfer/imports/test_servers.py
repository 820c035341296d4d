"""Other servers are asked by the polite client; what they have comes along, and what they refuse is said."""

from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from tests.net.builders import a_client, a_web_app
from tests.transfer.imports.builders import an_importer
from tests.transfer.mihon.builders import a_backup, a_chapter, a_manga, packed
from tsuzuki.model.errors import Invalid
from tsuzuki.transfer.servers import calls
from tsuzuki.transfer.servers.comics import KAVITA_UID, KOMGA_UID
from tsuzuki.transfer.servers.kinds import ServerLogin

FEEDS = [
    {
        "feed_url": "https://93.184.216.34/a",
        "title": "A",
        "site_url": "https://example.org",
        "category": {"title": "News"},
    }
]
STARRED = {
    "total": 1,
    "entries": [
        {"title": "One", "url": "https://example.org/1", "content": "<p>x</p>", "published_at": "2026-01-02T03:04:05Z"}
    ],
}
KOMGA_SERIES = {
    "content": [
        {
            "id": "0A1",
            "name": "solo",
            "created": "2026-01-01T00:00:00Z",
            "metadata": {"title": "Solo", "status": "ENDED"},
        }
    ]
}
KOMGA_BOOKS = {
    "content": [
        {
            "id": "B1",
            "name": "b1",
            "metadata": {"title": "Ch. 1", "numberSort": 1.0},
            "readProgress": {"page": 20, "completed": True, "readDate": "2026-01-02T03:04:05Z"},
        },
        {
            "id": "B2",
            "name": "b2",
            "metadata": {"title": "Ch. 2", "numberSort": 2.0},
            "readProgress": {"page": 4, "completed": False, "readDate": "2026-01-03T03:04:05Z"},
        },
        {"id": "B3", "name": "b3", "metadata": {"title": "Ch. 3", "numberSort": 3.0}},
    ]
}
KAVITA_SERIES = [{"id": 7, "name": "Solo", "created": "2026-01-01T00:00:00"}]
KAVITA_DETAIL = {
    "volumes": [
        {
            "name": "1",
            "chapters": [
                {
                    "id": 1,
                    "minNumber": 1,
                    "range": "1",
                    "pages": 20,
                    "pagesRead": 20,
                    "lastReadingProgressUtc": "2026-01-02T03:04:05",
                }
            ],
        }
    ],
    "chapters": [{"id": 2, "minNumber": 2.5, "range": "2.5", "pages": 20, "pagesRead": 3}, {"id": 1, "minNumber": 1}],
    "specials": [{"id": 3, "minNumber": -100000, "isSpecial": True, "title": "Extra", "pages": 2}],
}


def said(value, is_allowed):
    async def handle(request):
        if not is_allowed(request):
            return web.Response(status=401)
        return value(request) if callable(value) else web.json_response(value)

    return handle


@asynccontextmanager
async def asking(db, folder, *routes):
    async with a_web_app(*routes) as url, a_client() as client:
        yield await an_importer(db, folder, client=client), url


async def imported(importer, login):
    shown = await importer.imports.show_server(importer.reader.shelf_id, importer.reader.user.id, login)
    await importer.imports.start(importer.reader.shelf_id, shown.public_id)
    return await importer.finished(shown)


async def test_miniflux_gives_feeds_and_starred_articles(db, tmp_path):
    def has_key(request):
        return request.headers.get("x-auth-token") == "key"

    def entries(request):
        if request.query.get("status") == "read":
            return web.json_response({"total": 12, "entries": []})
        pages = {"0": {"total": 2, "entries": [{"title": "Nothing in it"}]}, "250": STARRED}
        return web.json_response(pages.get(request.query["offset"], {"total": 2, "entries": []}))

    routes = (
        web.get("/v1/feeds", said([*FEEDS, {"feed_url": "ftp://example.org"}], has_key)),
        web.get("/v1/entries", said(entries, has_key)),
    )
    async with asking(db, tmp_path, *routes) as (importer, url):
        done = await imported(importer, ServerLogin(kind="miniflux", url=f"{url}/", password="key"))
        assert done.preview.counts == {"groups": 1, "feeds": 1, "bookmarks": 1}
        assert [(left.what, left.count) for left in done.preview.left_out] == [
            ("feeds", 1),
            ("items", 1),
            ("items", 12),
        ]
        assert (done.status, done.kind, done.name) == ("done", "miniflux", "127.0.0.1")
        with pytest.raises(Invalid, match="refused the username, the password or the API key"):
            await imported(importer, ServerLogin(kind="miniflux", url=url, password="wrong"))


def has_password(request):
    return request.headers.get("authorization") == "Basic YW5uOnNlY3JldA=="


async def test_komga_gives_series_and_how_far_they_were_read(db, tmp_path):
    def series(request):
        assert (request.query["sort"], request.query["deleted"]) == ("metadata.titleSort,asc", "false")
        return web.json_response(KOMGA_SERIES if request.query["page"] == "0" else {"content": []})

    routes = (
        web.get("/api/v1/series", said(series, has_password)),
        web.get("/api/v1/series/0A1/books", said(KOMGA_BOOKS, has_password)),
    )
    async with asking(db, tmp_path, *routes) as (importer, url):
        login = ServerLogin(kind="komga", url=url, username="ann", password="secret")
        done = await imported(importer, login)
        assert (done.status, done.preview.unlinked) == ("done", {"Komga": 1})
        assert [(left.what, left.count) for left in done.preview.left_out] == [("files", 3)]
        shelf = await importer.shelf()
        [one] = shelf["series.jsonl"]
        assert (one["title"], one["status"]) == ("Solo", 2)
        assert [(each["source"], each["url"]) for each in one["backups"]] == [(KOMGA_UID, f"{url}/api/v1/series/0A1")]
        progress = {each["key"]: each.get("progress") for each in shelf["chapters.jsonl"]}
        assert progress["1"]["is_read"]
        assert (progress["2"]["page"], progress["3"]) == (3, None)
        await imported(importer, login)
        assert await importer.shelf() == shelf


async def test_kavita_gives_series_and_how_far_they_were_read(db, tmp_path):
    def has_token(request):
        return request.headers.get("authorization") == "Bearer t"

    routes = (
        web.post("/api/Plugin/authenticate", said({"token": "t"}, lambda request: request.query["apiKey"] == "key")),
        web.post("/api/Series/all-v2", said(KAVITA_SERIES, has_token)),
        web.get("/api/Series/series-detail", said(KAVITA_DETAIL, has_token)),
    )
    async with asking(db, tmp_path, *routes) as (importer, url):
        done = await imported(importer, ServerLogin(kind="kavita", url=url, password="key"))
        assert (done.status, done.preview.counts) == ("done", {"series": 1, "follows": 1, "chapters": 3})
        shelf = await importer.shelf()
        assert shelf["series.jsonl"][0]["backups"][0]["source"] == KAVITA_UID
        assert [(left.what, left.count) for left in done.preview.left_out] == [("files", 3)]
        progress = {each.get("number"): each.get("progress") for each in shelf["chapters.jsonl"]}
        assert progress["1"]["is_read"]
        assert progress["2.5"]["page"] == 3
        assert progress[None] is None


async def test_suwayomi_gives_a_backup(db, tmp_path):
    body = packed(a_backup(a_manga(title="Solo", chapters=[a_chapter("/c/1", number=1, read=1)])))
    route = web.get("/api/v1/backup/export/file", said(lambda _: web.Response(body=body), has_password))
    async with asking(db, tmp_path, route) as (importer, url):
        done = await imported(importer, ServerLogin(kind="suwayomi", url=url, username="ann", password="secret"))
        assert (done.status, done.preview.counts) == ("done", {"series": 1, "follows": 1, "chapters": 1})


async def test_a_suwayomi_with_its_own_sign_in_gets_advice(db, tmp_path):
    async def sign_in(_):
        return web.Response(text="<!DOCTYPE html><title>Sign in</title>", content_type="text/html")

    async with asking(db, tmp_path, web.get("/api/v1/backup/export/file", sign_in)) as (importer, url):
        with pytest.raises(Invalid, match="choose its file instead"):
            await imported(importer, ServerLogin(kind="suwayomi", url=url, username="ann", password="secret"))


async def test_a_server_with_nothing_says_so(db, tmp_path):
    route = web.get("/api/v1/series", said({"content": []}, has_password))
    async with asking(db, tmp_path, route) as (importer, url):
        with pytest.raises(Invalid, match="nothing on this server that can be imported"):
            await imported(importer, ServerLogin(kind="komga", url=url, username="ann", password="secret"))


ODD = {"no json": b"<html>", "a number": b"3", "deep": b"[" * 100_000}


@pytest.mark.parametrize("body", ODD.values(), ids=ODD)
@pytest.mark.parametrize(("kind", "path"), [("komga", "/api/v1/series"), ("miniflux", "/v1/feeds")])
async def test_a_server_that_says_nonsense_ends_in_a_sentence(db, tmp_path, body, kind, path):
    async with asking(db, tmp_path, web.get(path, said(lambda _: web.Response(body=body), lambda _: True))) as (
        importer,
        url,
    ):
        with pytest.raises(Invalid, match=r"\.$"):
            await imported(importer, ServerLogin(kind=kind, url=url, username="ann", password="secret"))


async def test_a_server_that_never_ends_is_left(db, tmp_path, monkeypatch):
    """By the bytes of all its answers, and by their time."""
    asked = []

    async def page(request):
        asked.append(request.path)
        return web.json_response(KOMGA_SERIES if request.path.endswith("/series") else KOMGA_BOOKS)

    path = "/api/v1/{rest:.*}"
    login = {"kind": "komga", "username": "ann", "password": "secret"}
    async with asking(db, tmp_path, web.get(path, page)) as (importer, url):
        monkeypatch.setattr(calls, "MOST_IN_ALL", 2_000)
        with pytest.raises(Invalid, match=r"more than|larger than"):
            await imported(importer, ServerLogin(url=url, **login))
        assert 2 <= len(asked) < 20
        monkeypatch.undo()
        asked.clear()
        monkeypatch.setattr(calls, "PATIENCE_S", -1.0)
        with pytest.raises(Invalid, match="had not sent everything"):
            await imported(importer, ServerLogin(url=url, **login))
        assert asked == []


async def test_credentials_follow_no_redirect_to_another_host(db, tmp_path):
    """SEC-09; a port is another origin."""
    seen = []

    async def take(request):
        seen.append(dict(request.headers))
        return web.json_response([])

    async with a_web_app(web.get("/{rest:.*}", take)) as other:

        async def away(_):
            raise web.HTTPFound(f"{other}/elsewhere")

        async with asking(db, tmp_path, web.get("/{rest:.*}", away)) as (importer, url):
            for kind, name in (("miniflux", ""), ("komga", "ann")):
                with pytest.raises(Invalid):
                    await imported(importer, ServerLogin(kind=kind, url=url, username=name, password="canary"))
    assert seen
    for headers in seen:
        assert not {"authorization", "x-auth-token"} & {name.lower() for name in headers}


async def test_addresses_within_the_network_are_refused(db, tmp_path):
    async with a_client() as client:
        importer = await an_importer(db, tmp_path, client=client)
        with pytest.raises(Invalid):
            await imported(importer, ServerLogin(kind="komga", url="http://10.0.0.1", username="a", password="b"))


def test_a_password_stands_in_no_text_about_it():
    assert "secret" not in repr(ServerLogin(kind="komga", url="https://ann:x@example.org", password="secret"))
