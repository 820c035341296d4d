"""OPDS 1.2 with page streaming, as KOReader, Panels and others read it."""

import asyncio
import base64
import zipfile
from collections.abc import AsyncIterator
from io import BytesIO
from typing import Any
from urllib.parse import quote

import msgspec
import pytest
from lxml import etree
from PIL import Image as Picture

from tests.api.people import RunningApp, a_running_app
from tests.app import Answer, in_settings
from tests.images.builders import a_gallery, a_picture
from tests.images.test_downloads import fill, no_release_tx
from tests.protocols.opds import (
    ACQUISITION,
    FIRST,
    KOREADER,
    NAMES,
    PSE,
    SECOND,
    STREAM,
    OpdsReader,
    an_opds_reader,
    entries,
    link,
    links,
)
from tests.protocols.people import an_app_reader
from tests.protocols.test_pictures import follow_gallery
from tsuzuki.accounts.sharing import shelf_user
from tsuzuki.accounts.tokens import TokenRequest
from tsuzuki.accounts.types import SYSTEM
from tsuzuki.inbox.sync import SyncFilter
from tsuzuki.model.ids import ChapterId, read_id, show_id
from tsuzuki.model.times import DAY
from tsuzuki.shelves.types import ReportedReading
from tsuzuki.sources.series import known_series_tx

HUGE = ("-1", "1000000000", "9223372036854775807", "9" * 30, "1e3", "%00", "x", "%F0%9F")


@pytest.fixture
async def app(empty_database_url, tmp_path) -> AsyncIterator[RunningApp]:
    async with a_running_app(tmp_path, database_url=in_settings(empty_database_url)) as app:
        yield app


@pytest.fixture
async def ann(app) -> OpdsReader:
    return await an_opds_reader(app)


async def read(ann: OpdsReader, series: str, chapter: int, **reading: Any) -> None:
    public_id = read_id(series)
    assert public_id is not None
    await ann.app.reading.progress.report(ann.shelf, public_id, ChapterId(chapter), ReportedReading(**reading))


def titles_of(answer: Answer) -> list[str]:
    return [entry.findtext("a:title", namespaces=NAMES) for entry in entries(etree.fromstring(answer.body))]


# -- who may come in


async def test_whoever_is_unknown_is_asked_for_a_password(app, ann):
    fever = await an_app_reader(app, "fever")
    pair = base64.b64encode(f"{fever.user.username}:{fever.key}".encode()).decode()
    session = await app.signed_in(ann.user)
    for headers in ({}, {"authorization": "Basic eDp5"}, {"authorization": f"Basic {pair}"}, session.headers):
        for path in (f"{FIRST}/catalog", f"{FIRST}/releases/1/pages/0", f"{SECOND}/catalog"):
            answer = await ann.call("GET", path, headers=headers)
            assert answer.status == 401
            assert answer.headers["www-authenticate"] == 'Basic realm="Tsuzuki", charset="UTF-8"'
    refused = await ann.call("GET", f"{SECOND}/catalog", headers={})
    base = app.client.base
    said = await app.client.get(f"{SECOND}/auth")
    assert refused.headers["content-type"] == said.headers["content-type"]
    assert refused.json() == said.json()
    assert said.json()["id"] == f"{base}{SECOND}/auth"
    assert refused.headers["link"].startswith(f'<{base}{SECOND}/auth>; rel="http://opds-spec.org/auth/document"')
    assert (said.status, said.headers["content-type"]) == (200, "application/opds-authentication+json")
    assert said.json()["authentication"][0]["type"] == "http://opds-spec.org/auth/basic"
    caller = (await app.accounts.devices.sign_in(ann.request, ann.user.username, ann.key)).caller
    await app.accounts.tokens.revoke(caller, ann.issued.token.public_id)
    assert (await ann.call("GET", f"{FIRST}/catalog")).status == 401


async def test_a_password_shows_what_it_was_made_for(app, ann):
    series, [chapter] = await ann.a_series("The Lighthouse Cat", 1)
    articles = await an_opds_reader(app, kinds="item")
    assert await articles.titles("catalog") == ["Saved articles", "Articles by day"]
    for path in ("series", "inbox", "continue", f"series/{series}", f"chapters/{chapter}", "releases/1/pages/0"):
        assert (await articles.call("GET", f"{FIRST}/{path}")).status == 404
    comics = await an_opds_reader(app, kinds="chapter")
    assert "Library" in await comics.titles("catalog")
    assert (await comics.call("GET", f"{FIRST}/articles/saved")).status == 404


