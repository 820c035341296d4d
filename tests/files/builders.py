"""Stores of files, as the settings make them."""

import hashlib
from pathlib import Path

import obstore

from tests.app import settings_for
from tsuzuki.app.pipeline import files_of
from tsuzuki.files.folder import FolderStore
from tsuzuki.files.s3 import S3Store
from tsuzuki.files.stores import IMAGES, Area, FileStore
from tsuzuki.images.files import key_of

NOBODY_THERE = "s3://CANARYKEY:canary%2Fsecret@bucket?endpoint=http://127.0.0.1:1&region=us-east-1"


def a_store(url: str | None, data: Path, area: Area = IMAGES) -> FileStore:
    """The store of an area: in the data folder, or where the address says."""
    return files_of(settings_for(data, **({} if url is None else {"files_url": url})), area)


def put_raw(store: FileStore, key: str, data: bytes) -> None:
    """As whoever has the disk or the bucket could."""
    if isinstance(store, FolderStore):
        store.path_of(key).parent.mkdir(parents=True, exist_ok=True)
        store.path_of(key).write_bytes(data)
        return
    assert isinstance(store, S3Store)
    obstore.put(store._bucket, key, data)


async def put(store: FileStore, folder: Path, data: bytes, key: str | None = None) -> str:
    """Store these bytes; the key, which is that of an image unless told."""
    draft = folder / "a draft"
    draft.write_bytes(data)
    key = key or key_of(hashlib.sha256(data).digest())
    await store.put(key, draft)
    return key


async def keys(store: FileStore) -> list[str]:
    """Of every file in it."""
    return [file.key async for some in store.pages() for file in some]
