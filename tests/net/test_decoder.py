"""REL-36: content encodings under a cap."""

import gzip
import os
import tracemalloc
import zlib

import brotli
import pytest
from backports import zstd

from tests.net.packing import BOMB, MIB, bomb, deflate_raw, pack
from tsuzuki.model.errors import NotAFeed, TooLarge, Unreachable
from tsuzuki.net.decoder import PIECE, Decoding

TEXT = b"Tsuzuki: to be continued. " * 4000 + os.urandom(5000)
CAP = 10 * 1024 * 1024


def decoded(data: bytes, encoding: str, *, step: int = 1000, cap: int = CAP) -> bytes:
    decoding = Decoding(encoding, cap)
    pieces = [piece for at in range(0, len(data), step) for piece in decoding.feed(data[at : at + step])]
    decoding.finish()
    assert all(len(piece) <= 2 * PIECE for piece in pieces)
    return b"".join(pieces)


@pytest.mark.parametrize("step", [1, 7, 1000, 10**9])
@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (TEXT, ""),
        (TEXT, "identity"),
        (pack(TEXT, "gzip"), "gzip"),
        (pack(TEXT, "gzip"), "x-gzip"),
        (pack(TEXT, "gzip"), " GZIP , identity"),
        (gzip.compress(TEXT[:500]) + gzip.compress(TEXT[500:]), "gzip"),
        (pack(TEXT, "gzip") + b"\x00trailing garbage", "gzip"),
        (pack(TEXT, "deflate"), "deflate"),
        (deflate_raw(TEXT), "deflate"),
        (pack(TEXT, "br"), "br"),
        (pack(TEXT, "zstd"), "zstd"),
        (zstd.compress(TEXT[:500]) + zstd.compress(TEXT[500:]), "zstd"),
        (gzip.compress(pack(TEXT, "gzip")), "gzip, gzip"),
        (gzip.compress(pack(TEXT, "br")), "br, gzip"),
        (pack(pack(TEXT, "deflate"), "zstd"), "deflate,zstd"),
    ],
)
def test_every_encoding_comes_back_whole_however_it_is_cut(data, encoding, step):
    assert decoded(data, encoding, step=step if len(data) < 20_000 or step > 1 else 7) == TEXT


@pytest.mark.soak
@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd", "gzip, gzip", "br, br", "zstd, gzip"])
def test_a_bomb_stops_at_the_cap_with_flat_memory(encoding):
    """SEC-20, REL-36: what is kept at a time does not grow with the bomb."""
    small = bomb(BOMB, encoding)
    assert len(small) < BOMB // 500
    tracemalloc.start()
    try:
        sizes = map(len, Decoding(encoding, CAP).feed(small))
        with pytest.raises(TooLarge, match="larger than 10,485,760 bytes when decompressed"):
            sum(sizes)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 * MIB


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd"])
def test_a_stream_that_ends_early_is_an_error(encoding):
    data = pack(TEXT, encoding)
    with pytest.raises(Unreachable, match="ended before"):
        decoded(data[: len(data) // 2], encoding)


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd"])
def test_a_body_not_packed_as_declared_is_an_error(encoding):
    with pytest.raises(NotAFeed, match="cannot be decompressed"):
        decoded(b"\xff<rss>plain text</rss>", encoding)


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd", "compress, gzip"])
def test_an_empty_body_may_claim_any_encoding_that_we_know(encoding):
    if "compress" in encoding:
        with pytest.raises(NotAFeed, match="not supported"):
            Decoding(encoding, CAP)
        return
    assert decoded(b"", encoding) == b""


def test_more_than_two_layers_are_refused_before_anything_is_read():
    with pytest.raises(NotAFeed, match="compressed 3 times"):
        Decoding("gzip, gzip, gzip", CAP)


def test_a_compression_window_beyond_the_cap_is_refused():
    wide = zstd.compress(os.urandom(64), options={zstd.CompressionParameter.window_log: 27})
    frame = wide[:4] + b"\x00\x88" + b"\x00\x00\x00"  # no single segment, window of 128 MiB
    with pytest.raises(NotAFeed, match="cannot be decompressed"):
        decoded(frame, "zstd")


def test_deflate_that_arrives_byte_by_byte_is_told_apart():
    for data in (zlib.compress(TEXT), deflate_raw(TEXT)):
        assert decoded(data, "deflate", step=1) == TEXT


def test_brotli_that_goes_on_after_its_end_is_an_error():
    with pytest.raises(NotAFeed):
        decoded(brotli.compress(TEXT) + b"more", "br")