async def test_another_shelfs_series_are_not_found(app, ann):
    series, [chapter] = await ann.a_series("The Lighthouse Cat", 1)
    bob = await an_opds_reader(app)
    assert await bob.titles("series") == []
    for path in (f"series/{series}", f"series/{series}/cover", f"chapters/{chapter}", f"chapters/{chapter}/cover"):
        assert (await bob.call("GET", f"{FIRST}/{path}")).status == 404
    entry = entries(await ann.feed(f"series/{series}"))[0]
    [file] = links(entry, ACQUISITION)
    assert (await bob.call("GET", file.get("href"))).status == 404
    assert (await bob.call("GET", links(entry, STREAM)[0].get("href").partition("{")[0] + "0")).status == 404


# -- the feeds


async def test_the_first_feed_leads_everywhere(ann):
    await ann.a_series("The Lighthouse Cat", 2)
    root = await ann.feed("catalog")
    for entry in entries(root):
        [to] = [one for one in entry.iterfind("a:link", namespaces=NAMES) if "kind=" in one.get("type")]
        assert to.get("rel") in {"subsection", "http://opds-spec.org/sort/new"}  # KOReader follows few others
        below = await ann.feed(to.get("href").removeprefix(f"{FIRST}/"))
        assert link(below, "start") == "catalog"
    for typed in (FIRST, f"{FIRST}/"):  # no client is redirected for a slash
        answer = await ann.call("GET", typed)
        assert (answer.status, titles_of(answer)) == (200, titles_of(await ann.call("GET", f"{FIRST}/catalog")))
    assert (await ann.call("GET", f"{SECOND}/")).headers["content-type"] == "application/opds+json"
    [other] = links(root, "alternate")
    assert (other.get("type"), other.get("href")) == ("application/opds+json", f"{SECOND}/catalog")


async def test_a_series_is_listed_as_its_readers_expect(ann):
    """Every field of an entry that some app reads."""
    series, chapters = await ann.a_series("The Lighthouse Cat", 51)
    await read(ann, series, chapters[2], page=9, device="Kitchen tablet")
    feed = await ann.feed(f"series/{series}")
    assert feed.findtext("a:title", namespaces=NAMES) == "The Lighthouse Cat"
    numbers = [feed.findtext(f"os:{name}", namespaces=NAMES) for name in ("totalResults", "itemsPerPage", "startIndex")]
    assert numbers == ["51", "50", "1"]
    active = [one.get("title") for one in links(feed, "http://opds-spec.org/facet") if len(one.attrib) == 6]
    assert active == ["Oldest first", "All"]
    entry = entries(feed)[2]
    assert entry.findtext("a:title", namespaces=NAMES) == "The Lighthouse Cat 3"
    assert entry.findtext("a:author/a:name", namespaces=NAMES) == "Ines Brook"
    assert entry.findtext("dc:language", namespaces=NAMES) == "en"
    assert entry.findtext("a:content", namespaces=NAMES) == "Chapter 3, 24 pages"
    [file] = links(entry, ACQUISITION)
    assert file.get("type") == "application/vnd.comicbook+zip"
    assert file.get("href").endswith("/file/The%20Lighthouse%20Cat%203.cbz")
    [stream] = links(entry, STREAM)
    assert stream.get("type") == "image/jpeg"
    assert stream.get("href").endswith("/pages/{pageNumber}?width={maxWidth}")
    assert (stream.get(f"{PSE}count"), stream.get(f"{PSE}lastRead")) == ("24", "10")
    assert stream.get(f"{PSE}lastReadDate")
    [unread] = links(entries(feed)[0], STREAM)
    assert unread.get(f"{PSE}lastRead") is None
    assert link(feed, "next") == f"series/{series}?page=1"
    assert await ann.titles(link(feed, "next")) == ["The Lighthouse Cat 51"]


