"""Files of other programs are known by their beginnings, and what is not taken of them is accounted for."""

import gzip

import msgspec
import pytest

from tests.transfer.imports.builders import an_importer
from tests.transfer.mihon.builders import a_backup, a_chapter, a_manga
from tsuzuki.model.errors import Invalid
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

FILES = {
    "opml": (OPML, {"groups": 1, "feeds": 1}, [("feeds", 1)]),
    "reader_json": (STARRED, {"bookmarks": 1}, [("items", 1)]),
    "inoreader": (INOREADER, {"bookmarks": 1}, [("items", 1)]),
    "ttrss": (TTRSS, {"bookmarks": 1}, [("items", 1)]),
    "mal": (MAL, {"series": 1, "chapters": 3, "follows": 1}, [("series", 1)]),
    "mal packed": (gzip.compress(MAL), {"series": 1, "chapters": 3, "follows": 1}, [("series", 1)]),
    "anilist": (ANILIST, {"series": 1, "chapters": 2, "follows": 1}, [("series", 1)]),
    "kaizoku": (KAIZOKU, {"series": 1, "chapters": 2, "follows": 1}, []),
}


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
    await importer.import_file("list.xml", MAL)
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
    "empty": (b"", "is empty"),
    "no archive of ours": (b"PK\x03\x04 and so on", "cannot be read"),
}


@pytest.mark.parametrize(("body", "why"), REFUSED.values(), ids=REFUSED)
async def test_what_cannot_be_imported_is_said_in_a_sentence(db, tmp_path, body, why):
    importer = await an_importer(db, tmp_path)
    with pytest.raises(Invalid, match=why):
        await importer.show("file", body)
