"""From bytes to a harvest: the fast reader first, the lenient one for what it cannot read. Pure."""

import msgspec

from tsuzuki.connectors.feed.assemble import assemble
from tsuzuki.connectors.feed.channels import read_document
from tsuzuki.connectors.feed.document import (
    NeedsLenientReader,
    check_bytes,
    check_shape,
    decode,
    parse_tree,
    root_text,
    without_forbidden,
)
from tsuzuki.connectors.feed.identity import with_other_keys
from tsuzuki.connectors.feed.jsonfeed import looks_like_json, read_json
from tsuzuki.connectors.feed.lenient import read_leniently
from tsuzuki.connectors.feed.raw import RawFeed
from tsuzuki.connectors.feed.repairs import balanced, with_sound_references
from tsuzuki.connectors.html.lexbor import LIBRARIES
from tsuzuki.model.errors import NotAFeed
from tsuzuki.model.harvest import FeedHarvest, with_hash

FOR_PARSERS = LIBRARIES


def parse_fast(body: bytes, url: str, charset: str | None = None, *, known: bytes = b"") -> FeedHarvest | None:
    """The harvest of a sound document; None when the forgiving reader should look at it.

    Raises NotAFeed and TooLarge, both of which the forgiving reader could not better.
    """
    raw = read_fast(body, url, charset)
    return None if raw is None else assemble(raw, known)


def read_fast(body: bytes, url: str, charset: str | None = None) -> RawFeed | None:
    """`parse_fast` before identities, moments and sanitising."""
    check_bytes(body)
    text = decode(body, charset)
    if looks_like_json(text):
        return read_json(text, url)
    try:
        return _read(root_text(text), url)
    except NeedsLenientReader:
        return None


def parse_leniently(body: bytes, url: str, charset: str | None = None, *, known: bytes = b"") -> FeedHarvest:
    """The harvest of a document that is not well-formed; NotAFeed when there is nothing to find."""
    check_bytes(body)
    text = without_forbidden(root_text(decode(body, charset)))
    check_shape(text)
    raw = read_repaired(with_sound_references(text), url)
    if raw is None:
        raise NotAFeed("The answer looks like a feed but is too damaged to be read.")
    return assemble(raw, known)


def read_repaired(text: str, url: str) -> RawFeed | None:
    """By the same reader as a sound document, so that it says the same (R31); by feedparser where that finds nothing.

    A bare `&` is the most frequent damage by far: without it the document is sound.
    """
    try:
        return _read(text, url)
    except NeedsLenientReader:
        text = balanced(text)
    try:
        raw = _read(text, url, recover=True)
    except NeedsLenientReader:
        return read_leniently(text, url)
    return raw if raw.items else read_leniently(text, url) or raw


def _read(text: str, url: str, *, recover: bool = False) -> RawFeed:
    return read_document(parse_tree(text, recover=recover), url, has_bases="xml:base" in text)


def parse_anyhow(body: bytes, url: str, charset: str | None = None, known: bytes | None = b"") -> FeedHarvest:
    """The fast reader, then the forgiving one; without the entries whose digests are known.

    None where several had the same key before (R93): then none is known, and each has what else it may be stored as.
    """
    digests = known or b""
    harvest = parse_fast(body, url, charset, known=digests) or parse_leniently(body, url, charset, known=digests)
    if known is None:
        items = map(with_hash, map(with_other_keys, harvest.items))
        return msgspec.structs.replace(harvest, items=tuple(items), digests=b"")
    return msgspec.structs.replace(harvest, items=tuple(map(with_hash, harvest.items)))
