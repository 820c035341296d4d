"""Which entries of a document were there before, exactly as they are now: by a digest of all that an item is made of.

What the digest covers is what `assemble` reads: the entry, its key and link, what it has from its feed, and the code
and libraries that make an item of it. So one whose digest is known would become the same item again.
"""

import hashlib
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from importlib.resources import files
from importlib.resources.abc import Traversable

import msgspec

from tsuzuki.connectors.feed.identity import ItemKey
from tsuzuki.connectors.feed.raw import RawFeed

SIZE = 8
"""Bytes of a digest: among ten thousand entries, one change in 10**15 is noticed only when all are compared again."""

_READ_BY = ("tsuzuki.connectors", "tsuzuki.model")
_LIBRARIES = ("lxml", "nh3", "selectolax", "feedparser", "msgspec")


def _sources(folder: Traversable) -> Iterator[bytes]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _sources(entry)
        elif entry.name.endswith(".py"):
            yield entry.read_bytes()


def _rules() -> bytes:
    """A digest of the code that makes items: what another version made of an entry has to be made anew."""
    digest = hashlib.blake2b(" ".join(map(version, _LIBRARIES)).encode(), digest_size=16)
    for package in _READ_BY:
        for source in _sources(files(package)):
            digest.update(source)
    return digest.digest()


RULES = _rules()


def split(joined: bytes) -> frozenset[bytes]:
    """The digests in a row of them."""
    return frozenset(joined[start : start + SIZE] for start in range(0, len(joined), SIZE))


def join(digests: Sequence[bytes]) -> bytes:
    """A row of digests, each once; the same for the same entries in any order."""
    return b"".join(sorted(set(digests)))


def digests_of(
    feed: RawFeed, keys: Sequence[ItemKey], links: Sequence[str | None], limits: tuple[int, int]
) -> list[bytes]:
    """A digest of each entry; none where one entry's key depends on others (R31, R93). `limits` are of its lists."""
    if len({key.key for key in keys}) < len(keys) or any(key.key != key.own or key.former for key in keys):
        return []
    scope = (RULES, feed.kind, feed.url, feed.site_url, feed.authors, limits)
    salt = hashlib.blake2b(msgspec.msgpack.encode(scope), digest_size=32).digest()
    encode = msgspec.msgpack.Encoder().encode
    return [
        hashlib.blake2b(encode((item, key.key, link)), digest_size=SIZE, key=salt).digest()
        for item, key, link in zip(feed.items, keys, links, strict=True)
    ]
