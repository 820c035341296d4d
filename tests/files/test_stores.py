"""What every store of files promises, in a folder and on a server that speaks S3."""

import asyncio
import hashlib
import math

import pytest

from tests.files.builders import a_store, keys, put, put_raw
from tsuzuki.app.opening import wall_clock
from tsuzuki.files.stores import ARCHIVE, DamagedFile, FileStore
from tsuzuki.images.files import key_of
from tsuzuki.model.times import SECOND

DATA = b"an image"
DIGEST = hashlib.sha256(DATA).digest()
KEY = key_of(DIGEST)
MONTH = "crawl_log_2026_01.jsonl.gz"


@pytest.fixture(params=["folder", "s3"])
def url(request) -> str | None:
    """None for the data folder."""
    return request.getfixturevalue("s3_url") if request.param == "s3" else None


@pytest.fixture
def store(url, tmp_path) -> FileStore:
    return a_store(url, tmp_path / "data")


def now() -> float:
    return wall_clock() / SECOND


async def test_what_is_read_is_what_was_written(store, tmp_path):
    assert await put(store, tmp_path, DATA) == KEY
    assert await store.read(KEY, size=len(DATA), digest=DIGEST) == DATA
    assert await store.digest(KEY) == DIGEST
    async with store.local(KEY, digest=DIGEST) as path:
        assert path.read_bytes() == DATA
    found = await store.find(KEY)
    assert found is not None
    assert (found.key, found.size) == (KEY, len(DATA))
    assert abs(found.stored_at - now()) < 60


async def test_what_is_not_there_is_said_to_be_missing(store):
    assert await store.find(KEY) is None
    assert await store.digest(KEY) is None
    assert store.read_at_once(KEY, 8) is None
    assert await store.read(KEY, size=8, digest=DIGEST) is None
    assert await store.open(KEY, size=8, digest=DIGEST) is None
    assert not await store.remove(KEY, unless_since=math.inf)
    assert await keys(store) == []
    async with store.local(KEY) as path:
        assert not path.exists()


async def test_a_file_of_another_length_counts_as_missing(store, tmp_path):
    await put(store, tmp_path, DATA)
    assert await store.read(KEY, size=9, digest=DIGEST) is None
    assert await store.open(KEY, size=9, digest=DIGEST) is None
    assert store.read_at_once(KEY, 9) is None


async def test_another_content_of_the_same_length_is_damage(store, tmp_path):
    await put(store, tmp_path, DATA)
    put_raw(store, KEY, b"AN IMAGE")
    with pytest.raises(DamagedFile):
        await store.read(KEY, size=len(DATA), digest=DIGEST)
    assert await store.digest(KEY) != DIGEST


async def test_parts_are_read_by_their_bytes(store, tmp_path):
    large = bytes(range(256)) * 20_000
    digest = hashlib.sha256(large).digest()
    key = await put(store, tmp_path, large)
    file = await store.open(key, size=len(large), digest=digest)
    assert file is not None
    for start, end in ((0, 1), (1000, 300_000), (len(large) - 7, len(large)), (0, len(large))):
        assert await file.read(start, end) == large[start:end]
    put_raw(store, key, large[:100])
    with pytest.raises(DamagedFile):
        await file.read(1000, 300_000)
    file.close()


async def test_no_half_file_is_ever_seen(store, tmp_path):
    """Whoever looks while a file is replaced sees the one or the other, or none."""
    contents = [bytes([number]) * 3_000_000 for number in range(4)]
    known = {None} | {hashlib.sha256(content).digest() for content in contents}

    async def write() -> None:
        for content in contents:
            await put(store, tmp_path, content, KEY)

    writing = asyncio.create_task(write())
    seen = set()
    while not writing.done():
        seen.add(await store.digest(KEY))
    await writing
    assert seen <= known
    assert await store.digest(KEY) == hashlib.sha256(contents[-1]).digest()


async def test_a_stopped_writer_leaves_nothing_visible(store, tmp_path):
    writing = asyncio.create_task(put(store, tmp_path, bytes(30_000_000), KEY))
    await asyncio.sleep(0.001)
    writing.cancel()
    await asyncio.gather(writing, return_exceptions=True)
    assert await store.digest(KEY) in {None, hashlib.sha256(bytes(30_000_000)).digest()}


async def test_a_file_stored_again_during_its_removal_stays(store, tmp_path):
    await put(store, tmp_path, DATA)
    assert not await store.remove(KEY, unless_since=now() - 600)
    assert await store.read(KEY, size=len(DATA), digest=DIGEST) == DATA
    assert await store.remove(KEY, unless_since=now() + 600)
    assert await store.find(KEY) is None


async def test_every_file_of_ours_is_listed_and_nothing_of_strangers(store, tmp_path):
    mine = [await put(store, tmp_path, bytes([number])) for number in range(3)]
    for key in ("aa/bb/readme.txt", "notes", "aa/" + "z" * 64, "aa/bb/" + "c" * 64, "drafts/" + "a" * 32):
        put_raw(store, key, b"theirs")
    assert sorted(await keys(store)) == sorted(mine)


async def test_more_files_than_a_page_are_all_listed(store):
    wanted = {key_of(hashlib.sha256(bytes([number])).digest()) for number in range(250)}
    for key in wanted:
        put_raw(store, key, b"x")
    pages = [len(some) async for some in store.pages()]
    assert len(pages) > 1
    assert set(await keys(store)) == wanted


async def test_areas_do_not_see_each_other(url, tmp_path):
    data = tmp_path / "data"
    images, archive = a_store(url, data), a_store(url, data, ARCHIVE)
    await put(images, tmp_path, DATA)
    await put(archive, tmp_path, b"logs", MONTH)
    assert (await keys(images), await keys(archive)) == ([KEY], [MONTH])


async def test_a_local_copy_is_gone_after_its_block(store, tmp_path):
    await put(store, tmp_path, DATA)
    async with store.local(KEY):
        pass
    drafts = tmp_path / "data" / "images" / "drafts"
    assert not drafts.exists() or list(drafts.iterdir()) == []
    assert await store.digest(KEY) == DIGEST