async def test_paging_visits_every_chapter_once_while_others_arrive(app, ann):
    series, _ = await ann.a_series("The Lighthouse Cat", 120)
    public_id = read_id(series)
    assert public_id is not None
    series_id = await app.db.read(lambda tx: known_series_tx(tx, public_id))
    for place, path in enumerate((f"series/{series}", f"series/{series}?order=newest", "inbox")):
        seen: list[str] = []
        following: str | None = path
        while following is not None:
            feed = await ann.feed(following)
            seen += [entry.findtext("a:id", namespaces=NAMES) for entry in entries(feed)]
            await ann.more(series_id, range(1000 * place + 200 + len(seen), 1000 * place + 202 + len(seen)))
            following = link(feed, "next") if links(feed, "next") else None
        assert len(seen) == len(set(seen))
        assert len(seen) >= 120


async def test_every_page_leads_to_those_around_it(ann):
    """Next to the end, and back by previous: the same pages; first and last are where they say."""
    series, chapters = await ann.a_series("The Lighthouse Cat", 120)
    for number in range(101):
        await ann.add(f"Series {number:03}", 1)
    assert len(chapters) == 120
    for path, total in (
        (f"series/{series}", 120),
        (f"series/{series}?order=newest", 120),
        ("inbox", 120),
        ("series", 102),
    ):
        forwards: list[list[str]] = []
        following = path
        while True:
            feed = await ann.feed(following)
            start = int(feed.findtext("os:startIndex", namespaces=NAMES))
            assert start == 50 * len(forwards) + 1
            assert feed.findtext("os:totalResults", namespaces=NAMES) == str(total)
            forwards.append([entry.findtext("a:id", namespaces=NAMES) for entry in entries(feed)])
            assert link(feed, "first") == path
            last = link(feed, "last")
            if not links(feed, "next"):
                break
            following = link(feed, "next")
        assert sum(map(len, forwards)) == total
        assert await _ids(ann, last) == forwards[-1]
        backwards = [forwards[-1]]
        while links(feed, "previous"):
            feed = await ann.feed(link(feed, "previous"))
            backwards.insert(0, [entry.findtext("a:id", namespaces=NAMES) for entry in entries(feed)])
        assert backwards == forwards, path
        assert link(feed, "self") == path
    shown = await ann.json("inbox?left=20")
    assert shown["metadata"]["currentPage"] == 3
    assert {"first", "previous", "last"} <= {one["rel"] for one in shown["links"]}


async def _ids(ann: OpdsReader, path: str) -> list[str]:
    return [entry.findtext("a:id", namespaces=NAMES) for entry in entries(await ann.feed(path))]


async def test_read_chapters_leave_the_unread_ones(ann):
    series, chapters = await ann.a_series("The Lighthouse Cat", 3)
    await read(ann, series, chapters[0], is_read=True)
    assert await ann.titles(f"series/{series}?unread=true") == ["The Lighthouse Cat 2", "The Lighthouse Cat 3"]
    assert await ann.titles(f"series/{series}?unread=true&order=newest") == [
        "The Lighthouse Cat 3",
        "The Lighthouse Cat 2",
    ]
    assert await ann.titles("continue") == ["The Lighthouse Cat 2"]
    assert len(await ann.titles("inbox?unread=true")) == 2
    assert len(await ann.titles("inbox")) == 3
    [place] = entries(await ann.feed("series"))
    assert place.findtext("a:content", namespaces=NAMES) == "2 unread of 3 chapters"


async def test_series_are_found_by_words_and_groups(app, ann):
    group = await app.reading.groups.add(ann.shelf, "Comics")
    await ann.a_series("The Gull Letters", 1)
    await ann.a_series("灯台の猫", 1)
    cat = await ann.add("The Lighthouse Cat", 1, group=group.id)
    described = await ann.call("GET", f"{FIRST}/search")
    assert described.headers["content-type"] == "application/opensearchdescription+xml"
    description = etree.fromstring(described.body)
    assert b"<OpenSearchDescription " in described.body
    [url] = [one for one in description if str(one.tag).endswith("}Url")]
    assert url.get("type") == "application/atom+xml;profile=opds-catalog;kind=acquisition"
    template = next(one.get("template") or "" for one in description if str(one.tag).endswith("}Url"))
    assert template.startswith(app.client.base)
    path = template.removeprefix(f"{app.client.base}{FIRST}/")
    for words, found in (
        ("gull", ["The Gull Letters"]),
        ("lighth", ["The Lighthouse Cat"]),
        ("台の猫", ["灯台の猫"]),
        ("%", []),
        ('"', []),
        ("\\", []),
        ("", ["The Gull Letters", "The Lighthouse Cat", "灯台の猫"]),
    ):
        assert await ann.titles(path.replace("{searchTerms}", quote(words))) == found, words
    assert await ann.titles(f"series?group={show_id(group.public_id)}") == ["The Lighthouse Cat"]
    assert {"Comics"} <= set(await ann.titles("groups"))
    assert cat in etree.tostring(await ann.feed("series")).decode()
    for wrong in ("x", "0" * 32, show_id(group.public_id)[:-1]):
        assert (await ann.call("GET", f"{FIRST}/series?group={wrong}")).status == 404


