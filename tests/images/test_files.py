"""Images as they are stored, in a folder and on a server that speaks S3: whole or not there."""

import hashlib
import os

import pytest
from structlog.testing import capture_logs

from tests.files.builders import a_store, put_raw
from tests.images.builders import stored_digests
from tsuzuki.app.opening import wall_clock
from tsuzuki.files.stores import DamagedFile
from tsuzuki.images.files import ImageFiles, key_of
from tsuzuki.model.times import SECOND

DATA = b"an image"
LARGE = bytes(range(256)) * 12_000


@pytest.fixture(params=["folder", "s3"])
def files(request, tmp_path) -> ImageFiles:
    url = request.getfixturevalue("s3_url") if request.param == "s3" else None
    return ImageFiles(a_store(url, tmp_path), tmp_path / "images")


in_the_folder = pytest.mark.parametrize("files", ["folder"], indirect=True)


def now() -> float:
    return wall_clock() / SECOND


async def stored(files: ImageFiles, data: bytes) -> bytes:
    with files.draft() as draft:
        draft.write(data[:3])
        draft.write(data[3:])
        return await draft.keep()


def drafts(files: ImageFiles) -> list[str]:
    return sorted(path.name for path in (files._folder / "drafts").glob("*"))


async def pieces(files: ImageFiles, data: bytes, start: int, end: int) -> list[bytes]:
    reader = await files.open(hashlib.sha256(data).digest(), len(data))
    assert reader is not None
    try:
        return [piece async for piece in reader.pieces(start, end)]
    finally:
        reader.close()


@in_the_folder
async def test_a_file_is_named_by_its_hash_in_two_folders(files):
    digest = await stored(files, DATA)
    assert digest == hashlib.sha256(DATA).digest()
    name = digest.hex()
    assert (files._folder / name[:2] / name[2:4] / name).read_bytes() == DATA
    assert (files._folder / name[:2] / name[2:4] / name).stat().st_mode & 0o777 == 0o600


async def test_what_was_kept_can_be_read(files):
    digest = await stored(files, DATA)
    assert await files.read(digest, 8) == DATA
    assert await files.has(digest, 8)
    async with files.local(digest) as path:
        with open(path, "rb") as file:  # noqa: ASYNC230, PTH123  of a few bytes
            assert file.read() == DATA
    assert drafts(files) == []


async def test_nothing_is_left_of_a_draft_that_was_not_kept(files):
    with files.draft() as draft:
        draft.write(b"half an im")
    assert drafts(files) == []
    assert await stored_digests(files) == set()


async def test_a_file_of_another_length_counts_as_missing(files):
    digest = await stored(files, DATA)
    assert await files.read(digest, 9) is None
    assert await files.open(digest, 9) is None
    assert not await files.has(digest, 9)
    assert await files.read(hashlib.sha256(b"another").digest(), 1) is None


async def test_a_damaged_file_is_missing_until_stored_again(files):
    digest = await stored(files, DATA)
    put_raw(files._store, key_of(digest), b"AN IMAGE")
    with capture_logs() as logs:
        assert await files.read(digest, 8) is None
    assert [(line["event"], line["key"]) for line in logs] == [("image_damaged", key_of(digest))]
    assert not await files.has(digest, 8)
    assert await files.open(digest, 8) is None
    assert files.read_at_once(digest, 8) is None
    await stored(files, DATA)
    assert await files.has(digest, 8)
    assert await files.read(digest, 8) == DATA


async def test_a_large_image_comes_in_pieces_and_by_ranges(files):
    await stored(files, LARGE)
    whole = await pieces(files, LARGE, 0, len(LARGE))
    assert len(whole) > 1
    assert b"".join(whole) == LARGE
    assert b"".join(await pieces(files, LARGE, 5, 2_500_000)) == LARGE[5:2_500_000]
    assert b"".join(await pieces(files, LARGE, len(LARGE) - 1, len(LARGE))) == LARGE[-1:]


async def test_the_end_of_a_damaged_image_is_never_shown(files):
    digest = await stored(files, LARGE)
    put_raw(files._store, key_of(digest), b"x" + LARGE[1:])
    reader = await files.open(digest, len(LARGE))
    assert reader is not None
    shown = 0

    async def show() -> None:
        nonlocal shown
        async for piece in reader.pieces(0, len(LARGE)):
            shown += len(piece)

    with pytest.raises(DamagedFile):
        await show()
    reader.close()
    assert 0 < shown < len(LARGE)
    assert not await files.has(digest, len(LARGE))


async def test_storing_the_same_again_changes_nothing(files):
    digest = await stored(files, DATA)
    assert await stored(files, DATA) == digest
    assert await stored_digests(files) == {digest}
    assert drafts(files) == []


@in_the_folder
async def test_storing_the_same_again_makes_it_young(files):
    digest = await stored(files, DATA)
    path = files._folder / key_of(digest)
    os.utime(path, (0, 0))
    await stored(files, DATA)
    assert path.stat().st_mtime > 0


@in_the_folder
async def test_a_reader_continues_while_the_file_is_removed(files):
    digest = await stored(files, DATA)
    reader = await files.open(digest, 8)
    assert reader is not None
    assert await files.remove(digest, unless_since=now() + 600)
    assert [piece async for piece in reader.pieces(0, 8)] == [DATA]
    reader.close()
    assert await stored_digests(files) == set()


async def test_a_file_stored_again_during_its_removal_stays(files):
    digest = await stored(files, DATA)
    assert not await files.remove(digest, unless_since=now() - 60)
    assert await files.read(digest, 8) == DATA


async def test_a_removal_of_what_is_not_there_is_none(files):
    assert not await files.remove(hashlib.sha256(b"x").digest(), unless_since=now())


async def test_the_sweep_takes_old_drafts_and_nothing_else(files):
    digest = await stored(files, DATA)
    with files.draft() as old, files.draft() as young:
        old.write(b"half an im")
        young.write(b"half an im")
        os.utime(old.path, (0, 0))
        assert files.sweep(before=now() - 60) == 1
        assert young.path.exists()
    assert await stored_digests(files) == {digest}
