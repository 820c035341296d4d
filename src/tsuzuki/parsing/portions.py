"""Decodes a large answer in portions, so that the event loop answers others in between."""

import asyncio
from collections.abc import Sequence
from typing import Any, get_args, get_origin

import msgspec

PORTION = 64 * 1024
"""Bytes that are decoded in one step of the loop: about a millisecond on a slow machine."""
LEAST = 16
"""Bytes of an element, on average, from which on they are taken apart: each costs 65 bytes until it is decoded."""


async def decode(encoded: bytes | msgspec.Raw, kind: Any) -> Any:
    """What `msgspec.msgpack.decode` gives for this type."""
    view = memoryview(encoded)
    if view.nbytes <= PORTION:
        return msgspec.msgpack.decode(encoded, type=kind)
    await asyncio.sleep(0)
    count = _count(view)
    if 0 < count <= len(fields := _named_fields(kind)):
        raws = msgspec.msgpack.decode(encoded, type=dict[str, msgspec.Raw])
        if all(field.encode_name in raws for field in fields if field.required):
            there = [field for field in fields if field.encode_name in raws]
            return kind(**{field.name: await decode(raws[field.encode_name], field.type) for field in there})
    if (element := _element(kind)) is not None and count <= view.nbytes // LEAST:
        return get_origin(kind)(await _decode_all(msgspec.msgpack.decode(encoded, type=list[msgspec.Raw]), element))
    return msgspec.msgpack.decode(encoded, type=kind)


async def _decode_all(raws: Sequence[msgspec.Raw], kind: Any) -> list[Any]:
    decoder, values, size = msgspec.msgpack.Decoder(kind), list[Any](), 0
    for raw in raws:
        size += memoryview(raw).nbytes
        if size > PORTION:
            await asyncio.sleep(0)
            size = 0
        values.append(decoder.decode(raw))
    return values


def _count(view: memoryview) -> int:
    """How many elements an array or a map of msgpack has, by its first bytes; 0 for anything else."""
    lengths = {0xDC: 2, 0xDD: 4, 0xDE: 2, 0xDF: 4}
    if view[0] & 0xE0 == 0x80:  # a map or an array of fewer than sixteen
        return view[0] & 0x0F
    return int.from_bytes(view[1 : 1 + lengths.get(view[0], 0)])


def _named_fields(kind: Any) -> tuple[msgspec.structs.FieldInfo, ...]:
    if not (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
        return ()
    config = kind.__struct_config__
    return () if config.array_like or config.tag is not None else msgspec.structs.fields(kind)


def _element(kind: Any) -> Any | None:
    """The type of the elements of a list, or of a tuple of any length."""
    match get_origin(kind), get_args(kind):
        case (builtins, (element,)) if builtins is list:
            return element
        case (builtins, (element, rest)) if builtins is tuple and rest is Ellipsis:
            return element
    return None
