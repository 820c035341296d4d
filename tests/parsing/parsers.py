"""What a parser may do to the process it runs in."""

import ctypes
import os
import time
from decimal import Decimal

import msgspec

from tsuzuki.model.errors import ShapeChanged


class Found(msgspec.Struct, frozen=True):
    title: str
    number: Decimal | None
    body: bytes


def read(body: bytes, titles: tuple[str, ...], number: Decimal | None = None) -> tuple[Found, ...]:
    return tuple(Found(title, number, body) for title in titles)


def say(text: str) -> str:
    return text


def say_pid() -> int:
    return os.getpid()


def spin() -> None:
    while True:
        pass


def sleep(seconds: float) -> None:
    time.sleep(seconds)


def bloat() -> int:
    return len(bytearray(4 * 1024**3))


def crash() -> None:
    ctypes.string_at(0)


def leave() -> None:
    os._exit(3)


def stumble() -> None:
    raise KeyError("no such field")


def complain() -> None:
    raise ShapeChanged("The list has no titles any more.")


def chatter() -> str:
    print("noise on standard output")  # noqa: T201 - the very thing this is about
    os.write(1, b"more noise")
    return "quiet"


def write_a_file(path: str) -> None:
    with open(path, "w", encoding="utf-8") as file:  # noqa: PTH123 - as a foreign library would
        file.write("x" * 100_000)


def shout(size: int) -> str:
    return "x" * size


def tell_environment() -> dict[str, str]:
    return dict(os.environ)
