"""What is new in a feed out, what an answer can be compared by, and what the hub grants. Pure."""

import hashlib
import re
from collections.abc import Sequence
from typing import Final

import msgspec

from tsuzuki.inbox.entries import Entry
from tsuzuki.model.times import DAY, MINUTE, SECOND, Millis

USUAL_ENTRIES: Final = 50
MOST_ENTRIES: Final = 200
MOST_FEEDS: Final = 50
"""Feeds out of one person on one shelf."""
MOST_TEXT: Final = 2_000_000
"""Characters of articles in one document: what is longer ends early, so that nobody else waits for it to be made."""

SHORTEST_LEASE: Final = Millis(5 * MINUTE)
USUAL_LEASE: Final = Millis(10 * DAY)
LONGEST_LEASE: Final = Millis(30 * DAY)
PATIENCE: Final = DAY
"""How long a request to subscribe may wait to be confirmed."""
MOST_SUBSCRIBERS: Final = 20
"""Subscribers of one feed out."""
MOST_OF_HOST: Final = 200
"""A tenant's subscriptions with a callback at one host: each is a request to it at every change."""
MOST_FAILURES: Final = 30
"""In a row, after which a subscription ends."""
LONGEST_SECRET: Final = 199
"""Bytes."""
LONGEST_CALLBACK: Final = 2_000

Announced = Sequence[tuple[int, int]]
"""Entries that were pushed to subscribers, each with its last change; the newest first."""

_ETAG = re.compile(r'"[^"]*"')


class Answerable(msgspec.Struct, frozen=True):
    """What a feed reader compares: `etag` exactly, `modified` to the second; None where no time can stand for it."""

    etag: str
    modified: Millis | None


def changed_at(entry: Entry) -> Millis:
    """When the entry came, or its item changed; marks are no change."""
    return max(entry.created_at, entry.updated_at or entry.created_at)


def answerable(rows: Sequence[Entry], *facts: str | int, since: Millis, by_marks: bool, now: Millis) -> Answerable:
    """The validators of an answer with these entries; it also depends on `facts`, which last changed at `since`.

    What is listed `by_marks` changes without anything being newer. A second that is not over may bring something more.
    """
    shown = [
        (row.id, row.updated_at, row.title, row.number, row.published_at, row.feed_name, row.series_title)
        for row in rows
    ]
    digest = hashlib.sha256(msgspec.json.encode((facts, shown))).hexdigest()[:32]
    newest = max((changed_at(row) for row in rows), default=since)
    is_dated = not by_marks and newest // SECOND < now // SECOND
    return Answerable(f'"{digest}"', max(newest, since) if is_dated else None)


def is_unchanged(answer: Answerable, if_none_match: str | None, if_modified_since: Millis | None) -> bool:
    """Whether who asks has it already (RFC 9110, 13.2.2): the first of the two counts where both are said."""
    if if_none_match is not None:
        return if_none_match.strip() == "*" or answer.etag in _ETAG.findall(if_none_match)
    if if_modified_since is None or answer.modified is None:
        return False
    return answer.modified // SECOND <= if_modified_since // SECOND


def news_in(rows: Sequence[Entry], told: Announced) -> tuple[list[Entry], Announced]:
    """The entries that subscribers do not know of, or not as they are now; and what they know of after that."""
    known = dict(told)
    now = {row.id: changed_at(row) for row in rows}
    news = [row for row in rows if known.get(row.id) != now[row.id]]
    kept = [(number, at) for number, at in told if number not in now]
    return news, [*((row.id, now[row.id]) for row in rows), *kept][:MOST_ENTRIES]


def granted_lease(asked: int | None) -> Millis:
    """The granted lease for so many requested seconds."""
    if asked is None:
        return USUAL_LEASE
    return Millis(min(max(asked * SECOND, SHORTEST_LEASE), LONGEST_LEASE))
