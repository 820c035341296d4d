"""The archive file: a ZIP whose parts are streamed, and checked whole before anything is used."""

import hashlib
import io
import os
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

import msgspec

from tsuzuki import __version__
from tsuzuki.connectors.html.sanitiser import valid_text
from tsuzuki.db.fulltext import NO_WORDS, IndexWords
from tsuzuki.model.errors import Invalid
from tsuzuki.model.times import Millis, from_iso, iso
from tsuzuki.transfer.archive.format import FORMAT, MANIFEST, PARTS, VERSION, ArchiveLine, ArchivePart, Manifest

MAX_LINE = 16 * 1024 * 1024
MAX_MANIFEST = 64 * 1024
MAX_MEMBERS = 1_000
"""More than there are parts: the mark of a member's entry may also occur in a part by chance."""
RATIO = 200
"""The largest ratio of unpacked to packed bytes: no text compresses better."""
SMALL = 16 * 1024 * 1024
"""Bytes below which the ratio does not matter."""

Watch = Callable[[str, int, int], None]
"""Called with what is being done, how much is done, and the total."""

_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_ENCRYPTED = 0x1
_MEMBER = b"PK\x01\x02"
# What `zipfile` raises for a file that is cut or damaged; RuntimeError and its kinds for one that is locked, or packed
# in a way that it does not know: it has no error of its own for those.
BROKEN_ZIP = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError)


class NumberedLine(msgspec.Struct, frozen=True):
    """A line as it was read."""

    part: str
    number: int
    line: Any
    was_cleaned: bool = False
    """Whether invalid characters were removed."""
    words: IndexWords = NO_WORDS
    """The words for the search index."""


# -- writing


class ShelfArchiveWriter:
    """Writes parts one after another, and the manifest at the end."""

    def __init__(self, file: IO[bytes], exported_at: Millis) -> None:
        self._zip = zipfile.ZipFile(file, "w")
        self._exported_at = exported_at
        self._parts: dict[str, ArchivePart] = {}

    @contextmanager
    def part(self, name: str) -> Iterator["PartWriter"]:
        """Open the writer of this part."""
        with self._zip.open(_packed(name), "w", force_zip64=True) as file:  # its size is not known before
            writer = PartWriter(file)
            yield writer
        self._parts[name] = writer.summary()

    def close(self) -> Manifest:
        """Write the manifest; the archive is complete then."""
        manifest = Manifest(
            format=FORMAT,
            version=VERSION,
            program=f"tsuzuki {__version__}",
            exported_at=iso(self._exported_at),
            parts=self._parts,
        )
        self._zip.writestr(_packed(MANIFEST), msgspec.json.format(msgspec.json.encode(manifest)))
        self._zip.close()
        return manifest


def _packed(name: str) -> zipfile.ZipInfo:
    """A member's entry with a fixed time, so that the same shelf makes the same bytes."""
    info = zipfile.ZipInfo(name)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o600 << 16  # who unpacks it gets files of their own
    return info


def encoded(line: ArchiveLine) -> bytes:
    """The line as it is written in a part."""
    return msgspec.json.encode(line, order="deterministic") + b"\n"


class PartWriter:
    """Writes lines, and counts and hashes them."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._hash = hashlib.sha256()
        self._lines = 0
        self._bytes = 0

    def write(self, lines: Iterable[ArchiveLine]) -> None:
        """Write more lines."""
        for line in lines:
            self.write_encoded(encoded(line))

    def write_encoded(self, raw: bytes) -> None:
        """Write a line that is encoded already."""
        self._file.write(raw)
        self._hash.update(raw)
        self._lines += 1
        self._bytes += len(raw)

    @property
    def lines(self) -> int:
        """How many there are by now."""
        return self._lines

    def summary(self) -> ArchivePart:
        """What the manifest says of it."""
        return ArchivePart(lines=self._lines, bytes=self._bytes, sha256=self._hash.hexdigest())


@contextmanager
def new_file(path: Path) -> Iterator[IO[bytes]]:
    """A new file of this name, its owner's alone, there once the block has ended well; Invalid if there is one."""
    if path.exists():
        raise Invalid(f"{path} already exists and is not overwritten.")
    unfinished = path.with_name(f"{path.name}.unfinished")
    try:
        handle = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    except OSError as error:
        raise Invalid(f"{path} cannot be written: {error.strerror}.") from error
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


# -- reading