async def test_titles_of_any_kind_are_well_formed(ann):
    for title in ("A & B <i>", "]]>", "\u0001", "𠮷", '"quoted"', "", " ", "a;b/c"):
        series, _ = await ann.a_series(title, 1)
        await ann.feed(f"series/{series}")
    assert len(await ann.titles("series")) == 8
    assert len(await ann.titles("inbox")) == 8


async def test_a_list_calls_no_source_and_a_chapter_one(tmp_path, empty_database_url):
    async with a_gallery(tmp_path, empty_database_url, is_listed=False) as gallery:
        ann = await an_opds_reader(gallery.app)
        await follow_gallery(gallery, ann)
        fill(gallery)
        [place] = entries(await ann.feed("series"))
        [entry] = entries(await ann.feed(link(place, "subsection")))
        await ann.feed("inbox")
        await ann.feed("continue")
        assert gallery.site.asked == []
        assert not links(entry, STREAM)
        [chapter] = entries(await ann.feed(link(entry, "subsection")))
        [chapter] = entries(await ann.feed(link(entry, "subsection")))
        assert len(gallery.site.asked) == 1
        assert links(chapter, STREAM)[0].get(f"{PSE}count") == "3"
        same = [one.findtext("a:id", namespaces=NAMES) for one in (entry, chapter)]
        assert same[0] == same[1]


# -- pages and files


async def pages_of(ann: OpdsReader) -> tuple[str, int]:
    """Where the pages of the only chapter are, and how many."""
    [place] = entries(await ann.feed("series"))
    [entry] = entries(await ann.feed(link(place, "subsection")))
    if not links(entry, STREAM):
        [entry] = entries(await ann.feed(link(entry, "subsection")))
    [stream] = links(entry, STREAM)
    return stream.get("href"), int(stream.get(f"{PSE}count"))


async def test_pages_are_what_their_link_promises(tmp_path, empty_database_url):
    async with a_gallery(tmp_path, empty_database_url, pages=4) as gallery:
        ann = await an_opds_reader(gallery.app)
        await follow_gallery(gallery, ann)
        jpeg = a_picture("JPEG", size=(1200, 300))
        pictures = (jpeg, a_picture("WEBP"), a_picture("AVIF"), a_picture("PNG", color="blue"))
        for position, picture in enumerate(pictures):
            gallery.show(position, picture)
        href, count = await pages_of(ann)
        assert count == 4
        for position in range(count):
            answer = await ann.call("GET", href.replace("{pageNumber}", str(position)))  # {maxWidth} stays as it is
            assert (answer.status, answer.headers["content-type"]) == (200, "image/jpeg")
            assert answer.body[:3] == b"\xff\xd8\xff"
            assert answer.headers["cache-control"].startswith("private, max-age")
        widths = {"1": 160, "160": 160, "161": 320, "640": 640, "641": 1200, "1000000000": 1200, "0": 1200, "-5": 1200}
        for asked, width in widths.items():
            answer = await ann.call("GET", href.replace("{pageNumber}", "0").replace("{maxWidth}", asked))
            assert Picture.open(BytesIO(answer.body)).width == width, asked
            assert answer.headers["etag"]
        whole = await ann.call("GET", href.replace("{pageNumber}", "0"))
        assert whole.body == jpeg
        head = await ann.call("HEAD", href.replace("{pageNumber}", "0"))
        assert (head.status, head.body, head.headers["etag"]) == (200, b"", whole.headers["etag"])
        for wrong in (*HUGE, str(count)):
            answer = await ann.call("GET", href.replace("{pageNumber}", wrong))
            assert answer.status == 404, wrong
            assert answer.headers["content-type"] == "text/plain; charset=utf-8"


