"""Dates as comic sites write them: in a given form, in any common form, or as "3 hours ago"."""

import re
from datetime import UTC, datetime

from tsuzuki.connectors.feed.dates import moment_of
from tsuzuki.model.times import DAY, HOUR, MINUTE, SECOND, Millis, from_datetime

MAX_DATE = 120
NAMED = ("auto", "relative", "unix", "unix_ms")
_LAST_MOMENT = Millis(253_402_300_799_999)
"""The end of the year 9999."""

_UNITS = {
    "second": SECOND, "sec": SECOND, "s": SECOND,
    "minute": MINUTE, "min": MINUTE, "m": MINUTE,
    "hour": HOUR, "hr": HOUR, "h": HOUR,
    "day": DAY, "d": DAY,
    "week": 7 * DAY, "wk": 7 * DAY, "w": 7 * DAY,
    "month": 30 * DAY, "mo": 30 * DAY,
    "year": 365 * DAY, "yr": 365 * DAY, "y": 365 * DAY,
}  # fmt: skip
_AGO = re.compile(
    rf"(?P<count>\d{{1,4}}|an?|one|last) ?(?P<unit>{'|'.join(sorted(_UNITS, key=len, reverse=True))})s?\.?(?: ago)?"
)
_WORDS = {"now": 0, "just now": 0, "today": 0, "yesterday": DAY}


def date_problem(form: str) -> str | None:
    """Why this form of dates cannot be used; None when it can."""
    if form in NAMED:
        return None
    if "%" not in form:
        return f"Expected {', '.join(NAMED)} or a form such as %d/%m/%Y."
    try:
        datetime.strptime("", form)  # noqa: DTZ007  # only whether the form itself is understood
    except ValueError as error:
        return f"Not a form of dates: {error}." if "does not match format" not in str(error) else None
    except (re.error, IndexError, KeyError) as error:
        return f"Not a form of dates: {error}."
    return None


def read_date(text: str, forms: tuple[str, ...], now: Millis) -> Millis | None:
    """The moment that the text names in the first form that fits, UTC where it has no zone; None when none fits."""
    text = " ".join(text[:MAX_DATE].split())
    return next((moment for form in forms if (moment := _read(text, form, now)) is not None), None)


def _read(text: str, form: str, now: Millis) -> Millis | None:
    match form:
        case "auto":
            relative = relative_date(text, now)
            return moment_of(text) if relative is None else relative
        case "relative":
            return relative_date(text, now)
        case "unix" | "unix_ms":
            return _unix(text, 1000 if form == "unix" else 1)
        case _:
            return _formed(text, form)


def relative_date(text: str, now: Millis) -> Millis | None:
    """`3 hours ago`, `an hour ago`, `2d`, `yesterday`; months count 30 days and years 365."""
    text = text.casefold().strip(" .")
    if text in _WORDS:
        return Millis(now - _WORDS[text])
    found = _AGO.fullmatch(text)
    if found is None:
        return None
    count = int(found["count"]) if found["count"].isdecimal() else 1
    return Millis(now - count * _UNITS[found["unit"]])


def _unix(text: str, factor: int) -> Millis | None:
    digits = text.partition(".")[0]
    if not digits.isascii() or not digits.isdigit() or len(digits) > 15:
        return None
    moment = int(digits) * factor
    return Millis(moment) if moment <= _LAST_MOMENT else None


def _formed(text: str, form: str) -> Millis | None:
    try:
        moment = datetime.strptime(text, form)  # noqa: DTZ007  # a form without a zone means UTC, said below
        return from_datetime(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        return None
