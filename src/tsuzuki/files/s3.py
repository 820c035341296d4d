"""A store that speaks S3, through obstore; imported only where one is configured.

Nothing that obstore says reaches a log or an answer as it is: the errors of some servers repeat keys and signatures.
"""

import asyncio
import hashlib
import re
import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import obstore
import structlog
from obstore.exceptions import BaseError
from obstore.store import S3Store as Bucket

from tsuzuki.files.address import S3Address
from tsuzuki.files.disk import digest_of
from tsuzuki.files.stores import Area, DamagedFile, StoredFile
from tsuzuki.model.errors import Unavailable

if TYPE_CHECKING:
    from obstore import GetResult, ObjectMeta
    from obstore.store import ClientConfig, S3Config

PIECE = 2 * 1024 * 1024
"""Bytes of one request for a part: small, so that a slow reader does not keep a request open."""
WHOLE = 32 * 1024 * 1024
"""Bytes up to which a file is sent by one request: no image leaves parts behind when a process dies."""
CLOCKS_DIFFER = 60.0
"""Seconds. What was stored so shortly before its removal is left to the sweep."""

_PAGE = 200
_HASH = "sha256"
"""The name under which a file's hash is stored beside it."""
# obstore's errors are texts: the status and code in them are all that is safe to show.
_SAID = re.compile(r"status code: (\d{3})|<Code>(\w{1,60})</Code>", re.ASCII)
_log = structlog.stdlib.get_logger("tsuzuki.files")