async def test_a_page_is_had_without_its_chapter(tmp_path, empty_database_url):
    """Its source is asked for that page alone by HEAD, and by GET for the next three."""
    async with a_gallery(tmp_path, empty_database_url, pages=12) as gallery:
        ann = await an_opds_reader(gallery.app)
        await follow_gallery(gallery, ann)
        for position in range(12):
            gallery.show(position, a_picture("JPEG", color=(position * 20, 0, 0)))
        href, count = await pages_of(ann)
        assert (count, gallery.site.asked) == (12, [])
        assert (await ann.call("HEAD", href.replace("{pageNumber}", "11"))).status == 200
        assert gallery.site.asked == ["/s/one/1/11.png"]
        assert (await ann.call("GET", href.replace("{pageNumber}", "4"))).status == 200
        await gallery.until_images(5)
        await asyncio.sleep(0.1)
        assert sorted(gallery.site.asked) == [f"/s/one/1/{position}.png" for position in (11, 4, 5, 6, 7)]


async def test_junk_in_addresses_is_not_found(ann):
    for junk in HUGE:
        for path in (
            f"series/{junk}",
            f"series/{junk}/cover",
            f"chapters/{junk}",
            f"chapters/{junk}/cover",
            f"releases/{junk}/pages/0",
            f"releases/{junk}/file/x.cbz",
            f"articles/{junk}/file/x.epub",
            f"articles/days/{junk}/file/x.epub",
        ):
            for version in (FIRST, SECOND):
                answer = await ann.call("GET", f"{version}/{path}")
                assert answer.status == 404, path
        for path in (f"series?page={junk}", f"inbox?after={junk}", f"articles/saved?after={junk}"):
            assert (await ann.call("GET", f"{FIRST}/{path}")).status == (400 if junk == "%00" else 200), path
    series, _ = await ann.a_series("The Lighthouse Cat", 2)
    for junk in HUGE:
        for name in ("page", "left", "order", "unread"):
            answer = await ann.call("GET", f"{FIRST}/series/{series}?{name}={junk}&order=newest")
            assert answer.status == (400 if junk == "%00" else 200)


async def test_koreader_gets_what_it_asks_for(tmp_path, empty_database_url):
    """HEAD before every GET; version 1.2 whatever it accepts; nothing packed; a file that it knows again."""
    async with a_gallery(tmp_path, empty_database_url) as gallery:
        ann = await an_opds_reader(gallery.app)
        await follow_gallery(gallery, ann)
        fill(gallery)
        headers = ann.basic | KOREADER
        chapter = f"chapters/{gallery.chapter_id}"
        feeds = ("catalog", "series", "inbox", "inbox?unread=true", "continue", "groups", "articles/saved", chapter)
        for path in (*feeds, "articles/days", "search"):
            head = await ann.call("HEAD", f"{FIRST}/{path}", headers=headers)
            answer = await ann.call("GET", f"{FIRST}/{path}", headers=headers)
            assert (head.status, head.body) == (200, b"")
            assert head.headers["content-type"] == answer.headers["content-type"]
            assert answer.body.startswith(b"<?xml")
            assert "content-encoding" not in answer.headers
        [place] = entries(await ann.feed("series", headers=headers))
        [entry] = entries(await ann.feed(link(place, "subsection"), headers=headers))
        if not links(entry, ACQUISITION):
            [entry] = entries(await ann.feed(link(entry, "subsection"), headers=headers))
        file = links(entry, ACQUISITION)[0].get("href")
        assert file.endswith(".cbz")
        head = await ann.call("HEAD", file, headers=headers)
        assert 'filename="' in head.headers["content-disposition"]
        first, second = [await ann.call("GET", file, headers=headers) for _ in range(2)]
        assert first.body == second.body
        assert first.headers["content-type"] == "application/vnd.comicbook+zip"
        with zipfile.ZipFile(BytesIO(first.body)) as archive:
            assert archive.testzip() is None
        assert second.headers["content-disposition"] == head.headers["content-disposition"]


