"""Ways to pack a body, and to pack very little into something very large."""

import gzip
import os
import zlib
from collections.abc import Callable

import brotli
from backports import zstd

from tests.scale import SOAK

MIB = 1024 * 1024
BOMB = (1024 if os.environ.get(SOAK) else 64) * MIB
"""A GiB for `make soak`; a share of it stands for the whole otherwise."""


def deflate_raw(data: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-15)
    return stream.compress(data) + stream.flush()


_PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": lambda data: brotli.compress(data, quality=5),
    "zstd": zstd.compress,
}


def pack(data: bytes, encoding: str) -> bytes:
    return _PACKERS[encoding](data)


def bomb(size: int, encoding: str) -> bytes:
    """`size` zero bytes, packed once for each name in `encoding`."""
    first, *others = (name.strip() for name in encoding.split(","))
    data = _zeros(size, first)
    for name in others:
        data = pack(data, name)
    return data


def _zeros(size: int, encoding: str) -> bytes:
    block = bytes(MIB)
    rounds = size // len(block)
    if encoding == "br":
        packer = brotli.Compressor(quality=5)
        return b"".join([*(packer.process(block) for _ in range(rounds)), packer.finish()])
    if encoding == "zstd":
        stream = zstd.ZstdCompressor()
        return b"".join([*(stream.compress(block) for _ in range(rounds)), stream.flush()])
    deflater = zlib.compressobj(wbits=31 if encoding == "gzip" else 15)
    return b"".join([*(deflater.compress(block) for _ in range(rounds)), deflater.flush()])
