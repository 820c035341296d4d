"""The child process of the parse pool: receives orders, calls functions, sends answers.

It limits itself before it reads anything: address space, no core dumps, no files written. Each call runs against a
timer of CPU time whose signal nobody handles, so that not even a loop in C outlives it.
"""

import importlib
import inspect
import os
import resource
import signal
import struct
from collections.abc import Callable
from functools import cache
from typing import Any, BinaryIO, get_type_hints

import msgspec

from tsuzuki.model.errors import NotAFeed, SourceError, TooLarge

LENGTH = struct.Struct(">Q")
READY = b"ready"
NICENESS = 15
"""A document that is slow to read must not slow down the answers to readers."""


class Order(msgspec.Struct, frozen=True, array_like=True):
    """A function's name, its arguments as msgpack, and its CPU time."""

    module: str
    name: str
    arguments: bytes
    cpu_seconds: float


class ParserAnswer(msgspec.Struct, frozen=True, array_like=True):
    """What the function returned, as msgpack; or the code and message of its error."""

    value: bytes = b""
    code: str | None = None
    message: str = ""


def serve(connection: int, memory: int) -> None:
    """Serve until the pool closes its end."""
    orders, answers = os.fdopen(connection, "rb"), os.fdopen(os.dup(connection), "wb")
    os.nice(NICENESS)
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    _write(answers, READY)
    while head := orders.read(LENGTH.size):
        order = msgspec.msgpack.decode(orders.read(*LENGTH.unpack(head)), type=Order)
        _write(answers, msgspec.msgpack.encode(_carried_out(order)))


def _carried_out(order: Order) -> ParserAnswer:
    try:
        function, decoders = _found(order.module, order.name)
        arguments = _arguments(decoders, order.arguments)
        signal.setitimer(signal.ITIMER_PROF, order.cpu_seconds)
        try:
            return ParserAnswer(value=msgspec.msgpack.encode(function(*arguments)))
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    except SourceError as error:
        return ParserAnswer(code=error.code, message=str(error))
    except MemoryError:
        return ParserAnswer(code=TooLarge.code, message="The document needs more memory than is allowed.")
    except Exception as error:  # noqa: BLE001 - whatever a document does to a parser is that document's failure
        return ParserAnswer(
            code=NotAFeed.code, message=f"The document cannot be read ({type(error).__name__}: {error})."
        )


@cache
def _found(module: str, name: str) -> tuple[Callable[..., Any], list[msgspec.msgpack.Decoder[Any]]]:
    """A function, and what decodes each of its arguments, by the types that it declares."""
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    hints = get_type_hints(found)
    decoders = [msgspec.msgpack.Decoder(hints.get(each, Any)) for each in inspect.signature(found).parameters]
    return found, decoders


def _arguments(decoders: list[msgspec.msgpack.Decoder[Any]], encoded: bytes) -> list[Any]:
    raws = msgspec.msgpack.decode(encoded, type=list[msgspec.Raw])
    return [decoder.decode(raw) for raw, decoder in zip(raws, decoders, strict=False)]


def _write(pipe: BinaryIO, frame: bytes) -> None:
    pipe.write(LENGTH.pack(len(frame)) + frame)
    pipe.flush()