async def test_a_downloaded_chapter_is_read_without_its_source(tmp_path, empty_database_url):
    async with a_gallery(tmp_path, empty_database_url) as gallery:
        ann = await an_opds_reader(gallery.app)
        await follow_gallery(gallery, ann)
        fill(gallery)
        await gallery.app.pictures.downloads.add(ann.shelf, gallery.release_id)
        async with gallery.at_work():
            await gallery.until_idle("keep-chapters")
        await gallery.evict_everything()
        await gallery.app.crawling.sources.deregister(SYSTEM, gallery.source_id, reason=None, release=no_release_tx)
        href, count = await pages_of(ann)
        assert count == 3
        assert (await ann.call("GET", href.replace("{pageNumber}", "2"))).status == 200


async def test_pages_that_a_source_withholds_are_asked_for_later(tmp_path, empty_database_url):
    """Unavailable, and when to come back: for feeds of a chapter, its pages and its file."""
    async with a_gallery(tmp_path, empty_database_url, is_listed=False) as gallery:
        ann = await an_opds_reader(gallery.app)
        await follow_gallery(gallery, ann)
        gallery.site.is_down = True
        file = f"{FIRST}/releases/{gallery.release_id}/file/x.cbz"
        for path in (
            f"{FIRST}/chapters/{gallery.chapter_id}",
            f"{SECOND}/chapters/{gallery.chapter_id}/manifest",
            file,
        ):
            answer = await ann.call("GET", path)
            assert answer.status == 503, (path, answer.text)
            assert int(answer.headers["retry-after"]) > 0
        assert (await ann.call("GET", f"{FIRST}/series")).status == 200


async def test_covers_are_jpeg_also_where_a_source_shows_another(tmp_path, empty_database_url):
    async with a_gallery(tmp_path, empty_database_url) as gallery:
        ann = await an_opds_reader(gallery.app)
        await follow_gallery(gallery, ann)
        await gallery.show_cover(a_picture("WEBP", size=(700, 900)))
        [place] = entries(await ann.feed("series"))
        for rel, width in (("http://opds-spec.org/image", 700), ("http://opds-spec.org/image/thumbnail", 320)):
            [found] = links(place, rel)
            answer = await ann.call("GET", found.get("href"))
            assert answer.headers["content-type"] == found.get("type") == "image/jpeg"
            assert Picture.open(BytesIO(answer.body)).width == width
            head = await ann.call("HEAD", found.get("href"))
            assert (head.status, head.body, head.headers["etag"]) == (200, b"", answer.headers["etag"])
            again = await ann.call(
                "GET", found.get("href"), headers=ann.basic | {"if-none-match": head.headers["etag"]}
            )
            assert (again.status, again.body) == (304, b"")


async def test_fetching_pages_turns_them_where_that_is_wanted(tmp_path, empty_database_url):
    """Off unless its reader says otherwise; forward only, by a few pages, and never what is read."""
    async with a_gallery(tmp_path, empty_database_url, pages=10) as gallery:
        ann = await an_opds_reader(gallery.app)
        await follow_gallery(gallery, ann)
        fill(gallery)
        href, _ = await pages_of(ann)

        async def page() -> int:
            row = await gallery.app.reading.library.chapter(ann.shelf, gallery.chapter_id)
            return row.page

        async def fetch(position: int, **headers: str) -> None:
            sent = ann.basic | {name.replace("_", "-"): value for name, value in headers.items()}
            answer = await ann.call("GET", href.replace("{pageNumber}", str(position)), headers=sent)
            assert answer.status == 200

        await fetch(2)
        assert await page() == 0
        caller = (await gallery.app.accounts.devices.sign_in(ann.request, ann.user.username, ann.key)).caller
        await gallery.app.accounts.preferences.change(caller, {"opds_turns_pages": True})
        for position, expected in ((2, 2), (1, 2), (9, 2), (5, 5), (4, 5), (8, 8)):
            await fetch(position)
            assert await page() == expected
        row = await gallery.app.reading.library.chapter(ann.shelf, gallery.chapter_id)
        assert row.device == "OPDS"
        head = await ann.call("HEAD", href.replace("{pageNumber}", "9"))
        assert head.status == 200
        assert await page() == 8
        await fetch(9, sec_fetch_site="cross-site")  # a picture on any page (SEC-16)
        assert await page() == 8


# -- articles


