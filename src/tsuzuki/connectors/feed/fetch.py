"""Fetching a feed once: whether it is unchanged, or what it holds."""

import hashlib
from collections.abc import Mapping

import msgspec

from tsuzuki.connectors.feed.parser import parse_anyhow
from tsuzuki.connectors.protocol import Visit
from tsuzuki.model.errors import NotAFeed
from tsuzuki.model.harvest import FeedHarvest
from tsuzuki.model.requests import Ask, Hop, Parse, Reply, Validators

ACCEPT = (
    "application/atom+xml, application/rss+xml, application/feed+json, application/rdf+xml;q=0.9, "
    "application/xml;q=0.8, text/xml;q=0.8, application/json;q=0.7, */*;q=0.1"
)
_PERMANENT = frozenset({301, 308})


class FeedOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What one visit brought. `harvest` is None when the feed is unchanged: a 304, or the same body again (R27)."""

    harvest: FeedHarvest | None
    validators: Validators
    """To be stored as they are; a 304 keeps what it omits (R26)."""
    body_hash: bytes | None
    status: int
    moved_to: str | None = None
    """Where permanent redirects led, when the way there began with them (R29)."""
    headers: Mapping[str, str] = {}
    """The headers of the last answer, for its freshness."""
    retry_after: str | None = None
    """Every Retry-After on the way, redirects included (REL-21)."""


def visit(
    url: str,
    validators: Validators = Validators(),  # noqa: B008 - frozen
    previous_body_hash: bytes | None = None,
    *,
    with_all_keys: bool = False,
    known: bytes = b"",
) -> Visit[FeedOutcome]:
    """Call a feed once. Raises NotAFeed for an answer that is none, such as a captive portal's page.

    `with_all_keys`: it gave several items the same key before (R93). `known` are digests of entries that are stored.
    """
    reply: Reply = yield Ask(url, headers={"Accept": ACCEPT}, validators=validators)
    return (yield from read_outcome(reply, validators, previous_body_hash, with_all_keys=with_all_keys, known=known))


def read_outcome(
    reply: Reply,
    validators: Validators = Validators(),  # noqa: B008 - frozen
    previous_body_hash: bytes | None = None,
    *,
    with_all_keys: bool = False,
    known: bytes = b"",
) -> Visit[FeedOutcome]:
    """What an answer says of the feed that was asked for; NotAFeed where it is none."""
    if reply.status == 304:
        new = reply.validators
        kept = Validators(new.etag or validators.etag, new.last_modified or validators.last_modified, reply.url)
        return _outcome(reply, None, validators=kept, body_hash=previous_body_hash)
    digest = body_hash(reply.body)
    is_same = digest == previous_body_hash
    harvest = None if is_same else (yield from read_reply(reply, with_all_keys=with_all_keys, known=known))
    return _outcome(reply, harvest, validators=reply.validators, body_hash=digest)


def read_reply(reply: Reply, *, with_all_keys: bool = False, known: bytes = b"") -> Visit[FeedHarvest]:
    """The harvest in an answer, without what is known; NotAFeed where there is none."""
    if not reply.body.strip(b"\x00 \t\r\n"):
        raise NotAFeed("The answer is empty.", status=reply.status)
    arguments = (reply.body, reply.url, reply.charset, None if with_all_keys else known)
    harvest: FeedHarvest = yield Parse(parse_anyhow, arguments)
    return harvest


def body_hash(body: bytes) -> bytes:
    """A hash of the body, to recognise it at the next fetch."""
    return hashlib.blake2b(body, digest_size=16).digest()


def moved_to(hops: tuple[Hop, ...]) -> str | None:
    """Where the leading permanent redirects of a visit led; None when the first was a temporary one."""
    target = None
    for hop in hops:
        if hop.status not in _PERMANENT:
            break
        target = hop.url
    return target


def _outcome(
    reply: Reply, harvest: FeedHarvest | None, *, validators: Validators, body_hash: bytes | None
) -> FeedOutcome:
    retries_after = [*(hop.retry_after for hop in reply.hops), reply.headers.get("retry-after")]
    return FeedOutcome(
        harvest=harvest,
        validators=validators,
        body_hash=body_hash,
        status=reply.status,
        moved_to=moved_to(reply.hops),
        headers=reply.headers,
        retry_after=", ".join(filter(None, retries_after)) or None,
    )
