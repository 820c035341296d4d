"""What a KOReader says from the first look at the catalogue to the same page on another device, in its own words."""

import hashlib
import zipfile
from io import BytesIO
from typing import Any

import pytest
from lxml import etree

from tests.app import Answer
from tests.books.test_chapter_files import partial_md5
from tests.images.builders import a_gallery
from tests.images.test_downloads import fill
from tests.protocols.opds import ACQUISITION, KOREADER, PSE, STREAM, OpdsReader, check, entries, links
from tests.protocols.people import an_app_reader
from tests.protocols.test_pictures import follow_gallery
from tsuzuki.model.times import MINUTE

CATALOG = "/opds/v1.2/catalog"
NAVIGATION = "application/atom+xml"


class EReader(OpdsReader):
    """One device: its catalogue reader and its progress plugin, with one device password for both."""

    device = "Kobo Libra"
    device_id = "9A1E0C5D2B7F4A8E9A1E0C5D2B7F4A8E"

    async def opds(self, method: str, path: str, **headers: str) -> Answer:
        said = KOREADER | self.basic | {"user-agent": "KOReader/2026.08 (https://koreader.rocks/) LuaSocket/3.0"}
        return await self.app.client.ask(
            method, path, headers=said | {k.replace("_", "-"): v for k, v in headers.items()}
        )

    async def browse(self, path: str) -> Any:
        """It asks for the head of every feed before it asks for the feed."""
        head, answer = await self.opds("HEAD", path), await self.opds("GET", path)
        assert (head.status, head.body, answer.status) == (200, b"", 200)
        assert head.headers["content-type"] == answer.headers["content-type"]
        assert head.headers["content-length"] == str(len(answer.body))
        assert answer.headers["content-type"].startswith("application/atom+xml;profile=opds-catalog;kind=")
        assert "content-encoding" not in answer.headers
        feed = etree.fromstring(answer.body)
        check(feed, answer)
        return feed

    async def sync(self, method: str, path: str, body: Any = None) -> Any:
        headers = {
            "accept": "application/vnd.koreader.v1+json",
            "x-auth-user": self.user.username,
            "x-auth-key": hashlib.md5(self.key.encode()).hexdigest(),
        }
        options = {} if body is None else {"json": body}
        answer = await self.app.client.ask(method, f"/koreader{path}", headers=headers, **options)
        assert answer.status == 200, answer.text
        assert answer.headers["content-type"] == "application/json"
        return answer.json()

    async def push(self, document: str, page: int, count: int, **over: Any) -> None:
        said = {"document": document, "progress": str(page), "percentage": round(page / count, 4)}
        said |= {"device": self.device, "device_id": self.device_id} | over
        answer = await self.sync("PUT", "/syncs/progress", said)
        assert answer["document"] == document

    async def pull(self, document: str) -> Any:
        return await self.sync("GET", f"/syncs/progress/{document}")


def places(feed: Any) -> list[str]:
    """Where its navigation entries lead, by the relations that it follows."""
    followed = {None, "subsection", "http://opds-spec.org/sort/new", "http://opds-spec.org/sort/popular"}
    found = [
        link for entry in entries(feed) for link in entry if link.get("href") and NAVIGATION in link.get("type", "")
    ]
    return [link.get("href") for link in found if link.get("rel") in followed]