async def test_saved_articles_and_days_are_books(app, ann):
    await ann.add_feed("The Gull Letters", items=3)
    newest = (await app.sync.refs(ann.shelf, SyncFilter(), most=10))[0].id
    await app.sync.mark(ann.shelf, [newest], None, saved=True)
    [article] = entries(await ann.feed("articles/saved"))
    answer = await ann.call("GET", links(article, ACQUISITION)[0].get("href"))
    assert (answer.status, answer.headers["content-type"]) == (200, "application/epub+zip")
    days = entries(await ann.feed("articles/days"))
    assert 1 <= len(days) <= 2
    for day in days:
        answer = await ann.call("GET", links(day, ACQUISITION)[0].get("href"))
        assert (answer.status, answer.headers["content-type"]) == (200, "application/epub+zip")
    assert (await ann.call("GET", f"{FIRST}/articles/days/1999-01-01/file/x.epub")).status == 404
    app.time.pass_(30 * DAY)
    assert await ann.titles("articles/days") == []


# -- how far it was read


async def test_both_drafts_of_progression_say_and_store_the_same(ann):
    series, [chapter] = await ann.a_series("The Lighthouse Cat", 1)
    paths = [f"{SECOND}/chapters/{chapter}/{name}" for name in ("progression", "progress")]
    assert [(await ann.call("GET", path)).status for path in paths] == [204, 204]
    device = {"id": "urn:uuid:5f2c", "name": "Kitchen tablet"}

    def cantook(at: str, position: int) -> dict[str, Any]:
        locations = {"position": position}
        return {"modified": at, "device": device, "locator": {"href": "", "type": "", "locations": locations}}

    stored = await ann.call("PUT", paths[0], cantook("2026-01-01T08:30:00Z", 10))
    assert (stored.status, stored.body) == (204, b"")
    first, second = [(await ann.call("GET", path)) for path in paths]
    assert first.headers["content-type"] == "application/vnd.readium.progression+json"
    assert first.json()["locator"]["locations"] == {"position": 10, "totalProgression": 0.3913}
    assert first.json()["device"]["name"] == "Kitchen tablet"
    assert second.json()["progression"] == 0.3913
    assert second.json()["modified"].startswith("2026-01-01T08:30:00")
    assert (await ann.call("PUT", paths[0], cantook("2026-01-01T08:00:00Z", 4))).status == 409
    assert (await ann.call("PUT", paths[0], cantook("2026-01-01T08:30:00Z", 4))).status == 409
    for position in (0, -1, 25, 10**9):
        assert (await ann.call("PUT", paths[0], cantook("2026-01-02T08:00:00Z", position))).status == 400
    old = {"modified": "2026-01-01T08:00:00Z", "device": device, "progression": 0.1}
    assert (await ann.call("PUT", paths[1], old)).status == 409
    for wrong in (-0.1, 1.5, 1e300):
        new = {"modified": "2026-01-03T08:00:00Z", "device": device, "progression": wrong}
        assert (await ann.call("PUT", paths[1], new)).status == 400
    answer = await ann.call("PUT", paths[1], {"modified": "2026-01-03T08:00:00Z", "device": device, "progression": 0.5})
    assert (answer.status, answer.json()["progression"]) == (200, 0.5217)
    progress = await ann.app.reading.progress.get(ann.shelf, read_id(series), ChapterId(chapter))
    assert (progress.page, progress.device) == (12, "Kitchen tablet")
    assert (await ann.call("PUT", paths[1], {"modified": "x", "progression": 0.5})).status == 400
    assert (await ann.call("PUT", paths[1], {})).status == 400
    done = {"modified": "2026-01-04T08:00:00Z", "device": device, "progression": 1}
    assert (await ann.call("PUT", paths[1], done)).status == 200
    assert await ann.titles("inbox?unread=true") == []
    assert msgspec.json.decode((await ann.call("GET", paths[0])).body)["locator"]["locations"]["position"] == 24


