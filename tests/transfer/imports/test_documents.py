"""Files of other programs are known by their beginnings, and what is not taken of them is accounted for."""

import gzip
import io
import zipfile

import msgspec
import pytest

from tests.transfer.imports.builders import an_importer
from tests.transfer.mihon.builders import a_backup, a_chapter, a_manga
from tsuzuki.model.errors import Invalid
from tsuzuki.transfer.imports.kinds import MOST_MEMBERS
from tsuzuki.transfer.imports.service import MOST_SHOWN

OPML = b"""<?xml version="1.0"?><opml version="2.0"><body><outline text="News">
<outline type="rss" text="A" xmlUrl="https://93.184.216.34/a"/></outline>
<outline type="rss" text="B" xmlUrl="ftp://93.184.216.34/b"/></body></opml>"""

STARRED = msgspec.json.encode(
    {
        "id": "user/-/state/com.google/starred",
        "title": "Starred",
        "items": [
            {
                "title": "One",
                "published": 1_700_000_000,
                "canonical": [{"href": "https://example.org/1"}],
                "content": {"content": "<p>Text</p><script>no()</script>"},
                "origin": {"title": "A feed", "htmlUrl": "https://example.org/"},
                "categories": ["user/-/state/com.google/starred"],
            },
            {"title": "Nothing in it", "categories": ["user/-/state/com.google/starred"]},
        ],
    }
)
INOREADER = msgspec.json.encode(
    {
        "items": [
            {
                "title": "Kept",
                "alternate": [{"href": "https://example.org/2"}],
                "categories": ["user/1/state/com.google/starred"],
            },
            {
                "title": "Read",
                "alternate": [{"href": "https://example.org/3"}],
                "categories": ["user/1/state/com.google/read"],
            },
        ]
    }
)
TTRSS = b"""<?xml version="1.0"?><articles schema-version="1">
<article><guid>1</guid><title>Marked</title><marked>1</marked><link>https://example.org/4</link>
<content>Text</content><feed_title>A feed</feed_title><updated>2026-01-02 03:04:05</updated><note>mine</note></article>
<article><guid>2</guid><title>Plain</title><marked>0</marked><link>https://example.org/5</link></article></articles>"""
MAL = b"""<?xml version="1.0"?><myanimelist><myinfo><user_id>1</user_id></myinfo>
<manga><manga_title><![CDATA[Solo]]></manga_title><my_read_chapters>3</my_read_chapters><my_status>Completed</my_status></manga>
<manga><manga_title></manga_title><my_read_chapters>3</my_read_chapters></manga></myanimelist>"""
ANILIST = msgspec.json.encode(
    {
        "data": {
            "MediaListCollection": {
                "lists": [
                    {
                        "name": "Reading",
                        "entries": [
                            {"status": "PLANNING", "progress": 2, "media": {"title": {"romaji": "Solo"}}},
                            {"media": None},
                        ],
                    }
                ]
            }
        }
    }
)
KAIZOKU = msgspec.json.encode(
    {
        "title": "Solo",
        "author": "Somebody",
        "providers": [
            {
                "title": "Solo",
                "archives": [
                    {"archiveName": "1.cbz", "chapterNumber": 1.5},
                    {"archiveName": "2.cbz", "chapterNumber": 2},
                ],
            }
        ],
        "kaizokuVersion": 1,
    }
)

TAKEOUT_SUBSCRIPTIONS = b"""<?xml version="1.0" encoding="UTF-8"?>
<opml version="1.0"><head><title>ann subscriptions in Google Reader</title></head><body>
<outline title="News" text="News"><outline text="A" title="A" type="rss"
 xmlUrl="https://93.184.216.34/a" htmlUrl="https://example.org/"/></outline></body></opml>"""


def reader_list(state, *items):
    """A list as Google Reader told it: the stream's id, and items with their states."""
    head = {"direction": "ltr", "id": f"user/0123/state/com.google/{state}", "title": state, "updated": 1_360_000_000}
    return msgspec.json.encode(head | {"items": list(items)})


