"""Times and numbers as a reader writes them: by the browser's languages, the reader's clock and time zone."""

import datetime as dt
import re
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from tsuzuki.accounts.preferences.nouns import Clock
from tsuzuki.model.times import DAY, HOUR, MINUTE, SECOND, Millis, bounded
from tsuzuki.web.messages import say

_TAG = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})*")
_TWELVE = frozenset({"en-us", "en-ca", "en-au", "en-nz", "en-ph", "en-in", "en-za", "es-mx", "es-co"})
_TWELVE_LANGUAGES = frozenset({"ar", "hi", "bn", "ur", "ko", "fil", "ms"})
_COMMA = frozenset({"en", "ja", "zh", "ko", "th", "he", "hi"})
_DOT = frozenset({"de", "nl", "da", "it", "es", "pt", "id", "tr", "el", "ro"})
_FAR = 7 * DAY
_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)


class Locale(msgspec.Struct, frozen=True, kw_only=True):
    """How this reader writes."""

    is_twelve: bool = False
    month_first: bool = False
    separator: str = ","
    zone: str = ""

    # -- times

    def local(self, at: Millis) -> datetime:
        """The moment on the reader's clock."""
        return datetime.fromtimestamp(bounded(at) // SECOND, _zone(self.zone))

    def day_of(self, at: Millis) -> dt.date:
        """The reader's date at that moment."""
        return self.local(at).date()

    def clock(self, at: Millis) -> str:
        """`14:05`, or `2:05 pm`."""
        return self._clock(self.local(at))

    def date(self, at: Millis) -> str:
        """`12 November 2026`, or `November 12, 2026`."""
        return self._written(self.day_of(at))

    def moment(self, at: Millis) -> str:
        """`12 November 2026, 14:05`; with the zone while that is not the reader's own."""
        here = self.local(at)
        said = f"{self._written(here)}, {self._clock(here)}"
        return said if self.zone else f"{said} UTC"

    def day(self, at: Millis, now: Millis) -> str:
        """`Today`, `Yesterday`, `Thursday, 12 November`; with the year when it is another."""
        then, today = self.day_of(at), self.day_of(now)
        if then == today:
            return say("time.today")
        if then == today - timedelta(days=1):
            return say("time.yesterday")
        return f"{then:%A}, {self._written(then, with_year=then.year != today.year)}"

    def ago(self, at: Millis, now: Millis) -> str:
        """`now`, `5 min ago`, `3 h ago`, `2 d ago`, then the date. What lies ahead is said likewise."""
        passed = now - at
        if passed < 0:
            return self._ahead(-passed, at)
        if passed < MINUTE:
            return say("time.now")
        if passed < HOUR:
            return say("time.minutes", count=passed // MINUTE)
        if passed < DAY:
            return say("time.hours", count=passed // HOUR)
        return say("time.days", count=passed // DAY) if passed < _FAR else self.date(at)

    def _clock(self, here: datetime) -> str:
        if not self.is_twelve:
            return f"{here.hour:02}:{here.minute:02}"
        return f"{here.hour % 12 or 12}:{here.minute:02} {'am' if here.hour < 12 else 'pm'}"

    def _ahead(self, left: int, at: Millis) -> str:
        if left < MINUTE:
            return say("time.soon")
        if left < HOUR:
            return say("time.in_minutes", count=left // MINUTE)
        if left < DAY:
            return say("time.in_hours", count=left // HOUR)
        return say("time.in_days", count=left // DAY) if left < _FAR else self.date(at)

    def _written(self, day: dt.date, *, with_year: bool = True) -> str:
        year = f" {day.year}" if with_year else ""
        month = _MONTHS[day.month - 1]
        if self.month_first:
            return f"{month} {day.day}{',' if year else ''}{year}"
        return f"{day.day} {month}{year}"

    # -- numbers

    def number(self, count: int) -> str:
        """`12,345` with this reader's mark between the thousands."""
        return f"{count:,}".replace(",", self.separator)


def locale_of(accept_language: str, *, clock: Clock = "auto", zone: str = "") -> Locale:
    """What the browser's first language, the reader's clock and zone say."""
    found = _TAG.match(accept_language.strip())
    tag = found[0].lower() if found else "en"
    language = tag.partition("-")[0]
    is_twelve = tag in _TWELVE or language in _TWELVE_LANGUAGES
    return Locale(
        is_twelve=clock == "12" or (clock == "auto" and is_twelve),
        month_first=tag == "en-us",
        separator="," if language in _COMMA else "." if language in _DOT else "\u202f",
        zone=zone if is_zone(zone) else "",
    )


def is_zone(name: str) -> bool:
    """Whether the tz database knows it."""
    return bool(name) and _zone(name) is not UTC


def _zone(name: str) -> tzinfo:
    if not name:
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return UTC
