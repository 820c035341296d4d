"""Times and numbers as a reader writes them: by the browser's languages, the reader's clock and time zone."""

import datetime as dt
import re
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from tsuzuki.accounts.preferences import Clock
from tsuzuki.model.times import DAY, HOUR, MINUTE, SECOND, Millis, bounded
from tsuzuki.web.texts import gettext as _
from tsuzuki.web.texts import language, ngettext

_TAG = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})*")
_BRITISH = "en_GB"
_FAR = 7 * DAY


class Locale(msgspec.Struct, frozen=True, kw_only=True, cache_hash=True):
    """How numbers, dates and times are written for this reader."""

    is_twelve: bool = False
    writing: str = _BRITISH
    """Whose dates: a locale of the language that the page is in."""
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
        """`12 November 2026`, or `November 12, 2026`. Of a moment, never of a day that was cut in UTC."""
        return self._written(self.day_of(at))

    def moment(self, at: Millis) -> str:
        """`12 November 2026, 14:05`; with the zone while that is not the reader's own."""
        here = self.local(at)
        said = f"{self._written(here.date())}, {self._clock(here)}"
        return said if self.zone else f"{said} UTC"

    def day(self, at: Millis, now: Millis) -> str:
        """`Today`, `Yesterday`, `Thursday, 12 November`; with the year when it is another.

        Of a moment, never of a day that was cut in UTC.
        """
        then, today = self.day_of(at), self.day_of(now)
        if then == today:
            return _("Today")
        if then == today - timedelta(days=1):
            return _("Yesterday")
        return f"{_weekday(then, self.writing)}, {self._written(then, with_year=then.year != today.year)}"

    def ago(self, at: Millis, now: Millis) -> str:
        """`now`, `5 min ago`, `3 h ago`, `2 d ago`, then the date. What lies ahead is said likewise."""
        passed = now - at
        if passed < 0:
            return self._ahead(-passed, at)
        if passed < MINUTE:
            return _("now")
        if passed < HOUR:
            return _("%(count)s min ago", count=passed // MINUTE)
        if passed < DAY:
            return _("%(count)s h ago", count=passed // HOUR)
        return _("%(count)s d ago", count=passed // DAY) if passed < _FAR else self.date(at)

    def _clock(self, here: datetime) -> str:
        if not self.is_twelve:
            return f"{here.hour:02}:{here.minute:02}"
        half = _("am") if here.hour < 12 else _("pm")
        return f"{here.hour % 12 or 12}:{here.minute:02} {half}"

    def _ahead(self, left: int, at: Millis) -> str:
        if left < MINUTE:
            return _("any moment now")
        if left < HOUR:
            return _("in %(count)s min", count=left // MINUTE)
        if left < DAY:
            return _("in %(count)s h", count=left // HOUR)
        return _("in %(count)s d", count=left // DAY) if left < _FAR else self.date(at)

    def _written(self, day: dt.date, *, with_year: bool = True) -> str:
        return _date(day, self.writing, with_year=with_year)

    # -- numbers

    def number(self, count: int) -> str:
        """`12,345` with this reader's mark between the thousands."""
        return f"{count:,}".replace(",", self.separator)

    def ngettext(self, one: str, many: str, count: int, /, **values: object) -> str:
        """The form for this number, with the number as this reader writes it."""
        return ngettext(one, many, count, count=self.number(count), **values)


def locale_of(accept_language: str, *, clock: Clock = "auto", zone: str = "") -> Locale:
    """What the browser's first language, the reader's clock and zone say; words are in the page's language."""
    found = _TAG.match(accept_language.strip())
    is_twelve, separator, own = _habits(found[0].replace("-", "_").lower() if found else _BRITISH)
    spoken = language().tag.replace("-", "_")
    return Locale(
        is_twelve=clock == "12" or (clock == "auto" and is_twelve),
        writing=own if own.partition("_")[0] == spoken else _BRITISH if spoken == "en" else spoken,
        separator=separator,
        zone=zone if is_zone(zone) else "",
    )


@lru_cache(256)
def _habits(tag: str) -> tuple[bool, str, str]:
    """Twelve hours or not, the mark between thousands, and the locale: as CLDR has them, else as British people do."""
    from babel import Locale as Cldr
    from babel import UnknownLocaleError

    try:
        known = Cldr.parse(_BRITISH if tag == "en" else tag)
    except (UnknownLocaleError, ValueError):
        known = Cldr.parse(_BRITISH)
    mark = known.number_symbols["latn"]["group"]
    writing = str(known) if known.language != "en" or known.territory == "US" else _BRITISH
    return "h" in known.time_formats["short"].pattern, "\u202f" if mark.isspace() else mark, writing


@lru_cache(1024)
def _date(day: dt.date, writing: str, *, with_year: bool) -> str:
    from babel.dates import format_date, format_skeleton

    return format_date(day, "long", writing) if with_year else format_skeleton("MMMMd", day, locale=writing)


@lru_cache(512)
def _weekday(day: dt.date, writing: str) -> str:
    from babel.dates import format_date

    return format_date(day, "EEEE", writing)


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
