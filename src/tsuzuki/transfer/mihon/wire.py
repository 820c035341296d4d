"""Protocol Buffers on the wire: fields in their order, those that nobody knows among them. Pure.

Written by hand (docs/decisions/0093): Mihon refuses backups whose required fields are left out where they are zero, as
generated code does, and a backup that goes out again must hold what other apps had put into it.
"""

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from tsuzuki.model.errors import NotAFeed

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
_FIXED = {FIXED64: 8, FIXED32: 4}
_KINDS = {VARINT: "a number", FIXED64: "eight bytes", LENGTH: "text", FIXED32: "four bytes"}
_MOST_BYTES = 10  # of a number: 64 bits, seven in each
_SIGN, _WRAP = 1 << 63, 1 << 64

Value = int | bytes


class Field(msgspec.Struct, frozen=True, gc=False):
    """One field as it was read."""

    number: int
    kind: int
    value: Value
    raw: bytes
    """All of it, to be written again as it was."""


def damaged(why: str) -> NotAFeed:
    """The one error of this package: the file is not what it should be."""
    return NotAFeed(f"The backup is damaged: {why}.")


def read_number(data: bytes, at: int) -> tuple[int, int]:
    """An unsigned number, and where it ends."""
    value = shift = 0
    for place in range(at, at + _MOST_BYTES):
        if place >= len(data):
            raise damaged("it ends in the middle")
        byte = data[place]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place + 1
        shift += 7
    raise damaged("a number is too long")


def read_fields(data: bytes) -> Iterator[Field]:
    """The fields of a message."""
    at = 0
    while at < len(data):
        start = at
        tag, at = read_number(data, at)
        number, kind = tag >> 3, tag & 7
        value: Value
        if kind == VARINT:
            value, at = read_number(data, at)
        else:
            if kind == LENGTH:
                length, at = read_number(data, at)
            elif kind in _FIXED:
                length = _FIXED[kind]
            else:
                raise damaged(f"field {number} is of a kind that there is not")
            if at + length > len(data):
                raise damaged("it ends in the middle")
            value = data[at : at + length]
            at += length
        yield Field(number, kind, value, data[start:at])


class ProtobufMessage:
    """A message by the numbers of its fields. Of a field that is there several times the last counts, as everywhere."""

    def __init__(self, data: bytes, name: str) -> None:
        self.fields = list(read_fields(data))
        self._name = name
        self._by_number: dict[int, list[Field]] = {}
        for field in self.fields:
            self._by_number.setdefault(field.number, []).append(field)

    def __contains__(self, number: int) -> bool:
        return number in self._by_number

    def number(self, number: int, default: int = 0) -> int:
        """A signed number."""
        found = self._last(number, VARINT)
        return default if found is None else _signed(found)

    def text(self, number: int) -> str | None:
        """Text; None where there is none."""
        found = self._last(number, LENGTH)
        return None if found is None else self._decoded(number, found)

    def required(self, number: int) -> str:
        """Text that must be there, be it empty."""
        found = self.text(number)
        if found is None:
            raise damaged(f"{self._name} has no field {number}")
        return found

    def decimal(self, number: int) -> float | None:
        """A number of 32 bits with a fraction."""
        found = self._last(number, FIXED32)
        return None if not isinstance(found, bytes) else float(struct.unpack("<f", found)[0])

    def texts(self, number: int) -> list[str]:
        """Repeated text."""
        return [self._decoded(number, value) for value in self.messages(number)]

    def messages(self, number: int) -> list[bytes]:
        """Repeated messages, not read yet."""
        return [self._expect(field, LENGTH) for field in self._by_number.get(number, ())]  # type: ignore[misc]

    def numbers(self, number: int) -> list[int]:
        """Repeated numbers, packed or each by itself."""
        found: list[int] = []
        for field in self._by_number.get(number, ()):
            if field.kind == LENGTH and isinstance(field.value, bytes):
                at = 0
                while at < len(field.value):
                    one, at = read_number(field.value, at)
                    found.append(_signed(one))
            else:
                found.append(_signed(self._expect(field, VARINT)))
        return found

    def _last(self, number: int, kind: int) -> Value | None:
        found = self._by_number.get(number)
        return None if found is None else self._expect(found[-1], kind)

    def _expect(self, field: Field, kind: int) -> Value:
        if field.kind != kind:
            raise damaged(f"field {field.number} of {self._name} is {_KINDS[field.kind]} and should be {_KINDS[kind]}")
        return field.value

    def _decoded(self, number: int, value: Value) -> str:
        assert isinstance(value, bytes)
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise damaged(f"field {number} of {self._name} is no UTF-8") from None


def _signed(value: Value) -> int:
    assert isinstance(value, int)
    value &= _WRAP - 1
    return value - _WRAP if value & _SIGN else value


# -- writing


def number_field(number: int, value: int) -> bytes:
    """A signed number; a negative one takes ten bytes."""
    return _number(number << 3 | VARINT) + _number(value % _WRAP)


def bytes_field(number: int, value: bytes) -> bytes:
    """Bytes, or a message."""
    return _number(number << 3 | LENGTH) + _number(len(value)) + value


def text_field(number: int, value: str) -> bytes:
    """Text."""
    return bytes_field(number, value.encode())


def decimal_field(number: int, value: float) -> bytes:
    """A number of 32 bits with a fraction."""
    return _number(number << 3 | FIXED32) + struct.pack("<f", value)


def replaced(fields: Iterable[Field], new: Mapping[int, Sequence[bytes]]) -> bytes:
    """A message again, with other fields under these numbers: the new ones first, the rest as it came."""
    kept = [field.raw for field in fields if field.number not in new]
    return b"".join([*(part for parts in new.values() for part in parts), *kept])


def _number(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