async def test_what_is_read_again_is_where_it_is_read_now(ann):
    """And a time between its end and that page is too old; a later mark is the end of it again."""
    series, [chapter] = await ann.a_series("The Lighthouse Cat", 1)
    first, second = [f"{SECOND}/chapters/{chapter}/{name}" for name in ("progression", "progress")]

    async def put(minute: int, position: int) -> int:
        locator = {"href": "", "type": "", "locations": {"position": position}}
        body = {"modified": f"2026-01-01T08:{minute}:00Z", "device": {"id": "x", "name": "Tablet"}, "locator": locator}
        status: int = (await ann.call("PUT", first, body)).status
        return status

    assert await put(10, 24) == 204
    assert await put(20, 4) == 204
    found = (await ann.call("GET", first)).json()
    assert (found["modified"], found["locator"]["locations"]["position"]) == ("2026-01-01T08:20:00.000Z", 4)
    assert (await ann.call("GET", second)).json()["progression"] == 0.1304
    assert await put(15, 9) == 409
    older = {"modified": "2026-01-01T08:15:00Z", "progression": 0.5}
    assert (await ann.call("PUT", second, older)).status == 409
    [stream] = links(entries(await ann.feed(f"series/{series}"))[0], STREAM)
    assert (stream.get(f"{PSE}lastRead"), stream.get(f"{PSE}lastReadDate")) == ("4", "2026-01-01T08:20:00Z")
    assert await ann.titles(f"series/{series}?unread=true") == []
    await read(ann, series, chapter, is_read=True)
    assert (await ann.call("GET", first)).json()["locator"]["locations"]["position"] == 24


async def test_who_only_reads_a_shelf_moves_nothing_on_it(app, ann):
    _, [chapter] = await ann.a_series("The Lighthouse Cat", 1)
    bob = await app.add()
    shelf = await app.accounts.current_user.shelf_of(ann.user)
    await app.accounts.sharing.share(shelf_user(ann.user), shelf.public_id, bob.username, "reader")
    request = TokenRequest(name="App", protocols=("opds",), shelf=shelf.public_id)
    reader = OpdsReader(app, bob, shelf.id, await app.accounts.tokens.make_for(SYSTEM, bob, request))
    assert await reader.titles("inbox") == ["The Lighthouse Cat 1"]
    body = {"modified": "2026-01-03T08:00:00Z", "progression": 0.5}
    answer = await reader.call("PUT", f"{SECOND}/chapters/{chapter}/progress", body)
    assert (answer.status, answer.headers["content-type"]) == (403, "application/problem+json")


# -- version 2


async def test_version_two_says_the_same_as_json(ann):
    series, chapters = await ann.a_series("The Lighthouse Cat", 51)
    root = await ann.json("catalog")
    assert {one["title"] for one in root["navigation"]} == set(await ann.titles("catalog"))
    feed = await ann.json(f"series/{series}")
    assert feed["metadata"] | {"modified": ""} == {
        "title": "The Lighthouse Cat",
        "modified": "",
        "numberOfItems": 51,
        "itemsPerPage": 50,
        "currentPage": 1,
    }
    rels = {one["rel"]: one for one in feed["links"]}
    assert rels["search"]["href"].endswith("/opds/v2/search{?query}")
    assert rels["search"]["templated"] is True
    assert rels["next"]["href"] == f"{ann.app.client.base}/opds/v2/series/{series}?page=1"
    one = feed["publications"][2]
    assert one["metadata"]["belongsTo"]["series"][0]["position"] == 3
    assert (one["metadata"]["numberOfPages"], one["metadata"]["author"]) == (24, ["Ines Brook"])
    types = {found["rel"]: found["type"] for found in one["links"]}
    assert types == {
        "self": "application/divina+json",
        "http://opds-spec.org/acquisition": "application/vnd.comicbook+zip",
        "http://www.cantook.com/api/progression": "application/vnd.readium.progression+json",
        "http://opds-spec.org/progression": "application/opds-progression+json",
    }
    manifest = await ann.json(f"chapters/{chapters[2]}/manifest")
    assert len(manifest["readingOrder"]) == 24
    assert manifest["metadata"]["conformsTo"] == "https://readium.org/webpub-manifest/profiles/divina"
    second = await ann.json(f"series/{series}?page=1")
    assert (second["metadata"]["currentPage"], len(second["publications"])) == (2, 1)
    assert [found["title"] for found in (await ann.json("search?query=lighthouse"))["navigation"]] == [
        "The Lighthouse Cat"
    ]
    answer = await ann.call("GET", f"{SECOND}/catalog", headers=ann.basic | KOREADER)
    assert answer.headers["content-type"] == "application/opds+json"
