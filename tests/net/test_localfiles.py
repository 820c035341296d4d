import asyncio
import os
import socket
import struct
import threading
import time
import zipfile
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.scale import examples
from tsuzuki.model.errors import NotAFeed, RefusedAddress, SourceError, TooLarge, Unreachable
from tsuzuki.model.requests import FileEntry, ReadArchive, ReadFile, ReadFolder
from tsuzuki.net.localfiles import LocalFiles

CAP = 1024 * 1024

FOLDER = "library"


@pytest.fixture
def root(tmp_path):
    (tmp_path / "secret.txt").write_text("secret")
    root = tmp_path / FOLDER
    (root / "series").mkdir(parents=True)
    (root / "series" / "a.txt").write_text("hello")
    return root


def listed(files: LocalFiles, path: str) -> list[FileEntry]:
    entries = files.answer(ReadFolder(path))
    assert isinstance(entries, tuple)
    return list(entries)


def archive(root, *entries, name="x.cbz", method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(root / name, "w", method) as made:
        for entry, data in entries:
            made.writestr(entry, data)
    return LocalFiles(root)


def test_a_folder_is_listed_with_sizes_and_times(root):
    (entry,) = listed(LocalFiles(root), "series")
    assert (entry.name, entry.is_folder, entry.size) == ("a.txt", False, 5)
    assert abs(entry.modified_at - time.time_ns() // 10**6) < 60_000
    assert [one.name for one in listed(LocalFiles(root), "")] == ["series"]


def test_a_file_is_read_up_to_its_cap(root):
    files = LocalFiles(root)
    assert files.answer(ReadFile("series/a.txt", max_bytes=5)) == b"hello"
    with pytest.raises(TooLarge):
        files.answer(ReadFile("series/a.txt", max_bytes=4))


@pytest.mark.parametrize(
    "path",
    [
        "../secret.txt",
        "series/../../secret.txt",
        f"series/../../{FOLDER}/series/a.txt",
        "/etc/passwd",
        "//etc/passwd",
        "..\\secret.txt",
        "series\\a.txt",
        "C:/x",
        "c:x",
        "a\x00b",
        "series/a.txt\x00.png",
        "a\nb",
        "./series/a.txt",
        "\udcff",
        "/".join("a" * 40),
        "",
    ],
)
def test_sec_23_no_path_leads_out(root, path):
    files = LocalFiles(root)
    with pytest.raises(RefusedAddress):
        files.answer(ReadFile(path))
    if path:
        with pytest.raises(RefusedAddress):
            files.answer(ReadFolder(path))


def test_sec_23_links_are_neither_listed_nor_followed(root, tmp_path):
    (root / "file").symlink_to(tmp_path / "secret.txt")
    (root / "up").symlink_to(tmp_path)
    (root / "inside").symlink_to(root / "series")
    (root / "loop").symlink_to(root / "loop")
    files = LocalFiles(root)
    assert [entry.name for entry in listed(files, "")] == ["series"]
    for want in (ReadFile("file"), ReadFile("up/secret.txt"), ReadFolder("up"), ReadFolder("inside"), ReadFile("loop")):
        with pytest.raises(RefusedAddress):
            files.answer(want)


def test_sec_23_a_folder_replaced_by_a_link_leads_nowhere(root, tmp_path):
    """The swap goes on all the time; the secret is never read."""
    target, away = root / "swap", root / "away"
    target.mkdir()
    (target / "secret.txt").write_text("harmless")
    done = threading.Event()

    def swap():
        while not done.is_set():
            target.rename(away)
            target.symlink_to(tmp_path)
            target.unlink()
            away.rename(target)

    worker = threading.Thread(target=swap)
    worker.start()
    seen: set[object] = set()
    try:
        for _ in range(1000):
            try:
                seen.add(LocalFiles(root).answer(ReadFile("swap/secret.txt")))
            except SourceError as error:
                seen.add(type(error))
    finally:
        done.set()
        worker.join()
    assert b"secret" not in seen
    assert seen <= {b"harmless", RefusedAddress, Unreachable}


def test_the_root_itself_may_be_a_link(root, tmp_path):
    (tmp_path / "alias").symlink_to(root)
    assert LocalFiles(tmp_path / "alias").answer(ReadFile("series/a.txt")) == b"hello"


def test_pipes_and_sockets_are_not_files_and_never_wait(root):
    os.mkfifo(root / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(root / "socket"))
        files = LocalFiles(root)
        assert [entry.name for entry in listed(files, "")] == ["series"]
        for name in ("pipe", "socket"):
            with pytest.raises((RefusedAddress, Unreachable)):
                files.answer(ReadFile(name))


def test_what_is_not_there_or_is_something_else_is_named(root):
    files = LocalFiles(root)
    with pytest.raises(Unreachable, match="does not exist"):
        files.answer(ReadFile("none.txt"))
    with pytest.raises(Unreachable, match="does not exist"):
        files.answer(ReadFolder("none"))
    with pytest.raises(RefusedAddress):
        files.answer(ReadFolder("series/a.txt"))
    with pytest.raises(RefusedAddress):
        files.answer(ReadFile("series"))
    with pytest.raises(Unreachable):
        listed(LocalFiles(root / "gone"), "")


def test_names_that_no_address_can_carry_are_left_out(root):
    (root / "back\\slash.png").write_text("x")
    (root / "line\nbreak.png").write_text("x")
    (root / "続き　全角.png").write_text("x")
    (root / os.fsdecode(b"\xff.png")).write_text("x")
    assert {entry.name for entry in listed(LocalFiles(root), "")} == {"series", "続き　全角.png"}


async def test_reading_does_not_hold_the_event_loop(root):
    files = archive(root, ("1.png", os.urandom(3 * CAP)))
    ticks = 0

    async def tick():
        nonlocal ticks
        while True:
            await asyncio.sleep(0)
            ticks += 1

    ticking = asyncio.create_task(tick())
    data = await files.read(ReadFile("x.cbz", "1.png", 10 * CAP))
    ticking.cancel()
    assert len(data) == 3 * CAP
    assert ticks > 0


def test_an_archive_is_listed_and_its_entries_are_read(root):
    files = archive(root, ("a/1.png", b"one"), ("a/", b""), ("ComicInfo.xml", b"<x/>"))
    entries = {entry.name: (entry.is_folder, entry.size) for entry in files.answer(ReadArchive("x.cbz"))}
    assert entries == {"a/1.png": (False, 3), "a": (True, 0), "ComicInfo.xml": (False, 4)}
    assert files.answer(ReadFile("x.cbz", "a/1.png")) == b"one"
    for missing in ("2.png", "a/", "../x"):
        with pytest.raises(Unreachable):
            files.answer(ReadFile("x.cbz", missing))


def test_an_entry_is_read_up_to_its_cap(root):
    files = archive(root, ("1.png", b"x" * 500))
    with pytest.raises(TooLarge):
        files.answer(ReadFile("x.cbz", "1.png", 499))


@pytest.mark.parametrize(
    "name",
    [
        "../up.png",
        "a/../../up.png",
        "/abs.png",
        "..\\up.png",
        "a\\b.png",
        "C:/x.png",
        "c:x.png",
        "a\x00b.png",
        "a//b",
        "a/./b",
    ],
)
def test_sec_23_an_archive_with_such_a_name_is_refused_whole(root, name):
    info = zipfile.ZipInfo("good.png")
    info.filename = name
    with zipfile.ZipFile(root / "x.cbz", "w") as made:
        made.writestr("1.png", b"x")
        made.writestr(info, b"x")
    with pytest.raises(RefusedAddress):
        LocalFiles(root).answer(ReadArchive("x.cbz"))
    with pytest.raises(RefusedAddress):
        LocalFiles(root).answer(ReadFile("x.cbz", "1.png"))


def test_sec_23_an_archive_with_a_link_is_refused(root):
    info = zipfile.ZipInfo("link.png")
    info.external_attr = 0o120777 << 16
    files = archive(root, (info, b"/etc/passwd"))
    with pytest.raises(RefusedAddress, match="link"):
        files.answer(ReadArchive("x.cbz"))


@pytest.mark.filterwarnings("ignore:Duplicate name:UserWarning")
def test_sec_23_an_archive_with_two_entries_of_one_name_is_refused(root):
    files = archive(root, ("1.png", b"shown"), ("1.png", b"read"))
    with pytest.raises(NotAFeed, match="two entries"):
        files.answer(ReadArchive("x.cbz"))


def test_sec_22_a_bomb_is_refused_by_what_it_says(root):
    files = archive(root, ("1.png", b"\x00" * (100 * CAP)))
    assert (root / "x.cbz").stat().st_size < 200_000
    for want in (ReadArchive("x.cbz"), ReadFile("x.cbz", "1.png", 10**9)):
        with pytest.raises(TooLarge, match="100 times"):
            files.answer(want)


def lying(root, data, *, claimed):
    """An archive whose entry is larger than its headers say."""
    packed = zlib.compressobj(9, zlib.DEFLATED, -15)
    body = packed.compress(data) + packed.flush()
    crc = zlib.crc32(data[:claimed])
    name = b"1.png"
    local = struct.pack("<4s5H3L2H", b"PK\x03\x04", 20, 0, 8, 0, 0, crc, len(body), claimed, len(name), 0) + name
    central = struct.pack(
        "<4s6H3L5H2L", b"PK\x01\x02", 20, 20, 0, 8, 0, 0, crc, len(body), claimed, len(name), 0, 0, 0, 0, 0, 0
    )
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 1, 1, len(central) + len(name), len(local) + len(body), 0)
    (root / "x.cbz").write_bytes(local + body + central + name + end)
    return LocalFiles(root)


def test_sec_22_an_archive_entry_never_grows_beyond_its_declared_size(root):
    files = lying(root, b"\x00" * (50 * CAP), claimed=1000)
    assert len(files.answer(ReadFile("x.cbz", "1.png", 10**9))) <= 1000


def test_sec_22_an_archive_of_too_many_entries_is_refused_unread(root):
    with zipfile.ZipFile(root / "x.cbz", "w") as made:
        for number in range(5001):
            made.writestr(f"{number}.png", b"")
    with pytest.raises(TooLarge, match="5000 entries"):
        LocalFiles(root).answer(ReadArchive("x.cbz"))


def test_sec_22_an_archive_that_hides_its_count_is_refused(root):
    with zipfile.ZipFile(root / "x.cbz", "w") as made:
        for number in range(5001):
            made.writestr(f"{number}.png", b"")
    data = bytearray((root / "x.cbz").read_bytes())
    end = data.rfind(b"PK\x05\x06")
    data[end + 8 : end + 12] = struct.pack("<2H", 1, 1)
    (root / "x.cbz").write_bytes(data)
    with pytest.raises(TooLarge):
        LocalFiles(root).answer(ReadArchive("x.cbz"))


def test_sec_22_a_huge_table_of_contents_is_not_read(root):
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 1, 1, 2**31, 0, 0)
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, 0, 1)
    for data in (b"\x00" * 100 + end, locator + end):
        (root / "x.cbz").write_bytes(data)
        with pytest.raises(TooLarge):
            LocalFiles(root).answer(ReadArchive("x.cbz"))


