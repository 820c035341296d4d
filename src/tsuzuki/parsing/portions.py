"""Decodes a large answer in portions, so that the event loop answers others in between."""

import asyncio
from collections.abc import Sequence
from typing import Any, get_args, get_origin

import msgspec

PORTION = 64 * 1024
"""Bytes that are decoded in one step of the loop: about a millisecond on a slow machine."""


async def decode(encoded: bytes | msgspec.Raw, kind: Any) -> Any:
    """What `msgspec.msgpack.decode` gives for this type."""
    if memoryview(encoded).nbytes <= PORTION:
        return msgspec.msgpack.decode(encoded, type=kind)
    await asyncio.sleep(0)
    if _has_named_fields(kind):
        raws = msgspec.msgpack.decode(encoded, type=dict[str, msgspec.Raw])
        fields = [field for field in msgspec.structs.fields(kind) if field.encode_name in raws]
        return kind(**{field.name: await decode(raws[field.encode_name], field.type) for field in fields})
    if (element := _element(kind)) is not None:
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


def _has_named_fields(kind: Any) -> bool:
    if not (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
        return False
    config = kind.__struct_config__
    return not config.array_like and config.tag is None


def _element(kind: Any) -> Any | None:
    """The type of the elements of a list, or of a tuple of any length."""
    match get_origin(kind), get_args(kind):
        case (builtins, (element,)) if builtins is list:
            return element
        case (builtins, (element, rest)) if builtins is tuple and rest is Ellipsis:
            return element
    return None