def reader_item(n, *states):
    return {
        "crawlTimeMsec": "1360000000000",
        "id": f"tag:google.com,2005:reader/item/{n:016x}",
        "categories": [f"user/0123/state/com.google/{state}" for state in ("read", *states)] + ["user/0123/label/News"],
        "title": f"Article {n}",
        "published": 1_360_000_000,
        "updated": 1_360_000_000,
        "alternate": [{"href": f"https://example.org/{n}", "type": "text/html"}],
        "content": {"direction": "ltr", "content": f"<p>Text {n}</p>"},
        "author": "Somebody",
        "comments": [],
        "annotations": [],
        "origin": {"streamId": "feed/https://example.org/rss", "title": "Example", "htmlUrl": "https://example.org/"},
    }


def zipped(**files):
    """A ZIP of these; `/` and `.` of a name are `__` and `_dot_`."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in files.items():
            archive.writestr(name.replace("__", "/").replace("_dot_", "."), body)
    return packed.getvalue()


TAKEOUT = zipped(
    ann_takeout__Reader__subscriptions_dot_xml=TAKEOUT_SUBSCRIPTIONS,
    ann_takeout__Reader__starred_dot_json=reader_list("starred", reader_item(1, "starred"), reader_item(2, "starred")),
    ann_takeout__Reader__liked_dot_json=reader_list(
        "like", reader_item(2, "starred", "like"), reader_item(3, "like"), reader_item(4, "like")
    ),
    ann_takeout__Reader__followers_dot_json=b'{"friends": [{"userIds": ["1"], "displayName": "Bob"}]}',
    ann_takeout__index_dot_html=b"<html><body>Your takeout",
)
FRESHRSS_ITEM = {
    "id": "tag:google.com,2005:reader/item/0005d1e8a5b6c7d8",
    "frss:id": "1637000000000000",
    "guid": "https://example.org/7",
    "crawlTimeMsec": "1637000000000",
    "timestampUsec": "1637000000000000",
    "published": 1_637_000_000,
    "title": "Kept",
    "canonical": [{"href": "https://example.org/7"}],
    "alternate": [{"href": "https://example.org/7"}],
    "categories": ["user/-/state/com.google/reading-list", "user/-/label/News", "user/-/state/com.google/starred"],
    "origin": {
        "streamId": "feed/1",
        "htmlUrl": "https://example.org/",
        "title": "Example",
        "feedUrl": "https://93.184.216.34/a",
    },
    "content": {"content": "<p>Kept</p>"},
    "author": "Ann",
}
FRESHRSS = zipped(
    **{
        "feeds_2026-01-02_dot_opml_dot_xml": b"""<?xml version="1.0" encoding="UTF-8"?>
