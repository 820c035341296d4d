"""From the text of a variable to a value: one `SettingType` for each kind of setting. Pure."""

import re
from collections.abc import Callable
from functools import partial
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

import msgspec

from tsuzuki.files.address import read_address
from tsuzuki.model.times import DAY, HOUR, MINUTE, SECOND, Millis

Network = IPv4Network | IPv6Network

LONGEST = Millis(3650 * DAY)
_DURATION = re.compile(r"(\d{1,12})([smhd]?)")
_SIZE = re.compile(r"(\d{1,15})([KMGT]?)(?:I?B)?", re.ASCII)
MOST_BYTES = 1024**5
_UNITS = {"": SECOND, "s": SECOND, "m": MINUTE, "h": HOUR, "d": DAY}
_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})


class SettingType(msgspec.Struct, frozen=True):
    """A sort of value: `read` raises ValueError for a text that is none; `takes` says what would be one."""

    takes: str
    read: Callable[[str], Any]
    unset: Any = None
    """What a variable without a text and without a default means."""


def _switch(text: str) -> bool:
    word = text.lower()
    if word in _TRUE:
        return True
    if word in _FALSE:
        return False
    raise ValueError(text)


SWITCH = SettingType("on or off", _switch)
TEXT = SettingType("text", str)
FOLDER = SettingType("the path of a folder", str)
PATH = SettingType("the path of a folder", lambda text: Path(text).expanduser().absolute())


def number(lowest: int, highest: int) -> SettingType:
    """A whole number within bounds."""

    def read(text: str) -> int:
        if not re.fullmatch(r"\d{1,12}", text, re.ASCII) or not lowest <= int(text) <= highest:
            raise ValueError(text)
        return int(text)

    return SettingType(f"a whole number from {lowest} to {highest}", read)


PORT = SettingType("a port from 1 to 65535, or 0 for any free one", number(0, 65535).read)


def duration(lowest: Millis) -> SettingType:
    """Seconds, or a number with its unit; in milliseconds."""

    def read(text: str) -> Millis:
        match = _DURATION.fullmatch(text.lower())
        if match is None:
            raise ValueError(text)
        length = Millis(int(match[1]) * _UNITS[match[2]])
        if not lowest <= length <= LONGEST:
            raise ValueError(text)
        return length

    least = "" if lowest == 0 else f", at least {lowest // SECOND} s"
    return SettingType(f"a number of seconds, or one with a unit such as 30s, 15m, 48h, 2d{least}", read)


def span(lowest: Millis) -> SettingType:
    """How long something is kept: a duration, or 0 for ever."""
    usual = duration(lowest)

    def read(text: str) -> Millis:
        length: Millis = duration(Millis(0)).read(text)
        return length if length == 0 else usual.read(text)

    days = lowest // DAY
    return SettingType(
        f"a number of days such as 90d or 365d, at least {days} day{'s' if days > 1 else ''}, or 0 for ever", read
    )


def _hours(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d{1,2})-(\d{1,2})", text, re.ASCII)
    if match is None or int(match[1]) > 23 or int(match[2]) > 24 or int(match[1]) == int(match[2]):
        raise ValueError(text)
    return int(match[1]), int(match[2])


HOURS = SettingType("two hours of the day such as 2-6 or 22-4, or 0-24 for always", _hours)


def size(lowest: int) -> SettingType:
    """Bytes, or a number with its unit."""

    def read(text: str) -> int:
        match = _SIZE.fullmatch(text.upper())
        if match is None:
            raise ValueError(text)
        length: int = int(match[1]) * 1024 ** " KMGT".index(match[2] or " ")
        if not lowest <= length <= MOST_BYTES:
            raise ValueError(text)
        return length

    return SettingType(
        f"a number of bytes, or one with K, M, G or T such as 500M or 2G, at least {lowest // 1024**2}M", read
    )


def one_of(*words: str) -> SettingType:
    """One of a few words, in any case."""

    def read(text: str) -> str:
        if text.lower() not in words:
            raise ValueError(text)
        return text.lower()

    return SettingType(", ".join(words[:-1]) + f" or {words[-1]}", read)


def list_of(kind: SettingType, takes: str) -> SettingType:
    """Several values with commas between them."""

    def read(text: str) -> tuple[Any, ...]:
        return tuple(kind.read(part.strip()) for part in text.split(",") if part.strip())

    return SettingType(takes, read, unset=())


def _secret_key(text: str) -> str:
    if len(text) < 32 or any(letter.isspace() for letter in text):
        raise ValueError(text)
    return text


SECRET_KEYS = list_of(
    SettingType("", _secret_key), "at least 32 characters without spaces; several keys are separated by commas"
)


NETWORKS = list_of(
    SettingType("", partial(ip_network, strict=False)),
    "addresses or networks separated by commas, such as 127.0.0.0/8, ::1",
)


def address(*schemes: str, takes: str, host: bool = True) -> SettingType:
    """A URL with one of these schemes and, unless told otherwise, a host."""

    def read(text: str) -> str:
        parts = _split(text)
        if parts.scheme not in schemes or (host and not parts.hostname):
            raise ValueError(text)
        return text

    return SettingType(takes, read)


def _split(text: str) -> SplitResult:
    if any(letter.isspace() or not letter.isprintable() for letter in text):
        raise ValueError(text)
    parts = urlsplit(text)
    _ = parts.port  # reading it is what checks it
    return parts


HTTP_URL = address("http", "https", takes="an address such as https://example.org/path")
CONTACT = SettingType(
    "an address such as https://example.org/about or mailto:me@example.org",
    address("http", "https", "mailto", takes="", host=False).read,
)
REDIS_URL = address("redis", "rediss", takes="an address such as redis://127.0.0.1:6379/0")


def _postgres(text: str) -> str:
    parts = _split(text)
    if parts.scheme not in {"postgresql", "postgres"} or not parts.hostname:
        raise ValueError(text)
    return text


POSTGRES_URL = SettingType("postgresql://user:password@host/database", _postgres)


def _database(text: str) -> str:
    if text.startswith("sqlite:///") and text.strip("/") != "sqlite:" and ":memory:" not in text and "\0" not in text:
        return text
    return _postgres(text)


DATABASE_URL = SettingType(
    "sqlite:///file (in the data folder), sqlite:////absolute/file or postgresql://user:password@host/database",
    _database,
)


def _files(text: str) -> str:
    _split(text)
    read_address(text)
    return text


FILES_URL = SettingType(
    "s3://bucket/prefix or s3://key:secret@bucket/prefix with %2F for a slash in the secret, if needed followed by "
    "?endpoint=https://host, region=name, style=path or virtual, joined by &",
    _files,
)


def _origin(text: str) -> str:
    parts = _split(text)
    if parts.scheme not in {"http", "https"} or not parts.hostname or text != f"{parts.scheme}://{parts.netloc}":
        raise ValueError(text)
    if parts.username is not None or parts.netloc != parts.netloc.lower():
        raise ValueError(text)
    return text


ORIGIN = SettingType(
    "the address of a server, without a path, such as https://reader.example.org",
    lambda text: _origin(text.removesuffix("/")),
)
ORIGINS = list_of(SettingType("", _origin), "origins separated by commas, such as https://reader.example.org")
