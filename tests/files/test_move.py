"""`tsuzuki files move`: every file is in one store or the other at any moment, and nowhere damaged."""

import hashlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.files.builders import NOBODY_THERE, a_store, keys, put, put_raw
from tsuzuki.files.move import FileMove
from tsuzuki.files.stores import ARCHIVE, IMAGES
from tsuzuki.images.files import key_of
from tsuzuki.model.errors import Unavailable

MONTH = "crawl_log_2026_01.jsonl.gz"


def ignore(done: int, total: int) -> None:
    """Nobody watches."""


def started(data: Path, url: str, *words: str) -> subprocess.Popen[str]:
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("TSUZUKI_", "AWS_"))}
    return subprocess.Popen(
        [sys.executable, "-m", "tsuzuki", "files", "move", *words],
        env=environ | {"TSUZUKI_DATA_DIR": str(data), "TSUZUKI_FILES_URL": url, "COLUMNS": "100"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("is_back", [False, True], ids=["to s3", "to the folder"])
async def test_every_file_moves_and_progress_is_told(s3_url, tmp_path, is_back):
    source, target = a_store(None, tmp_path), a_store(s3_url, tmp_path)
    if is_back:
        source, target = target, source
    contents = [bytes([number]) * 1000 for number in range(20)]
    wanted = sorted([await put(source, tmp_path, content) for content in contents])
    told: list[tuple[int, int]] = []
    moved = await FileMove(source, target, IMAGES).run(lambda done, total: told.append((done, total)))
    assert (moved.files, moved.bytes, moved.damaged, moved.differing) == (20, 20_000, [], [])
    assert told == [(8, 20), (16, 20), (20, 20)]
    assert (await keys(source), sorted(await keys(target))) == ([], wanted)
    for content in contents:
        digest = hashlib.sha256(content).digest()
        assert await target.read(key_of(digest), size=1000, digest=digest) == content
    assert (await FileMove(source, target, IMAGES).run(ignore)).files == 0


async def test_what_is_there_already_is_compared_and_not_sent_again(s3_url, tmp_path):
    source, target = a_store(None, tmp_path), a_store(s3_url, tmp_path)
    key = await put(target, tmp_path, b"same")
    before = await target.find(key)
    await put(source, tmp_path, b"same")
    assert (await FileMove(source, target, IMAGES).run(ignore)).files == 1
    assert await keys(source) == []
    assert await target.find(key) == before


@pytest.mark.parametrize("is_back", [False, True], ids=["to s3", "to the folder"])
async def test_a_damaged_file_stays_where_it_is(s3_url, tmp_path, is_back):
    source, target = a_store(None, tmp_path), a_store(s3_url, tmp_path)
    if is_back:
        source, target = target, source
    good, bad = await put(source, tmp_path, b"good"), key_of(hashlib.sha256(b"bad").digest())
    put_raw(source, bad, b"BAD")
    moved = await FileMove(source, target, IMAGES).run(ignore)
    assert (moved.files, moved.damaged) == (1, [bad])
    assert (await keys(source), await keys(target)) == ([bad], [good])


async def test_a_damaged_image_in_the_target_is_replaced(s3_url, tmp_path):
    source, target = a_store(None, tmp_path), a_store(s3_url, tmp_path)
    key = await put(source, tmp_path, b"good")
    put_raw(target, key, b"GOOD")
    assert (await FileMove(source, target, IMAGES).run(ignore)).files == 1
    assert await target.digest(key) == hashlib.sha256(b"good").digest()


async def test_logs_that_differ_are_kept_in_both(s3_url, tmp_path):
    """A month whose late rows were archived after the store was changed."""
    source, target = a_store(None, tmp_path, ARCHIVE), a_store(s3_url, tmp_path, ARCHIVE)
    await put(source, tmp_path, b"early", MONTH)
    await put(target, tmp_path, b"late", MONTH)
    moved = await FileMove(source, target, ARCHIVE).run(ignore)
    assert (moved.files, moved.differing) == (0, [MONTH])
    assert await source.digest(MONTH) == hashlib.sha256(b"early").digest()
    assert await target.digest(MONTH) == hashlib.sha256(b"late").digest()


async def test_nothing_leaves_while_the_target_does_not_answer(tmp_path):
    source = a_store(None, tmp_path)
    key = await put(source, tmp_path, b"good")
    with pytest.raises(Unavailable):
        await FileMove(source, a_store(NOBODY_THERE, tmp_path), IMAGES).run(ignore)
    assert await keys(source) == [key]


class Lying:
    """Forgets what it is given, and says nothing."""

    def __init__(self, store) -> None:
        self._store = store

    def __getattr__(self, name):
        return getattr(self._store, name)

    async def put(self, key, *_, **__) -> None:
        put_raw(self._store, key, b"something else")


async def test_a_file_that_cannot_be_read_back_is_not_deleted(s3_url, tmp_path):
    source, target = a_store(None, tmp_path), Lying(a_store(s3_url, tmp_path))
    key = await put(source, tmp_path, b"good")
    with pytest.raises(Unavailable, match="could not be read back"):
        await FileMove(source, target, IMAGES).run(ignore)
    assert await keys(source) == [key]


# -- as an operator types it


async def test_a_killed_move_is_continued_by_the_same_command(s3_url, tmp_path):
    source, target = a_store(None, tmp_path), a_store(s3_url, tmp_path)
    wanted = sorted([await put(source, tmp_path, number.to_bytes(2) * 500) for number in range(300)])
    await put(a_store(None, tmp_path, ARCHIVE), tmp_path, b"logs", MONTH)
    killed = started(tmp_path, s3_url, "--from", "folder", "--to", "configured")
    deadline = time.monotonic() + 60
    while len(await keys(source)) == 300 and time.monotonic() < deadline:
        assert killed.poll() is None, killed.communicate()
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert 0 < len(await keys(source)) < 300
    assert set(await keys(source)) | set(await keys(target)) == set(wanted)
    done = started(tmp_path, s3_url, "--from", "folder", "--to", "configured")
    said, progress = done.communicate(timeout=100)
    assert done.returncode == 0, progress
    assert "files moved" in said
    assert "move images" in progress
    assert (await keys(source), sorted(await keys(target))) == ([], wanted)
    assert await keys(a_store(s3_url, tmp_path, ARCHIVE)) == [MONTH]
    assert "canary" not in (said + progress).lower()


def test_a_move_between_the_same_stores_is_refused(tmp_path, s3_url):
    said = started(tmp_path, s3_url, "--from", s3_url, "--to", "configured").communicate()[1]
    assert "the same store" in said


def test_a_store_that_is_not_configured_is_named(tmp_path):
    said = started(tmp_path, "", "--from", "folder", "--to", "configured").communicate()[1]
    assert "TSUZUKI_FILES_URL is not set" in said


def test_an_address_that_is_none_is_refused_without_repeating_it(tmp_path, s3_url):
    refused = started(tmp_path, s3_url, "--from", "folder", "--to", "s3://key:hunter2/3@bucket")
    said = "".join(refused.communicate())
    assert (refused.returncode, "TSUZUKI_FILES_URL is '***'" in said, "hunter2" in said) == (2, True, False)


async def test_files_that_had_to_stay_are_named(tmp_path, s3_url):
    source = a_store(None, tmp_path)
    bad = key_of(hashlib.sha256(b"bad").digest())
    put_raw(source, bad, b"BAD")
    moved = started(tmp_path, s3_url, "--from", "folder", "--to", "configured")
    said = moved.communicate()[1]
    assert moved.returncode == 1
    assert f"images/{bad} is damaged and was left where it is." in said


async def test_an_unwritable_folder_stops_the_move_in_one_line(tmp_path, s3_url):
    await put(a_store(s3_url, tmp_path), tmp_path, b"good")
    (tmp_path / "images").write_text("a file where the folder should be")
    moved = started(tmp_path, s3_url, "--from", "configured", "--to", "folder")
    said = moved.communicate()[1]
    assert (moved.returncode, "Traceback" in said) == (1, False), said
    assert len(await keys(a_store(s3_url, tmp_path))) == 1