@pytest.mark.both_engines
async def test_koreader_browses_reads_downloads_and_keeps_its_place(tmp_path, empty_database_url):  # noqa: PLR0915  a conversation is long
    async with a_gallery(tmp_path, empty_database_url, pages=8) as gallery:
        ann = await an_app_reader(gallery.app, "opds", "koreader")
        kobo = EReader(gallery.app, ann.user, ann.shelf, ann.issued)
        await follow_gallery(gallery, kobo)
        pictures = fill(gallery)

        # the catalogue, down to the chapter
        refused = await gallery.app.client.ask("HEAD", CATALOG, headers=KOREADER)
        assert (refused.status, refused.headers["www-authenticate"].split()[0]) == (401, "Basic")
        [series_list] = [path for path in places(await kobo.browse(CATALOG)) if path.endswith("/series")]
        [series] = places(await kobo.browse(series_list))
        feed = await kobo.browse(series)
        while not links(entries(feed)[0], ACQUISITION):  # pages that were never counted are counted when it is opened
            feed = await kobo.browse(places(feed)[0])
        [entry] = entries(feed)

        # pages, one by one
        [stream] = links(entry, STREAM)
        assert (stream.get("type"), stream.get(f"{PSE}count"), stream.get(f"{PSE}lastRead")) == (
            "image/jpeg",
            "8",
            None,
        )
        for number in (0, 1, 7):
            path = stream.get("href").replace("{pageNumber}", str(number)).replace("{maxWidth}", "1264")
            page = await kobo.opds("GET", path)
            assert (page.status, page.headers["content-type"], page.body[:3]) == (200, "image/jpeg", b"\xff\xd8\xff")
        beyond = stream.get("href").replace("{pageNumber}", "8").replace("{maxWidth}", "1264")
        assert (await kobo.opds("GET", beyond)).status == 404

        # the file: its name by HEAD, then all of it; once more after the line broke off
        [file] = links(entry, ACQUISITION)
        path = file.get("href")
        assert (file.get("type"), path.rpartition(".")[2]) == ("application/vnd.comicbook+zip", "cbz")
        head, whole = await kobo.opds("HEAD", path), await kobo.opds("GET", path)
        assert (head.status, whole.status) == (200, 200)
        assert head.headers["content-disposition"] == whole.headers["content-disposition"]
        name = head.headers["content-disposition"].partition('filename="')[2].partition('"')[0]
        assert name.endswith(".cbz")
        assert int(whole.headers["content-length"]) == len(whole.body)
        again = await kobo.opds("HEAD", path)
        assert again.headers["content-length"] == str(len(whole.body))  # every page is here by now
        etag = whole.headers["etag"]
        rest = await kobo.opds("GET", path, range="bytes=1500-", if_range=etag)
        assert (rest.status, whole.body[:1500] + rest.body) == (206, whole.body)
        other = await kobo.opds("GET", path, range="bytes=1500-", if_range='"another"')
        assert (other.status, other.body) == (200, whole.body)
        with zipfile.ZipFile(BytesIO(whole.body)) as archive:
            assert [archive.read(one) for one in archive.namelist()[:8]] == pictures

        # the place in it: out
        digest = partial_md5(BytesIO(whole.body))
        assert await kobo.sync("GET", "/users/auth") == {"authorized": "OK"}
        assert await kobo.pull(digest) == {}
        await kobo.push(digest, 3, 8, progress=3)  # a number, as some of its versions send
        mine = await kobo.pull(digest)
        assert (mine["device"], mine["device_id"], mine["progress"]) == (kobo.device, kobo.device_id, "3")
        [stream] = links(entries(await kobo.browse(feed_path(feed)))[0], STREAM)
        assert stream.get(f"{PSE}lastRead") == "3"

        # and back, from the reader in the browser
        gallery.app.time.pass_(MINUTE)
        web = await gallery.app.signed_in(ann.user)
        told = await web.ask("PUT", f"{series_api(series)}/chapters/{gallery.chapter_id}/progress", {"page": 5})
        assert told.status == 200, told.text
        theirs = await kobo.pull(digest)
        assert (theirs["progress"], theirs["percentage"]) == ("6", 0.75)
        assert theirs["device_id"] != kobo.device_id
        assert theirs["timestamp"] > mine["timestamp"]
        assert await kobo.pull(hashlib.md5(name.encode()).hexdigest()) == theirs | {
            "document": hashlib.md5(name.encode()).hexdigest()
        }

        # to its end
        gallery.app.time.pass_(MINUTE)
        await kobo.push(digest, 8, 8)
        assert (await gallery.app.inbox.count(ann.shelf)).chapters == 0
        [stream] = links(entries(await kobo.browse(feed_path(feed)))[0], STREAM)
        assert stream.get(f"{PSE}lastRead") == "8"


def feed_path(feed: Any) -> str:
    [own] = links(feed, "self")
    path: str = own.get("href")
    return path


def series_api(path: str) -> str:
    return f"/series/{path.rpartition('/')[2].partition('?')[0]}"
