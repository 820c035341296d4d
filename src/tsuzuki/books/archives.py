"""ZIP files that are never whole in memory: a sequence of bytes and of stored images, the same for the same members.

Members are stored, not compressed: images are compressed already, and so the size is known before anything is read.
"""

import hashlib
import struct
import zlib
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from functools import cached_property
from typing import Final

import msgspec

from tsuzuki.images.files import Image
from tsuzuki.images.service import Images
from tsuzuki.model.documents import SAMPLE, SAMPLES
from tsuzuki.model.errors import TooLarge

LARGEST: Final = 2**32 - 2**20
"""Bytes. Beyond it a ZIP has another form, which fewer readers know."""
MOST_MEMBERS: Final = 2**16 - 2
"""Files of one archive; beyond it a ZIP has that other form, too."""

# APPNOTE.TXT 4.3.7, 4.3.12 and 4.3.16: a file's header, its line in the directory, and the directory's end.
_LOCAL = struct.Struct("<4s5H3I2H")
_CENTRAL = struct.Struct("<4s6H3I5H2I")
_END = struct.Struct("<4s4H2IH")
_VERSION = 10  # 1.0 is enough for members that are only stored
_DATE = 1 << 5 | 1  # 1 January 1980, the first day there is

Part = bytes | Image


class ArchiveMember(msgspec.Struct, frozen=True):
    """A file within an archive; the checksum of an image must be known. Names are ASCII."""

    name: str
    content: Part

    @property
    def size(self) -> int:
        """Its bytes."""
        return size_of(self.content)

    @property
    def crc32(self) -> int:
        """Its checksum."""
        if isinstance(self.content, bytes):
            return zlib.crc32(self.content)
        assert self.content.crc32 is not None
        return self.content.crc32


class Archive(msgspec.Struct, frozen=True, dict=True):
    """A file that is put together as it is read."""

    name: str
    media_type: str
    parts: tuple[Part, ...]

    @cached_property
    def size(self) -> int:
        """The size of the whole file, in bytes."""
        return sum(map(size_of, self.parts))

    @cached_property
    def etag(self) -> str:
        """Another one for other bytes."""
        digest = hashlib.sha256()
        for part in self.parts:
            digest.update(part if isinstance(part, bytes) else part.hash)
        return digest.hexdigest()[:32]

    async def pieces(self, images: Images, start: int = 0, end: int | None = None) -> AsyncGenerator[bytes, None]:
        """The bytes from `start` up to `end`. Unavailable when an image went meanwhile, or is damaged."""
        end = self.size if end is None else end
        place = 0
        for part in self.parts:
            # What of this part lies in the range; both count from the part's own beginning.
            first, last = max(start - place, 0), min(end - place, size_of(part))
            place += size_of(part)
            if first >= last:
                continue
            if isinstance(part, bytes):
                yield part[first:last]
                continue
            async with aclosing(_of_image(images, part, first, last)) as pieces:
                async for piece in pieces:
                    yield piece

    async def partial_md5(self, images: Images) -> str:
        """The MD5 by which KOReader knows a document: of samples at growing distances."""
        digest = hashlib.md5(usedforsecurity=False)
        for offset in SAMPLES:
            if offset >= self.size:
                break
            async for piece in self.pieces(images, offset, min(offset + SAMPLE, self.size)):
                digest.update(piece)
        return digest.hexdigest()


def size_of(part: Part) -> int:
    """Its bytes."""
    return len(part) if isinstance(part, bytes) else part.bytes


async def _of_image(images: Images, image: Image, first: int, last: int) -> AsyncGenerator[bytes, None]:
    opened = await images.open(image)
    try:
        async for piece in opened.pieces(first, last):
            yield piece
    finally:
        opened.close()


def pack(name: str, media_type: str, members: Sequence[ArchiveMember]) -> Archive:
    """The archive of these members, in this order; TooLarge."""
    # 200 is more than the two headers of a member take with its name.
    if len(members) > MOST_MEMBERS or sum(member.size + 200 for member in members) > LARGEST:
        raise TooLarge("This is too large for one file.")
    return Archive(name, media_type, tuple(_parts(members)))


def _parts(members: Sequence[ArchiveMember]) -> Iterator[Part]:
    place, directory = 0, bytearray()
    for member in members:
        name, size = member.name.encode("ascii"), member.size
        about = (member.crc32, size, size, len(name), 0)  # packed and unpacked sizes are equal
        local = _LOCAL.pack(b"PK\3\4", _VERSION, 0, 0, 0, _DATE, *about) + name
        directory += _CENTRAL.pack(b"PK\1\2", _VERSION, _VERSION, 0, 0, 0, _DATE, *about, 0, 0, 0, 0, place) + name
        place += len(local) + size
        yield local
        yield member.content
    count = len(members)
    yield bytes(directory) + _END.pack(b"PK\5\6", 0, 0, count, count, len(directory), place, 0)
