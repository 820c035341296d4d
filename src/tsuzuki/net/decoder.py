"""Decodes content encodings piece by piece under a cap, so that a bomb costs no more memory than that.

Pure: bytes go in, pieces of at most `PIECE` bytes come out. Libraries that decode a body in one call turn 1.6 kB into
2 GB; here each layer stops as soon as its own output passes the cap.
"""

import sys
import zlib
from collections.abc import Callable, Iterator
from typing import Protocol

import brotli

from tsuzuki.model.errors import NotAFeed, TooLarge, Unreachable

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PIECE = 64 * 1024
MAX_LAYERS = 2
ACCEPT_ENCODING = "gzip, deflate, br, zstd"

_WINDOW_LOG = 23  # 8 MiB: the most that RFC 9659 lets a server ask of a browser
_GZIP_MAGIC = b"\x1f\x8b"


class Decoder(Protocol):
    """One layer: `feed` gives what can be decoded by now, `finish` raises when the end is missing."""

    def feed(self, data: bytes) -> Iterator[bytes]: ...
    def finish(self) -> None: ...


class Decoding:
    """All layers of one answer, undone in turn, each under the cap."""

    def __init__(self, content_encoding: str, max_bytes: int) -> None:
        self._layers = [_Capped(layer, max_bytes) for layer in _layers(content_encoding)]

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The decoded pieces that this data completes; TooLarge once a layer passes the cap."""
        return self._through(data, len(self._layers))

    def finish(self) -> None:
        """Unreachable when a layer still waits for data: the answer was cut short."""
        for layer in self._layers:
            layer.finish()

    def _through(self, data: bytes, depth: int) -> Iterator[bytes]:
        if depth == 0:
            yield data
            return
        for piece in self._through(data, depth - 1):
            yield from self._layers[depth - 1].feed(piece)


class _Capped:
    def __init__(self, decoder: Decoder, max_bytes: int) -> None:
        self._decoder = decoder
        self._max_bytes = max_bytes
        self._count = 0
        self._begun = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        self._begun = self._begun or bool(data)
        try:
            for piece in self._decoder.feed(data):
                self._count += len(piece)
                if self._count > self._max_bytes:
                    raise TooLarge(f"The answer is larger than {self._max_bytes:,} bytes when decompressed.")
                yield piece
        except (zlib.error, brotli.error, zstd.ZstdError) as error:
            raise NotAFeed(f"The answer cannot be decompressed: {error}.") from error

    def finish(self) -> None:
        if self._begun:  # an empty body may claim any encoding
            self._decoder.finish()


def _cut_short() -> Unreachable:
    return Unreachable("The answer ended before its compressed data did.")


class _Gzip:
    """One or more members; what follows them and is none is ignored, as browsers do."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(wbits=31)
        self._held = b""
        self._is_done = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        data = self._held + data
        self._held = b""
        while not self._is_done:
            if self._member.eof:
                if len(data) < len(_GZIP_MAGIC):
                    self._held = data
                    return
                if not data.startswith(_GZIP_MAGIC):
                    self._is_done = True
                    return
                self._member = zlib.decompressobj(wbits=31)
            yield from _inflate(self._member, data)
            if not self._member.eof:
                return
            data = self._member.unused_data

    def finish(self) -> None:
        if not self._member.eof:
            raise _cut_short()


class _Deflate:
    """Zlib as the standard says, or the raw stream that some servers send."""

    def __init__(self) -> None:
        self._head = b""
        self._stream: zlib._Decompress | None = None

    def feed(self, data: bytes) -> Iterator[bytes]:
        data = self._head + data
        if self._stream is None:
            if len(data) < 2:
                self._head = data
                return
            has_header = data[0] & 0x0F == 8 and int.from_bytes(data[:2], "big") % 31 == 0
            self._stream = zlib.decompressobj(wbits=15 if has_header else -15)
            self._head = b""
        yield from _inflate(self._stream, data)

    def finish(self) -> None:
        if self._stream is None or not self._stream.eof:
            raise _cut_short()


def _inflate(stream: "zlib._Decompress", data: bytes) -> Iterator[bytes]:
    """All that the data gives. A full piece may leave output inside the stream even when its input is used up."""
    while not stream.eof:
        piece = stream.decompress(data, PIECE)
        yield piece
        data = stream.unconsumed_tail
        if not data and len(piece) < PIECE:
            return


class _Brotli:
    def __init__(self) -> None:
        self._stream = brotli.Decompressor()

    def feed(self, data: bytes) -> Iterator[bytes]:
        while not self._stream.is_finished():
            piece = self._stream.process(data, output_buffer_limit=PIECE)
            yield piece
            data = b""
            if self._stream.can_accept_more_data() and len(piece) < PIECE:
                return

    def finish(self) -> None:
        if not self._stream.is_finished():
            raise _cut_short()


class _Zstd:
    """One or more frames, with a window that browsers accept too."""

    def __init__(self) -> None:
        self._frame = self._new_frame()

    def feed(self, data: bytes) -> Iterator[bytes]:
        while data or not (self._frame.eof or self._frame.needs_input):
            if self._frame.eof:
                self._frame = self._new_frame()
            yield self._frame.decompress(data, PIECE)
            data = self._frame.unused_data if self._frame.eof else b""

    def finish(self) -> None:
        if not self._frame.eof:
            raise _cut_short()

    @staticmethod
    def _new_frame() -> zstd.ZstdDecompressor:
        return zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: _WINDOW_LOG})


_DECODERS: dict[str, Callable[[], Decoder]] = {
    "gzip": _Gzip,
    "x-gzip": _Gzip,
    "deflate": _Deflate,
    "br": _Brotli,
    "zstd": _Zstd,
}


def _layers(content_encoding: str) -> list[Decoder]:
    """The decoders in the order they are undone: the last named was applied last."""
    names = [name.strip().lower() for name in content_encoding.split(",")]
    names = [name for name in names if name not in {"", "identity"}]
    if len(names) > MAX_LAYERS:
        raise NotAFeed(f"The answer is compressed {len(names)} times ({content_encoding[:80]}).")
    unknown = [name for name in names if name not in _DECODERS]
    if unknown:
        raise NotAFeed(f"The answer's compression is not supported ({unknown[0][:80]}).")
    return [_DECODERS[name]() for name in reversed(names)]