def test_sec_22_more_than_two_gibibytes_in_all_are_refused(root):
    """No entry inflates too much by itself; all of them together would."""
    files = archive(root, *((f"{number}.png", b"") for number in range(30)), method=zipfile.ZIP_STORED)
    data = bytearray((root / "x.cbz").read_bytes()) + b""
    place = 0
    while (place := data.find(b"PK\x01\x02", place)) >= 0:
        data[place + 20 : place + 28] = struct.pack("<2L", 2**20, 100 * 2**20)
        place += 4
    end = data.rfind(b"PK\x05\x06")
    (root / "x.cbz").write_bytes(b"\x00" * (2**20) + data[:end] + data[end:])
    with pytest.raises(TooLarge, match="2147483648 bytes"):
        files.answer(ReadArchive("x.cbz"))


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_packings_that_readers_do_not_use_are_refused(root, method):
    files = archive(root, ("1.png", b"x" * 100), method=method)
    with pytest.raises(NotAFeed):
        files.answer(ReadArchive("x.cbz"))


def test_an_encrypted_archive_is_refused(root):
    files = archive(root, ("1.png", b"x"))
    data = bytearray((root / "x.cbz").read_bytes())
    data[data.find(b"PK\x01\x02") + 8] |= 1
    (root / "x.cbz").write_bytes(data)
    with pytest.raises(NotAFeed, match="encrypted"):
        files.answer(ReadArchive("x.cbz"))