class ArchiveReader:
    """An untrusted archive: `check` reads all of it before anything is imported."""

    def __init__(self, path: Path) -> None:
        with _refusing(path.name):
            _refuse_crowd(path)
            self._zip = zipfile.ZipFile(path)
        self.manifest = self._read_manifest()

    def close(self) -> None:
        """Close the file, also where whoever was cut off has not read a part to its end: that would keep it open."""
        file = self._zip.fp
        self._zip.close()
        if file is not None:
            file.close()

    @property
    def exported_at(self) -> Millis:
        """When it was made, as it says itself."""
        return from_iso(self.manifest.exported_at)

    def check(self, watch: Watch) -> None:
        """Invalid names the first thing that is wrong: a hash, a count, a line of the wrong type for its part."""
        for name in self.manifest.parts:
            of = self.manifest.parts[name].lines
            for count, _ in enumerate(self.lines(name), 1):
                if count % 1_000 == 0 or count == of:
                    watch(f"check {name}", count, of)

    def lines(self, name: str) -> Iterator[NumberedLine]:
        """The lines of a part; at its end it is compared with the manifest."""
        said = self.manifest.parts[name]
        seen, read, number = hashlib.sha256(), 0, 0
        with _refusing(name), self._open(name) as file:
            while raw := file.readline(MAX_LINE + 1):
                number += 1
                read += len(raw)
                if len(raw) > MAX_LINE:
                    raise Invalid(f"{name}:{number}: the line is longer than {MAX_LINE:,} bytes.")
                if read > said.bytes or number > said.lines:
                    raise Invalid(f"{name}:{number}: there is more than the manifest says.")
                seen.update(raw)
                yield _decoded(name, number, raw)
        if (number, read, seen.hexdigest()) != (said.lines, said.bytes, said.sha256):
            raise Invalid(f"{name} does not match the manifest: the archive was changed or is incomplete.")

    def _open(self, name: str) -> io.BufferedReader:
        """A part, read by lines of bounded length: which a ZipExtFile does a hundred times as slowly itself."""
        return io.BufferedReader(cast("io.RawIOBase", self._zip.open(name)), 1 << 16)

    def _read_manifest(self) -> Manifest:
        infos = self._zip.infolist()
        names = [info.filename for info in infos]
        if MANIFEST not in names:
            raise Invalid(f"This is not an archive of a shelf: it has no {MANIFEST}.")
        if len(set(names)) != len(names):
            raise Invalid("A part is in the archive twice.")
        with _refusing(MANIFEST), self._zip.open(MANIFEST) as file:
            raw = file.read(MAX_MANIFEST + 1)
        manifest = _manifest(raw)
        if stranger := next((name for name in names if name != MANIFEST and name not in PARTS), None):
            raise Invalid(f"The archive contains {stranger!r}, which is not a part of a shelf.")
        if set(names) != {MANIFEST, *manifest.parts} or set(manifest.parts) != set(PARTS):
            raise Invalid("The archive does not contain exactly the parts that its manifest lists.")
        for info in infos:
            _refuse_bomb(info)
        return manifest


def _manifest(raw: bytes) -> Manifest:
    if len(raw) > MAX_MANIFEST:
        raise Invalid(f"{MANIFEST} is longer than {MAX_MANIFEST:,} bytes.")
    try:
        head = msgspec.json.decode(raw)
    except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
        raise Invalid(f"{MANIFEST} cannot be read: {error}.") from error
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise Invalid("This is not an archive of a shelf.")
    if head.get("version") != VERSION:
        raise Invalid(f"The archive has version {head.get('version')!r}; this program reads version {VERSION}.")
    try:
        manifest = msgspec.convert(head, Manifest)
        from_iso(manifest.exported_at)
    except (msgspec.ValidationError, ValueError) as error:
        raise Invalid(f"{MANIFEST} cannot be read: {error}.") from error
    return manifest


def _refuse_crowd(path: Path) -> None:
    """`zipfile` makes an object of each member as it opens a file, and there may be a million."""
    found, end = 0, b""
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            found += (end + piece).count(_MEMBER)
            end = piece[-len(_MEMBER) + 1 :]  # the mark may lie across two pieces
    if found > MAX_MEMBERS:
        raise Invalid(f"The archive contains more than {MAX_MEMBERS:,} files, which is not a shelf.")


def _refuse_bomb(info: zipfile.ZipInfo) -> None:
    if info.compress_type not in _METHODS or info.flag_bits & _ENCRYPTED:
        raise Invalid(f"{info.filename} uses a compression that archives of shelves do not use.")
    if info.file_size > SMALL and info.file_size > RATIO * info.compress_size:
        raise Invalid(f"{info.filename} grows {RATIO}-fold when unpacked: it is not text.")


def _decoded(part: str, number: int, raw: bytes) -> NumberedLine:
    try:
        plain = msgspec.json.decode(raw)
        clean = _valid(plain)
        return NumberedLine(part, number, msgspec.convert(clean, PARTS[part]), clean != plain)
    except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
        raise Invalid(f"{part}:{number}: {error}.") from error


def _valid(value: Any) -> Any:
    """The value with text that both engines accept: without NUL and lone surrogates."""
    if isinstance(value, str):
        return valid_text(value)
    if isinstance(value, list):
        return [_valid(each) for each in value]
    if isinstance(value, dict):
        return {valid_text(name): _valid(each) for name, each in value.items()}
    return value


@contextmanager
def _refusing(what: str) -> Iterator[None]:
    try:
        yield
    except Invalid:
        raise
    except BROKEN_ZIP as error:
        raise Invalid(f"{what} cannot be read: {error}.") from error