class S3Store:
    """The files of an area below a prefix of a bucket."""

    def __init__(self, address: S3Address, area: Area, *, drafts: Path) -> None:
        """`drafts` is a folder of this machine for copies that are needed for a moment."""
        prefix = f"{address.prefix}/{area.name}".lstrip("/")
        self.name = f"{address.name}/{area.name}"
        self._area = area
        self._drafts = drafts
        with self._answering("open"):
            self._bucket = Bucket(
                address.bucket,
                prefix=prefix,
                config=_config(address),
                client_options=_client(address),
                # Obstore would retry for three minutes.
                retry_config={"max_retries": 3, "retry_timeout": timedelta(seconds=15)},
            )

    def read_at_once(self, key: str, size: int) -> bytes | None:
        """Never: this store has to be asked."""
        del key, size
        return None

    async def read(self, key: str, *, size: int, digest: bytes) -> bytes | None:
        """As `FileStore` says."""
        with self._answering("read"):
            found = await self._get(key)
            if found is None or found.meta["size"] != size:
                return None
            data = bytes(await found.bytes_async())
        if (await asyncio.to_thread(hashlib.sha256, data)).digest() != digest:
            raise DamagedFile("A stored file is damaged.")
        return data

    async def open(self, key: str, *, size: int, digest: bytes) -> "_OpenObject | None":
        """As `FileStore` says."""
        found = await self.find(key)
        return None if found is None or found.size != size else _OpenObject(self, found, digest)

    async def find(self, key: str) -> StoredFile | None:
        """As `FileStore` says."""
        with self._answering("find"):
            try:
                return _stored(await obstore.head_async(self._bucket, key))
            except FileNotFoundError as error:
                self._refuse_missing_bucket(error)
                return None

    async def digest(self, key: str) -> bytes | None:
        """As `FileStore` says."""
        read = hashlib.sha256()
        with self._answering("read"):
            found = await self._get(key)
            if found is None:
                return None
            async for piece in found.stream(PIECE):
                await asyncio.to_thread(read.update, piece)
        return read.digest()

    @asynccontextmanager
    async def local(self, key: str, *, digest: bytes | None = None) -> AsyncIterator[Path]:
        """A copy that is gone at the end of the block."""
        await asyncio.to_thread(self._drafts.mkdir, mode=0o700, parents=True, exist_ok=True)
        copy = self._drafts / secrets.token_hex(16)
        try:
            await self._fetch(key, copy, digest)
            yield copy
        finally:
            await asyncio.to_thread(copy.unlink, missing_ok=True)

    async def put(self, key: str, file: Path, *, digest: bytes | None = None) -> None:
        """As `FileStore` says. The hash is stored beside the file, and read with it."""
        if digest is None:
            digest = await asyncio.to_thread(digest_of, file)
        about = {_HASH: digest.hex()}
        with self._answering("put"):
            await obstore.put_async(self._bucket, key, file, attributes=about, chunk_size=WHOLE, max_concurrency=2)

    async def remove(self, key: str, *, unless_since: float) -> bool:
        """As `FileStore` says, but not at once: who stores the same in that moment has to store it again."""
        found = await self.find(key)
        if found is None or found.stored_at >= unless_since - CLOCKS_DIFFER:
            return False
        with self._answering("remove"):
            await obstore.delete_async(self._bucket, key)
        return True

    async def pages(self) -> AsyncIterator[list[StoredFile]]:
        """As `FileStore` says."""
        with self._answering("list"):
            async for some in obstore.list(self._bucket, chunk_size=_PAGE):
                yield [_stored(one) for one in some if self._area.owns(one["path"])]

    async def read_part(self, file: StoredFile, digest: bytes, start: int, end: int) -> bytes:
        """These bytes of the file; DamagedFile when its length, or the hash stored beside it, is another by now."""
        with self._answering("read"):
            found = await self._get(file.key, (start, end))
            data = b"" if found is None else bytes(await found.bytes_async())
        is_same = found is not None and found.meta["size"] == file.size and len(data) == end - start
        if found is None or not is_same or found.attributes.get(_HASH, digest.hex()) != digest.hex():
            raise DamagedFile("A stored file changed while it was read.")
        return data

    async def _get(self, key: str, part: tuple[int, int] | None = None) -> "GetResult | None":
        try:
            return await obstore.get_async(self._bucket, key, options={} if part is None else {"range": part})
        except FileNotFoundError as error:
            self._refuse_missing_bucket(error)
            return None
        except BaseError as error:
            if part is not None and "status code: 416" in str(error):  # it is shorter than that
                return None
            raise

    async def _fetch(self, key: str, copy: Path, digest: bytes | None) -> None:
        """Write the file there and check it: by the hash that is expected, else by the one stored beside it."""
        read = hashlib.sha256()
        with self._answering("read"):
            found = await self._get(key)
            if found is None:
                return
            expected = digest.hex() if digest is not None else found.attributes.get(_HASH)
            await asyncio.to_thread(copy.touch, 0o600)
            with await asyncio.to_thread(copy.open, "wb") as file:
                async for piece in found.stream(PIECE):
                    await asyncio.to_thread(file.write, piece)
                    await asyncio.to_thread(read.update, piece)
        if expected is not None and read.hexdigest() != expected:
            raise DamagedFile("A stored file is damaged.")

    def _refuse_missing_bucket(self, error: FileNotFoundError) -> None:
        """Without its bucket nothing is there, which is not to be taken for files that are gone."""
        if "<Code>NoSuchBucket</Code>" in str(error):
            raise error

    @contextmanager
    def _answering(self, verb: str) -> Iterator[None]:
        """Raise Unavailable for whatever goes wrong. It names only status and code: other texts could show secrets."""
        try:
            yield
        except (BaseError, OSError, ValueError) as error:
            said = dict.fromkeys(status or code for status, code in _SAID.findall(str(error)))
            why = " ".join(said) or getattr(error, "strerror", None) or "no answer"
            _log.warning("file_store_failed", store=self.name, verb=verb, reason=why)
            raise Unavailable(f"The file store does not answer as it should ({why}).") from None


class _OpenObject:
    """A file that is read by requests for its parts."""

    piece = PIECE

    def __init__(self, store: S3Store, file: StoredFile, digest: bytes) -> None:
        self._store = store
        self._file = file
        self._digest = digest

    async def read(self, start: int, end: int) -> bytes:
        return await self._store.read_part(self._file, self._digest, start, end)

    def close(self) -> None:
        """Nothing is open."""


def _config(address: S3Address) -> "S3Config":
    """What the address says; obstore takes the rest from the AWS_* variables."""
    config: S3Config = {"virtual_hosted_style_request": address.style == "virtual"}
    if address.endpoint is not None:
        config["endpoint"] = address.endpoint
    if address.region is not None:
        config["region"] = address.region
    if address.key_id is not None and address.secret is not None:
        config["access_key_id"], config["secret_access_key"] = address.key_id, address.secret
    return config


def _client(address: S3Address) -> "ClientConfig":
    return {
        "allow_http": (address.endpoint or "").startswith("http:"),
        "connect_timeout": timedelta(seconds=5),
        "read_timeout": timedelta(seconds=20),
        "timeout": timedelta(minutes=5),
    }


def _stored(one: "ObjectMeta") -> StoredFile:
    return StoredFile(one["path"], one["size"], one["last_modified"].timestamp())