@pytest.mark.parametrize("data", [b"", b"PK", b"PK\x05\x06", b"x" * 1000, b"PK\x05\x06" + b"\x00" * 17])
def test_what_is_no_archive_is_named(root, data):
    (root / "x.cbz").write_bytes(data)
    with pytest.raises(NotAFeed):
        LocalFiles(root).answer(ReadArchive("x.cbz"))


def test_an_entry_that_was_damaged_is_named(root):
    files = archive(root, ("1.png", os.urandom(5000)))
    data = bytearray((root / "x.cbz").read_bytes())
    data[1000] ^= 0xFF
    (root / "x.cbz").write_bytes(data)
    with pytest.raises(NotAFeed):
        files.answer(ReadFile("x.cbz", "1.png"))


@given(st.data())
@examples(3000)
def test_sec_22_any_damage_to_an_archive_ends_in_a_named_error(tmp_path_factory, data):
    root = tmp_path_factory.getbasetemp() / "damaged"
    root.mkdir(exist_ok=True)
    files = archive(root, ("a/1.png", b"one" * 50), ("2.png", b"two"))
    raw = bytearray((root / "x.cbz").read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    (root / "x.cbz").write_bytes(raw[: data.draw(st.integers(len(raw) // 2, len(raw)))])
    for want in (ReadArchive("x.cbz"), ReadFile("x.cbz", "a/1.png"), ReadFile("x.cbz", "2.png")):
        try:
            files.answer(want)
        except SourceError:
            continue
