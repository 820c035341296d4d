"""An archive is as foreign as any answer of the web: what is wrong with it is said, and nothing is half-written."""

import hashlib
import io
import struct
import zipfile

import msgspec
import pytest

from tests.builders import NOON
from tests.transfer.archive.builders import (
    a_chapter,
    a_feed,
    a_reader,
    a_series,
    a_source,
    an_archive,
    an_item,
    count,
    parts_of,
)
from tsuzuki.accounts.shelves import put_member_tx
from tsuzuki.accounts.types import ShelfRole
from tsuzuki.model.errors import Invalid
from tsuzuki.model.times import DAY, Millis
from tsuzuki.parsing.pool import ParsePool, PoolOptions
from tsuzuki.transfer.archive import container
from tsuzuki.transfer.archive.format import MANIFEST, PARTS, BookmarkLine, ChannelLine, GroupLine, Person

FEED = {"feeds.jsonl": [a_feed()]}


def rewritten(path, change):
    """The same archive with its files as `change` makes them, by name."""
    with zipfile.ZipFile(path) as file:
        files = {name: file.read(name) for name in file.namelist()}
    files = change(files)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, body in files.items():
            file.writestr(name, body)
    return path


def with_part(path, name, body):
    """The same archive with this body of a part, and a manifest that agrees."""

    def change(files):
        manifest = msgspec.json.decode(files[MANIFEST])
        manifest["parts"][name] = {
            "lines": len(body.splitlines()),
            "bytes": len(body),
            "sha256": hashlib.sha256(body).hexdigest(),
        }
        return files | {name: body, MANIFEST: msgspec.json.encode(manifest)}

    return rewritten(path, change)


def with_item(path, **over):
    """The same archive with an item of which this is changed."""
    return with_part(path, "items.jsonl", ENCODED(msgspec.to_builtins(an_item()) | over) + b"\n")


def with_manifest(path, **over):
    def change(files):
        return files | {MANIFEST: msgspec.json.encode(msgspec.json.decode(files[MANIFEST]) | over)}

    return rewritten(path, change)


async def refused(db, path, match):
    """It is refused with this sentence, and the server is as it was."""
    reader = await a_reader(db, path.parent)
    before = await count(db, "count_all")
    with pytest.raises(Invalid, match=match):
        await reader.import_archive(path)
    assert await count(db, "count_all") == before


ENCODED = msgspec.json.encode


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda path: path.write_bytes(b"hello"), "cannot be read"),
        (lambda path: path.write_bytes(path.read_bytes()[:-200]), "cannot be read"),
        (lambda path: rewritten(path, lambda _: {"a": b"b"}), "no manifest.json"),
        (lambda path: with_manifest(path, format="other"), "not an archive of a shelf"),
        (lambda path: with_manifest(path, version=2), "version 2; this program reads version 1"),
        (lambda path: with_manifest(path, version="x"), "version 'x'"),
        (lambda path: with_manifest(path, exported_at="long ago"), "manifest.json cannot be read"),
        (lambda path: with_manifest(path, shelf_id=7), "unknown field"),
        (lambda path: with_manifest(path, parts={}), "not contain exactly the parts"),
        (lambda path: rewritten(path, lambda files: files | {MANIFEST: b"[" * 60_000}), "manifest.json cannot be read"),
        (lambda path: rewritten(path, lambda files: files | {MANIFEST: b" " * 70_000}), "longer than"),
        (lambda path: rewritten(path, lambda files: files | {"../../etc/passwd": b"x"}), "etc/passwd.* not a part"),
        (lambda path: rewritten(path, lambda files: files | {"/feeds.jsonl": b"x"}), "not a part"),
        (
            lambda path: rewritten(path, lambda files: {n: b for n, b in files.items() if n != "gone.jsonl"}),
            "not contain exactly the parts",
        ),
        (lambda path: rewritten(path, lambda files: files | {"feeds.jsonl": b""}), "changed or is incomplete"),
        (
            lambda path: rewritten(path, lambda files: files | {"feeds.jsonl": files["feeds.jsonl"] * 2}),
            "more than the manifest says",
        ),
        (
            lambda path: rewritten(
                path, lambda files: files | {"feeds.jsonl": files["feeds.jsonl"].replace(b"A feed", b"B feed")}
            ),
            "changed or is incomplete",
        ),
        (lambda path: with_part(path, "feeds.jsonl", b"nonsense\n"), "feeds.jsonl:1: "),
        (lambda path: with_part(path, "feeds.jsonl", b"[1]\n"), "feeds.jsonl:1: "),
        (lambda path: with_part(path, "feeds.jsonl", b"[" * 100_000 + b"\n"), "feeds.jsonl:1: "),
        (lambda path: with_part(path, "feeds.jsonl", b'{"link": "https://a.b/", "created_at": "x"}\n'), "created_at"),
        (lambda path: with_part(path, "feeds.jsonl", b'{"link": "https://a.b/", "created_at": 1e99}\n'), "created_at"),
        (lambda path: with_item(path, published_at=10**15), "published_at"),
        (lambda path: with_item(path, published_at=-(10**15)), "published_at"),
        (lambda path: with_item(path, sort_at=-1), "sort_at"),
        (
            lambda path: with_part(path, "feeds.jsonl", b'{"link": "https://a.b/", "created_at": 1, "shelf_id": 1}\n'),
            "unknown field `shelf_id`",
        ),
        (lambda path: with_part(path, "feeds.jsonl", b'{"link": "\\ud800", "created_at": 1}\n'), "feeds.jsonl:1: "),
        (lambda path: with_part(path, "feeds.jsonl", b'{"link": "\xff", "created_at": 1}\n'), "feeds.jsonl:1: "),
    ],
)
async def test_an_incomplete_archive_is_refused_before_writing(db, tmp_path, change, match):
    path = an_archive(tmp_path, FEED)
    change(path)
    await refused(db, path, match)


