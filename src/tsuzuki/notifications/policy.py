"""Messages of notifications in words, and how long a failing channel is paused. Pure."""

from typing import Final

from tsuzuki.model.times import DAY, MINUTE, Millis, iso
from tsuzuki.model.titles import beside_number
from tsuzuki.notifications.tasks import Message, Notice

FAILURES: Final = 5
"""In a row, until the channel's breaker opens."""

LONGEST_REST: Final = Millis(10 * MINUTE)
PROBE: Final = Millis(MINUTE)
"""How long the one that tries a resting channel has for it before another may."""

NEWS_UNTIL: Final = Millis(DAY)
"""A notice that could not be sent for so long is no news any more: a dead letter."""


def breaker_pause(failures: int) -> Millis | None:
    """How long to leave a channel alone after so many failures in a row; None while it is tried as usual."""
    if failures < FAILURES:
        return None
    # The exponent is clamped: a count from a row may be anything.
    return Millis(min(MINUTE * 2 ** min(failures - FAILURES, 20), LONGEST_REST))


def is_stale(told_of_at: Millis, until: Millis) -> bool:
    """Whether a notice that waits until then is given up."""
    return until - told_of_at > NEWS_UNTIL


FEEDS = "/feeds"
"""Where every source of a shelf says how it fares."""


def news(notice: Notice, *, name: str, title: str, url: str | None, number: str | None) -> Message:
    """One new installment, or that there are many."""
    if notice.installment_id is None:
        what = "items" if notice.kind == "item" else "chapters"
        text = f"{notice.count:,} new {what}"
        return Message(
            type="items.new" if notice.kind == "item" else "chapters.new",
            title=name,
            text=text,
            url=url,
            count=notice.count,
            at=notice.at,
        )
    if notice.kind == "item":
        return Message(
            type="item.new", title=name, text=title or f"New on {iso(notice.at)[:10]}", url=url, at=notice.at
        )
    return Message(type="chapter.new", title=name, text=_chapter(number, title), url=url, number=number, at=notice.at)


def broken(name: str, reason: str, at: Millis) -> Message:
    """That a source does not answer any more."""
    return Message(type="source.broken", title=name, text=f"It can no longer be read: {reason}", page=FEEDS, at=at)


def healed(name: str, at: Millis) -> Message:
    """That it answers again."""
    return Message(type="source.healed", title=name, text="It can be read again.", page=FEEDS, at=at)


def trial(at: Millis) -> Message:
    """That a channel works."""
    return Message(type="channel.test", title="Tsuzuki", text="This channel works.", at=at)


def _chapter(number: str | None, title: str) -> str:
    if number is None:
        return title or "A new chapter"
    remainder = beside_number(title, number)
    return f"Chapter {number}: {remainder}" if remainder else f"Chapter {number}"
