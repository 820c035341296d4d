"""Images on disk: whole or not there."""

import hashlib
import os

import pytest

from tsuzuki.app.bootstrap import wall_clock
from tsuzuki.images.files import ImageFiles
from tsuzuki.model.times import SECOND


@pytest.fixture
def files(tmp_path) -> ImageFiles:
    return ImageFiles(tmp_path / "images")


def now() -> float:
    return wall_clock() / SECOND


def stored(files: ImageFiles, data: bytes) -> bytes:
    with files.draft() as draft:
        draft.write(data[:3])
        draft.write(data[3:])
        return draft.keep()


def all_files(files: ImageFiles) -> list[str]:
    return sorted(path.name for path in files._root.rglob("*") if path.is_file())


def test_a_file_is_called_by_its_content_in_two_levels_of_folders(files):
    digest = stored(files, b"an image")
    assert digest == hashlib.sha256(b"an image").digest()
    name = digest.hex()
    assert files.path_of(digest) == files._root / name[:2] / name[2:4] / name
    assert files.read(digest, 8) == b"an image"


def test_nothing_is_left_of_a_draft_that_was_not_kept(files):
    with files.draft() as draft:
        draft.write(b"half an im")
    assert all_files(files) == []


def test_a_file_that_is_not_as_long_as_it_was_is_not_there(files):
    digest = stored(files, b"an image")
    assert files.read(digest, 9) is None
    assert files.open(digest, 9) is None
    assert not files.has(digest, 9)
    assert files.read(hashlib.sha256(b"another").digest(), 1) is None


def test_storing_the_same_again_changes_nothing_but_its_age(files):
    digest = stored(files, b"an image")
    os.utime(files.path_of(digest), (0, 0))
    assert stored(files, b"an image") == digest
    assert files.path_of(digest).stat().st_mtime > 0
    assert all_files(files) == [digest.hex()]


def test_a_reader_that_has_begun_reads_on_while_the_file_is_removed(files):
    digest = stored(files, b"an image")
    descriptor = files.open(digest, 8)
    assert descriptor is not None
    assert files.remove(digest, unless_since=now() + 60)
    assert os.read(descriptor, 100) == b"an image"
    os.close(descriptor)
    assert all_files(files) == []


def test_what_was_stored_anew_in_the_moment_of_its_removal_stays(files):
    digest = stored(files, b"an image")
    assert not files.remove(digest, unless_since=now() - 60)
    assert files.read(digest, 8) == b"an image"
    assert all_files(files) == [digest.hex()]


def test_a_removal_of_what_is_not_there_is_none(files):
    assert not files.remove(hashlib.sha256(b"x").digest(), unless_since=now())


def test_the_sweep_takes_old_drafts_and_nothing_else(files):
    digest = stored(files, b"an image")
    with files.draft() as old, files.draft() as young:
        old.write(b"half an im")
        young.write(b"half an im")
        os.utime(old.path, (0, 0))
        assert files.sweep(before=now() - 60) == 1
        assert young.path.exists()
    assert [found for found, _ in files.digests()] == [digest]


def test_what_strangers_put_into_the_folder_is_left_alone(files):
    stored(files, b"an image")
    for name in ("aa/bb/readme.txt", "notes", "aa/" + "z" * 64):
        path = files._root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("mine")
    assert len(list(files.digests())) == 1