def a_bomb(path, size):
    """An archive one part of which is nothing but blanks."""
    with zipfile.ZipFile(path) as file:
        files = {name: file.read(name) for name in file.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, body in files.items():
            if name != "items.jsonl":
                file.writestr(name, body)
        with file.open("items.jsonl", "w") as bomb:
            for _ in range(size // 1_000_000):
                bomb.write(b" " * 1_000_000)
    return path


async def test_a_declared_bomb_is_refused(db, tmp_path):
    await refused(db, a_bomb(an_archive(tmp_path, FEED), 20_000_000), "grows 200-fold")


async def test_a_bomb_with_a_false_size_is_stopped(db, tmp_path):
    path = a_bomb(an_archive(tmp_path, FEED), 20_000_000)
    raw = path.read_bytes()
    assert raw.count(struct.pack("<L", 20_000_000)) >= 1
    path.write_bytes(raw.replace(struct.pack("<L", 20_000_000), struct.pack("<L", 20_000)))
    await refused(db, path, "items.jsonl")


async def test_a_part_that_stands_twice_is_refused(db, tmp_path):
    path = an_archive(tmp_path, FEED)
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(path, "a") as file:
        file.writestr("feeds.jsonl", b"")
    await refused(db, path, "twice")


async def test_other_ways_of_packing_are_refused(db, tmp_path):
    path = an_archive(tmp_path, FEED)
    with zipfile.ZipFile(path) as file:
        files = {name: file.read(name) for name in file.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as file:
        for name, body in files.items():
            file.writestr(name, body)
    await refused(db, path, "uses a compression")


async def test_a_line_without_an_end_is_refused(db, tmp_path, monkeypatch):
    monkeypatch.setattr(container, "MAX_LINE", 1_000)
    path = an_archive(tmp_path, FEED)
    long = ENCODED(a_feed(description="word " * 1_000)) + b"\n"
    await refused(db, with_part(path, "feeds.jsonl", long), "longer than 1,000 bytes")


# -- what is whole and still not good


async def test_content_is_sanitised_again_and_only_web_links_are_kept(db, tmp_path):
    evil = an_item(
        link="javascript:alert(1)",
        content="<p>Good<script>alert(1)</script><img src=x onerror=alert(1)></p>",
        image_url="data:text/html,x",
        comments_url="javascript:x",
        page_urls=("javascript:x", "https://example.org/1.png"),
    )
    mark = BookmarkLine(
        link="javascript:alert(1)", title="A", content="<iframe src='https://evil.example'></iframe>", created_at=NOON
    )
    reader = await a_reader(db, tmp_path)
    brought = await reader.import_archive(
        an_archive(tmp_path, FEED | {"items.jsonl": [evil], "bookmarks.jsonl": [mark]})
    )
    assert brought.notes == (
        "items.jsonl:1: unsafe content in it was removed.",
        "bookmarks.jsonl:1: unsafe content in it was removed.",
    )
    stored = parts_of(await reader.export())
    [item] = stored["items.jsonl"]
    assert item["content"] == '<p>Good<img src="https://example.org/x" loading="lazy"></p>'
    assert not {"link", "image_url", "comments_url"} & item.keys()
    assert item["page_urls"] == ["https://example.org/1.png"]
    [kept] = stored["bookmarks.jsonl"]
    assert "link" not in kept
    assert "iframe" not in kept.get("content", "")


@pytest.mark.parametrize(
    "link", ["http://127.0.0.1/feed", "http://169.254.169.254/", "https://10.0.0.1/", "file:///etc/passwd", "nonsense"]
)
async def test_feeds_are_judged_as_if_somebody_had_typed_their_addresses(db, tmp_path, link):
    bad = a_feed(link)
    shelf = {"feeds.jsonl": [bad, a_feed()], "items.jsonl": [an_item(feed=bad), an_item()]}
    reader = await a_reader(db, tmp_path)
    brought = await reader.import_archive(an_archive(tmp_path, shelf))
    assert brought.notes[0].startswith(f"feeds.jsonl:1: {link}: ")
    assert brought.notes[1:] == ("items.jsonl: 1 belong to a feed that was not imported.",)
    stored = parts_of(await reader.export())
    assert [feed["link"] for feed in stored["feeds.jsonl"]] == ["https://example.org/feed"]
    assert len(stored["items.jsonl"]) == 1


async def test_nul_is_taken_out_on_both_engines(db, tmp_path):
    path = an_archive(tmp_path, FEED)
    body = ENCODED(an_item(title="a\x00b", content="<p>c\x00d</p>")) + b"\n"
    reader = await a_reader(db, tmp_path)
    brought = await reader.import_archive(with_part(path, "items.jsonl", body))
    assert brought.notes == ("items.jsonl:1: unsafe content in it was removed.",)
    [item] = parts_of(await reader.export())["items.jsonl"]
    assert (item["title"], item["content"]) == ("ab", "<p>cd</p>")


async def test_a_chapter_with_a_wrong_number_is_left_out(db, tmp_path):
    """R2, R3: a number is exact, and is the key of its chapter."""
    shelf = {
        "sources.jsonl": [a_source()],
        "series.jsonl": [a_series(latest_number="2")],
        "chapters.jsonl": [a_chapter("1"), a_chapter("NaN"), a_chapter("01"), a_chapter("2")],
    }
    reader = await a_reader(db, tmp_path)
    brought = await reader.import_archive(an_archive(tmp_path, shelf))
    assert [note.partition(" ")[0] for note in brought.notes] == ["chapters.jsonl:2:", "chapters.jsonl:3:"]
    assert [chapter["key"] for chapter in parts_of(await reader.export())["chapters.jsonl"]] == ["1", "2"]


async def test_an_unstorable_line_is_left_out_alone(db, tmp_path):
    many = [an_item("1"), an_item("k" * 3_000), an_item("1", title="twice"), an_item("2")]
    reader = await a_reader(db, tmp_path)
    brought = await reader.import_archive(an_archive(tmp_path, FEED | {"items.jsonl": many}))
    assert brought.notes == ("items.jsonl:2: its key is longer than 2,000 bytes.",)
    stored = parts_of(await reader.export())["items.jsonl"]
    assert [(item["key"], item["title"]) for item in stored] == [("1", "Item 1"), ("2", "Item 2")]


async def test_a_line_that_costs_too_much_is_left_out_alone(db, tmp_path):
    """In a real parser process, which ends of it: the others of its batch come."""
    costly = an_item("costly", content="<p>words and <b>more</b> of them</p>" * 50_000)
    reader = await a_reader(db, tmp_path)
    parsers = ParsePool(PoolOptions(processes=1, cpu_seconds=0.06, cpu_seconds_per_megabyte=0.0))
    try:
        brought = await reader.import_archive(
            an_archive(tmp_path, FEED | {"items.jsonl": [an_item("1"), costly, an_item("2")]}), parsers
        )
    finally:
        await parsers.close()
    [note] = brought.notes
    assert note.startswith("items.jsonl:2: The document could not be read within 0.06 s of CPU time")
    assert [item["key"] for item in parts_of(await reader.export())["items.jsonl"]] == ["1", "2"]


async def test_addresses_of_series_lead_nowhere_but_into_the_web(db, tmp_path):
    good, bad = a_chapter("1"), a_chapter("2")
    [release] = bad.releases
    evil = [
        msgspec.structs.replace(release, key=f"id:{n}", url=url)
        for n, url in enumerate(["javascript:alert(1)", "local:../../etc/passwd", "local:%2e%2e/x", "file:///etc"])
    ]
    shelf = {
        "sources.jsonl": [a_source()],
        "series.jsonl": [a_series(cover_url="javascript:x", latest_number="2")],
        "chapters.jsonl": [good, msgspec.structs.replace(bad, releases=tuple(evil))],
    }
    reader = await a_reader(db, tmp_path)
    await reader.import_archive(an_archive(tmp_path, shelf))
    stored = parts_of(await reader.export())
    assert [len(chapter.get("releases", ())) for chapter in stored["chapters.jsonl"]] == [1, 0]
    assert "cover_url" not in stored["series.jsonl"][0]


async def test_a_source_that_could_not_be_registered_is_not(db, tmp_path):
    shelf = {
        "sources.jsonl": [a_source(base_url="http://127.0.0.1/")],
        "series.jsonl": [a_series()],
        "chapters.jsonl": [a_chapter()],
    }
    reader = await a_reader(db, tmp_path)
    brought = await reader.import_archive(an_archive(tmp_path, shelf))
    assert brought.notes == ("sources.jsonl:1: site: BaseURL must be a valid HTTPS URL",)
    stored = parts_of(await reader.export())
    assert stored["sources.jsonl"] == []
    assert [(series["title"], series.get("sources")) for series in stored["series.jsonl"]] == [("One", None)]
    assert [chapter["key"] for chapter in stored["chapters.jsonl"]] == ["1"]


async def test_a_server_folder_needs_the_operators_permission(db, tmp_path):
    """Whoever wrote the archive would choose which pictures of this disk everybody may look at."""
    folder = a_source("folder", base_url="local:", connector="tsuzuki.local", config={"folder": str(tmp_path)})
    reader = await a_reader(db, tmp_path)
    brought = await reader.import_archive(
        an_archive(tmp_path, {"sources.jsonl": [folder], "series.jsonl": [a_series("one", "folder")]})
    )
    assert "sources.jsonl:1: folder is not enabled: it reads a folder of this server." in brought.notes[0]
    [stored] = parts_of(await reader.export())["sources.jsonl"]
    assert stored["is_enabled"] is False


async def test_channels_of_unknown_kinds_and_private_addresses_are_left_out(db, tmp_path):
    channels = [
        ChannelLine(kind="pager", name="a"),
        ChannelLine(kind="webhook", name="b", config={"url": "http://127.0.0.1/"}),
        ChannelLine(kind="ntfy", name="c", config={"url": "https://ntfy.sh/", "priority": 99, "topic": "x", "more": 1}),
    ]
    reader = await a_reader(db, tmp_path)
    brought = await reader.import_archive(an_archive(tmp_path, {"channels.jsonl": channels}))
    assert [note.partition(" ")[0] for note in brought.notes] == ["channels.jsonl:1:", "channels.jsonl:2:"]
    stored = parts_of(await reader.export())["channels.jsonl"]
    assert stored == [{"kind": "ntfy", "name": "c", "config": {"url": "https://ntfy.sh/"}}]


def test_an_archive_of_very_many_files_is_not_opened(tmp_path):
    path = tmp_path / "many.zip"
    with zipfile.ZipFile(path, "w") as file:
        for number in range(2_000):
            file.writestr(f"{number}", b"")
    with pytest.raises(Invalid, match=r"more than 1,000 files"):
        container.ArchiveReader(path)


async def test_an_import_respects_the_limit_of_channels(db, tmp_path):
    config = {"url": "https://ntfy.sh/", "topic": "x"}
    channels = [ChannelLine(kind="ntfy", name=f"c{number:02}", config=config) for number in range(25)]
    reader = await a_reader(db, tmp_path)
    archive = an_archive(tmp_path, {"channels.jsonl": channels})
    brought = await reader.import_archive(archive)
    assert (brought.parts["channels.jsonl"].created, brought.parts["channels.jsonl"].left_out) == (20, 5)
    again = await reader.import_archive(archive)
    assert (again.parts["channels.jsonl"].existing, again.parts["channels.jsonl"].left_out) == (20, 5)


async def test_only_an_owners_import_says_how_long_things_are_kept(db, tmp_path):
    parts = {"person.jsonl": [Person(retention=DAY)], "feeds.jsonl": [a_feed(retention=DAY)]}
    roles: list[tuple[ShelfRole, Millis | None]] = [("editor", None), ("owner", DAY)]
    for role, kept in roles:
        reader = await a_reader(db, tmp_path)
        await db.with_tx(lambda tx: put_member_tx(tx, reader.shelf_id, reader.user.id, role, now=NOON))  # noqa: B023
        await reader.import_archive(an_archive(tmp_path, parts))
        shelf = parts_of(await reader.export())
        assert shelf["person.jsonl"][0].get("retention") == kept
        assert shelf["feeds.jsonl"][0].get("retention") == kept


async def test_a_group_that_nobody_named_is_the_default_one(db, tmp_path):
    shelf = {"groups.jsonl": [GroupLine(name="A")], "feeds.jsonl": [a_feed(group="elsewhere")]}
    reader = await a_reader(db, tmp_path)
    await reader.import_archive(an_archive(tmp_path, shelf))
    [feed] = parts_of(await reader.export())["feeds.jsonl"]
    assert "group" not in feed


def test_every_part_is_named_in_the_manifest(tmp_path):
    with zipfile.ZipFile(io.BytesIO(an_archive(tmp_path, {}).read_bytes())) as file:
        manifest = msgspec.json.decode(file.read(MANIFEST))
    assert set(manifest["parts"]) == set(PARTS)
    assert manifest["parts"]["feeds.jsonl"] == {"lines": 0, "bytes": 0, "sha256": hashlib.sha256(b"").hexdigest()}