<opml xmlns:frss="https://freshrss.org/opml" version="2.0"><head><title>FreshRSS</title></head><body>
<outline text="News"><outline text="A" type="rss" xmlUrl="https://93.184.216.34/a" htmlUrl="https://example.org/"
 description="" frss:priority="important"/></outline></body></opml>""",
        "starred_2026-01-02_dot_json": msgspec.json.encode(
            {
                "id": "user/-/state/org.freshrss/starred",
                "title": "List of favourite articles",
                "author": "ann",
                "items": [FRESHRSS_ITEM],
            }
        ),
        "feed_2026-01-02_1_A_dot_json": msgspec.json.encode(
            {
                "id": "user/-/state/org.freshrss/feed/1",
                "title": "List of A articles",
                "author": "ann",
                "items": [
                    FRESHRSS_ITEM,
                    FRESHRSS_ITEM
                    | {
                        "canonical": [{"href": "https://example.org/8"}],
                        "categories": ["user/-/state/com.google/reading-list", "user/-/state/com.google/read"],
                    },
                ],
            }
        ),
    }
)
TTRSS_POSTGRES = b"""<?xml version="1.0" encoding="utf-8"?><articles schema-version="147"><article>
    <guid><![CDATA[{"ver":2,"uid":"1","hash":"SHA1:00"}]]></guid>
    <title><![CDATA[Marked]]></title>
    <content><![CDATA[<p>a ]]]]><![CDATA[> b</p>]]></content>
    <marked>1</marked>
    <published></published>
    <score>0</score>
    <note><![CDATA[mine]]></note>
    <link><![CDATA[https://example.org/4]]></link>
    <tag_cache></tag_cache>
    <label_cache><![CDATA[{"no-labels":1}]]></label_cache>
    <feed_title><![CDATA[A feed]]></feed_title>
    <feed_url><![CDATA[https://93.184.216.34/a]]></feed_url>
    <updated><![CDATA[2026-01-02 03:04:05.678]]></updated>
</article></articles>"""
KAIZOKU_LIBRARY = zipped(
    Manga__Solo__kaizoku_dot_json=KAIZOKU,
    Manga__Other__kaizoku_dot_json=KAIZOKU.replace(b'"Solo"', b'"Other"').replace(b"1.5", b"null"),
    Manga__Broken__kaizoku_dot_json=KAIZOKU[:40] + b'"kaizokuVersion"',
    Manga__Solo__cover_dot_jpg=b"\xff\xd8\xff",
)
WHOLE_MAL = b"""<?xml version="1.0" encoding="UTF-8" ?><myanimelist><myinfo><user_id>1</user_id>
<user_export_type>2</user_export_type></myinfo>
<anime><series_animedb_id>1</series_animedb_id><series_title>Some anime</series_title></anime>
<manga><manga_mangadb_id>121496</manga_mangadb_id><manga_title><![CDATA[Solo]]></manga_title>
<manga_volumes>0</manga_volumes><manga_chapters>201</manga_chapters><my_id>0</my_id><my_read_volumes>0</my_read_volumes>
<my_read_chapters>2</my_read_chapters><my_start_date>0000-00-00</my_start_date><my_score>9</my_score>
<my_status>Reading</my_status><my_comments><![CDATA[]]></my_comments><update_on_import>1</update_on_import></manga>
<manga><manga_mangadb_id>7</manga_mangadb_id><manga_title><![CDATA[Solo]]></manga_title>
<my_read_volumes>0</my_read_volumes><my_read_chapters>1</my_read_chapters><my_score>0</my_score></manga>
<manga><manga_mangadb_id>8</manga_mangadb_id><manga_title><![CDATA[By volumes]]></manga_title>
<my_read_volumes>4</my_read_volumes><my_read_chapters>0</my_read_chapters><my_score>0</my_score></manga>
<manga><manga_mangadb_id>9</manga_mangadb_id><manga_title><![CDATA[Endless]]></manga_title>
<my_read_chapters>5003</my_read_chapters></manga></myanimelist>"""
WHOLE_ANILIST = msgspec.json.encode(
    {
        "lists": [
            {
                "name": "Reading",
                "isCustomList": False,
                "entries": [
                    {
                        "status": "CURRENT",
                        "progress": 2,
                        "progressVolumes": None,
                        "score": 8.5,
                        "media": {"id": 1, "type": "MANGA", "title": {"userPreferred": "Solo", "native": "Na"}},
                    },
                    {
                        "status": "CURRENT",
                        "progress": 12,
                        "media": {"id": 2, "type": "ANIME", "title": {"romaji": "A"}},
                    },
                    {"status": "CURRENT", "progress": 1, "media": {"id": 3, "title": {"userPreferred": None}}},
                    {"status": "CURRENT", "progress": 1, "media": {"id": 4, "title": {"userPreferred": "Solo"}}},
                ],
            },
            {
                "name": "My own list",
                "isCustomList": True,
                "entries": [
                    {"status": "CURRENT", "progress": 2, "media": {"id": 1, "title": {"userPreferred": "Solo"}}}
                ],
            },
        ]
    }
)

FILES = {
    "takeout": (TAKEOUT, {"groups": 1, "feeds": 1, "bookmarks": 2}, [("items", 2), ("files", 2)]),
    "packed": (FRESHRSS, {"groups": 1, "feeds": 1, "bookmarks": 1}, [("items", 1)]),
    "packed inoreader": (zipped(starred_dot_json=INOREADER), {"bookmarks": 1}, [("items", 1)]),
    "packed kaizoku": (
        KAIZOKU_LIBRARY,
        {"series": 2, "chapters": 3, "follows": 2},
        [("chapters", 1), ("files", 1), ("files", 1)],
    ),
    "ttrss postgres": (TTRSS_POSTGRES, {"bookmarks": 1}, []),
    "mal whole": (
        WHOLE_MAL,
        {"series": 3, "chapters": 5002, "follows": 3},
        [("series", 1), ("series", 1), ("volumes", 4), ("ratings", 1), ("chapters", 3)],
    ),
    "anilist whole": (
        WHOLE_ANILIST,
        {"series": 1, "chapters": 2, "follows": 1},
        [("series", 1), ("series", 1), ("series", 1), ("ratings", 1)],
    ),
    "opml": (OPML, {"groups": 1, "feeds": 1}, [("feeds", 1)]),
    "opml of FreshRSS": (
        OPML.replace(b"</body>", b'<outline type="JSON+DotPath" xmlUrl="https://c.example/" />' * 2 + b"</body>"),
        {"groups": 1, "feeds": 1},
        [("feeds", 1), ("feeds", 2)],
    ),
    "reader_json": (STARRED, {"bookmarks": 1}, [("items", 1)]),
    "inoreader": (INOREADER, {"bookmarks": 1}, [("items", 1)]),
    "ttrss": (TTRSS, {"bookmarks": 1}, [("items", 1)]),
    "mal": (MAL, {"series": 1, "chapters": 3, "follows": 1}, [("series", 1)]),
    "mal packed": (gzip.compress(MAL), {"series": 1, "chapters": 3, "follows": 1}, [("series", 1)]),
    "anilist packed": (gzip.compress(ANILIST), {"series": 1, "chapters": 2, "follows": 1}, [("series", 1)]),
    "anilist": (ANILIST, {"series": 1, "chapters": 2, "follows": 1}, [("series", 1)]),
    "kaizoku": (KAIZOKU, {"series": 1, "chapters": 2, "follows": 1}, []),
}


@pytest.mark.both_engines
@pytest.mark.parametrize("name", FILES)
async def test_a_file_is_known_and_accounted_for(db, tmp_path, name):
    body, counts, left = FILES[name]
    importer = await an_importer(db, tmp_path)
    done = await importer.import_file("file", body)
    assert (done.status, done.error, done.kind) == (
        "done",
        None,
        {"inoreader": "reader_json"}.get(name, name.split()[0]),
    )
    assert done.preview.counts == counts
    assert [(one.what, one.count) for one in done.preview.left_out] == left
    assert all(one.why.endswith(".") for one in done.preview.left_out)
    once = await importer.shelf()
    await importer.import_file("file", body)
    assert await importer.shelf() == once
    await importer.undo(done)


async def test_feeds_come_with_their_groups(db, tmp_path):
    importer = await an_importer(db, tmp_path)
    done = await importer.import_file("feeds.opml", OPML)
    [feed] = (await importer.shelf())["feeds.jsonl"]
    assert (feed["link"], feed["group"]) == ("https://93.184.216.34/a", "News")
    await importer.undo(done)
    shelf = await importer.shelf()
    assert (shelf["feeds.jsonl"], len(shelf["groups.jsonl"])) == ([], 1)


async def test_starred_articles_are_bookmarks_and_clean(db, tmp_path):
    importer = await an_importer(db, tmp_path)
    done = await importer.import_file("starred.json", STARRED)
    [mark] = (await importer.shelf())["bookmarks.jsonl"]
    assert (mark["link"], mark["title"], mark["content"]) == ("https://example.org/1", "One", "<p>Text</p>")
    await importer.undo(done)
    assert (await importer.shelf())["bookmarks.jsonl"] == []


async def test_what_ttrss_says_of_an_article_comes_along(db, tmp_path):
    importer = await an_importer(db, tmp_path)
    await importer.import_file("export.xml", TTRSS_POSTGRES)
    [mark] = (await importer.shelf())["bookmarks.jsonl"]
    assert (mark["title"], mark["note"], mark["feed_name"]) == ("Marked", "mine", "A feed")
    assert (mark["content"], mark["published_at"]) == ("<p>a ]]&gt; b</p>", 1_767_323_045_000)


async def test_a_takeout_with_a_locked_file_says_so(db, tmp_path):
    body = bytearray(
        zipped(Reader__starred_dot_json=reader_list("starred", reader_item(1, "starred")), x_dot_json=b"{")
    )
    for head, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        body[body.rindex(head) + flags] |= 1  # as a password would leave it
    importer = await an_importer(db, tmp_path)
    shown = await importer.show("takeout.zip", bytes(body))
    assert (shown.kind, shown.preview.counts) == ("takeout", {"bookmarks": 1})
    assert [(one.what, one.why) for one in shown.preview.left_out] == [
        ("files", "They are damaged, or locked with a password.")
    ]


async def test_only_the_newest_few_files_wait_to_be_imported(db, tmp_path):
    importer = await an_importer(db, tmp_path)
    shown = [await importer.show(f"{n}.xml", MAL) for n in range(MOST_SHOWN + 2)]
    listed = await importer.imports.list(importer.reader.shelf_id)
    assert [one.name for one in listed] == [one.name for one in shown[:1:-1]]
    assert {file.name for file in (tmp_path / "imports").glob("*.zip")} == {one.file_key for one in listed}


async def test_a_list_meets_series_that_are_followed_already(db, tmp_path):
    importer = await an_importer(db, tmp_path)
    backup = a_backup(a_manga(title="SOLO", chapters=[a_chapter(f"/c/{n}", number=n) for n in range(1, 5)]))
    await importer.import_file("app.tachibk", backup)
    done = await importer.import_file("list.xml", MAL)
    assert done.preview.known == {"feeds": 0, "series": 1}
    shelf = await importer.shelf()
    assert [series["title"] for series in shelf["series.jsonl"]] == ["SOLO"]
    assert {one["key"]: "progress" in one for one in shelf["chapters.jsonl"]} == {
        "1": True,
        "2": True,
        "3": True,
        "4": False,
    }


REFUSED = {
    "plain text": (b"hello", "none that can be imported"),
    "a page": (b"<html><body>", "none that can be imported"),
    "damaged xml": (b"<myanimelist><manga>", "damaged"),
    "entities": (b'<!DOCTYPE x [<!ENTITY a "b">]><myanimelist></myanimelist>', "declares its own entities"),
    "json of another shape": (b'{"items": 3}', "JSON is not as expected"),
    "deep json": (b'{"items":' + b"[" * 100_000, "JSON is not as expected"),
    "a bomb": (gzip.compress(b"<myanimelist>" + b" " * 50_000_000), "larger than"),
    "cut": (gzip.compress(MAL)[:-9], "ends in the middle"),
    "nothing in it": (b"<myanimelist></myanimelist>", "nothing in this file"),
    "anime alone": (b"<myanimelist><anime></anime></myanimelist>", "imported. Anime is not read here"),
    "ids alone": (b'{"user": {}, "lists": [{"id": 1, "series_id": 30013, "progress": 5}]}', "have no title in this"),
    "no feed of the web": (OPML.replace(b"https:", b"ftp:"), "Their addresses are not those of feeds on the web"),
    "a page of which FreshRSS makes a feed": (
        b'<opml><body><outline type="HTML+XPath" text="A" xmlUrl="https://a.example/" /></body></opml>',
        r"imported\. FreshRSS makes these feeds of pages by rules that this server does not know\.$",
    ),
    "empty": (b"", "is empty"),
    "no archive of ours": (b"PK\x03\x04 and so on", "cannot be read"),
    "a zip of pictures": (zipped(a_dot_jpg=b"x", b_dot_json=b"{}"), "no file that can be imported"),
    "a zip that is a bomb": (zipped(a_dot_json=b" " * 50_000_000), "larger than"),
    "a zip of very many files": (
        b"PK\x03\x04" + b"PK\x01\x02" * (MOST_MEMBERS + 1),
        "more than 20,000 files",
    ),
}


@pytest.mark.parametrize(("body", "why"), REFUSED.values(), ids=REFUSED)
async def test_what_cannot_be_imported_is_said_in_a_sentence(db, tmp_path, body, why):
    importer = await an_importer(db, tmp_path)
    with pytest.raises(Invalid, match=why):
        await importer.show("file", body)
