"""What only a store on a server can do wrong."""

import hashlib
import subprocess
import sys
import traceback
from pathlib import Path

import obstore
import pytest
from structlog.testing import capture_logs

from tests.app import settings_for
from tests.files.builders import NOBODY_THERE, a_store, keys, put, put_raw
from tsuzuki.files.address import read_address
from tsuzuki.files.s3 import S3Store
from tsuzuki.files.stores import ARCHIVE, DamagedFile
from tsuzuki.images.files import key_of
from tsuzuki.model.errors import Unavailable
from tsuzuki.settings import BadSetting

DATA = b"an image"
DIGEST = hashlib.sha256(DATA).digest()
KEY = key_of(DIGEST)
SECRETS = ("CANARYKEY", "canary/secret", "canary%2Fsecret")


async def every_call(store, folder):
    """Each call of a store in its own coroutine."""
    yield store.find(KEY)
    yield store.read(KEY, size=8, digest=DIGEST)
    yield store.open(KEY, size=8, digest=DIGEST)
    yield store.digest(KEY)
    yield store.remove(KEY, unless_since=0)
    yield keys(store)
    yield put(store, folder, DATA)


async def test_an_unreachable_server_is_unavailable_and_tells_no_secret(tmp_path):
    store = a_store(NOBODY_THERE, tmp_path)
    with capture_logs() as logs:
        async for call in every_call(store, tmp_path):
            with pytest.raises(Unavailable, match="The file store does not answer as it should") as failed:
                await call
            told = "".join(traceback.format_exception(failed.value))
            assert "127.0.0.1" not in told  # nothing of what the library says
            assert not any(secret in told for secret in SECRETS)
    assert {line["event"] for line in logs} == {"file_store_failed"}
    assert not any(secret in str(logs) + repr(store) for secret in SECRETS)


async def test_without_its_bucket_nothing_is_taken_for_missing(s3_url, tmp_path):
    """A wrong name must not make us fetch everything again."""
    store = a_store(s3_url.replace("@bucket-", "@another-"), tmp_path)
    with pytest.raises(Unavailable, match="NoSuchBucket"):
        await store.read(KEY, size=8, digest=DIGEST)
    with pytest.raises(Unavailable, match="NoSuchBucket"):
        await put(store, tmp_path, DATA)
    with pytest.raises(Unavailable, match="NoSuchBucket"):
        await keys(store)


async def test_the_hash_is_stored_beside_the_file(s3_url, tmp_path):
    store = a_store(s3_url, tmp_path, ARCHIVE)
    assert isinstance(store, S3Store)
    name = await put(store, tmp_path, b"logs", "crawl_log_2026_01.jsonl.gz")
    found = await obstore.get_async(store._bucket, name)
    assert found.attributes["sha256"] == hashlib.sha256(b"logs").hexdigest()
    await obstore.put_async(store._bucket, name, b"LOGS", attributes={"sha256": hashlib.sha256(b"logs").hexdigest()})
    with pytest.raises(DamagedFile):
        async with store.local(name):
            pass
    assert list((tmp_path / "images" / "drafts").iterdir()) == []


async def test_parts_of_a_file_that_was_replaced_are_refused(s3_url, tmp_path):
    store = a_store(s3_url, tmp_path)
    assert isinstance(store, S3Store)
    await put(store, tmp_path, DATA)
    file = await store.open(KEY, size=8, digest=DIGEST)
    assert file is not None
    await obstore.put_async(store._bucket, KEY, b"AN IMAGE", attributes={"sha256": "0" * 64})
    with pytest.raises(DamagedFile):
        await file.read(0, 4)


async def test_a_file_without_a_stored_hash_can_still_be_read(s3_url, tmp_path):
    """As another tool may have put it there."""
    store = a_store(s3_url, tmp_path)
    put_raw(store, KEY, DATA)
    assert await store.read(KEY, size=8, digest=DIGEST) == DATA
    file = await store.open(KEY, size=8, digest=DIGEST)
    assert file is not None
    assert await file.read(3, 8) == b"image"


def test_the_library_is_not_loaded_unless_a_store_is_configured(tmp_path):
    code = (
        "import sys; from pathlib import Path; from tests.app import settings_for;"
        "from tsuzuki.app.bootstrap import files_of, IMAGES;"
        "files_of(settings_for(Path(sys.argv[1])), IMAGES); sys.exit('obstore' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False).returncode == 0


# -- its address


def test_an_address_says_where_the_store_is():
    address = read_address("s3://AKID:a%2Fb%2Bc@bucket/some/prefix/?endpoint=https://host:9000&region=x&style=virtual")
    assert (address.bucket, address.prefix, address.name) == ("bucket", "some/prefix", "s3://bucket/some/prefix")
    assert (address.key_id, address.secret) == ("AKID", "a/b+c")
    assert (address.endpoint, address.region, address.style) == ("https://host:9000", "x", "virtual")
    assert "a/b+c" not in repr(address)
    bare = read_address("s3://bucket")
    assert (bare.name, bare.prefix, bare.endpoint, bare.key_id) == ("s3://bucket", "", None, None)


@pytest.mark.parametrize(
    "text",
    [
        "http://bucket",
        "s3:///prefix",
        "s3://key@bucket",
        "s3://:secret@bucket",
        "s3://key:hunter2/2@bucket",
        "s3://bucket:9000/prefix",
        "s3://bucket/../up",
        "s3://bucket/a//b",
        "s3://bucket?endpoint=host",
        "s3://bucket?endpoint=https://key:secret@host",
        "s3://bucket?endpont=https://host",
        "s3://bucket?style=other",
        "s3://bucket?region=a&region=b",
        "s3://bucket?region",
        "s3://bucket#part",
    ],
)
def test_what_is_no_address_is_refused_without_repeating_it(text):
    with pytest.raises(ValueError):
        read_address(text)
    with pytest.raises(BadSetting, match=r"TSUZUKI_FILES_URL is '\*\*\*'"):
        settings_for(Path("/nowhere"), files_url=text)


def test_sec_39_no_secret_of_the_address_is_shown(tmp_path):
    settings = settings_for(tmp_path, files_url=NOBODY_THERE)
    assert not any(secret in repr(settings) for secret in SECRETS)
    assert settings.secrets() >= set(SECRETS)
