"""Dates as feeds write them (R30, REL-30). A date that names no moment is None; the caller keeps the raw text."""

import re
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from tsuzuki.model.times import Millis, bounded, from_datetime

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "jan january januar janvier janv enero ene gennaio gen janeiro januari",
            "feb february februar février fevrier févr febrero febbraio fevereiro fev februari",
            "mar march märz mär maerz mars marzo março marco maart mrt",
            "apr april avril avr abril abr aprile",
            "may mai mayo maggio mag maio mei",
            "jun june juni juin junio giugno giu junho",
            "jul july juli juillet juil julio luglio lug julho",
            "aug august août aout agosto ago augustus",
            "sep sept september septembre septiembre settembre set setembro",
            "oct october oktober okt octobre octubre ottobre ott outubro out",
            "nov november novembre noviembre novembro",
            "dec december dezember dez décembre decembre déc diciembre dic dicembre dezembro",
        ),
        start=1,
    )
    for name in names.split()
}
_ZONES = {
    "UT": 0, "UTC": 0, "GMT": 0, "Z": 0, "WET": 0, "WEST": 60, "BST": 60, "CET": 60, "MET": 60, "MEZ": 60,
    "CEST": 120, "MEST": 120, "MESZ": 120, "EET": 120, "EEST": 180, "MSK": 180, "IST": 330, "HKT": 480, "SGT": 480,
    "AWST": 480, "JST": 540, "KST": 540, "AEST": 600, "AEDT": 660, "NZST": 720, "NZDT": 780, "AST": -240,
    "ADT": -180, "EST": -300, "EDT": -240, "ET": -300, "CST": -360, "CDT": -300, "CT": -360, "MST": -420,
    "MDT": -360, "MT": -420, "PST": -480, "PDT": -420, "PT": -480, "AKST": -540, "AKDT": -480, "HST": -600,
}  # fmt: skip
"""Minutes east of Greenwich. A name we do not know counts as UTC."""

_ISO = re.compile(
    r"(\d{4})(?:([-/.])(\d\d?)(?:\2(\d\d?))?|(\d\d)(\d\d))?"
    r"(?:[Tt\s]\s*(\d{1,2}):?(\d\d)(?::?(\d\d)(?:[.,](\d{1,9}))?)?(?:\s*([AaPp])\.?\s?[Mm]\b\.?)?)?"
    r"\s*((?:[A-Za-z(\[]|[+-]\d).*)?",
)
_CJK = re.compile(
    r"(\d{4})\s*[年년]\s*(\d{1,2})\s*[月월]\s*(\d{1,2})\s*[日일]?(?:\s*(\d{1,2}):(\d\d)(?::(\d\d))?)?\s*(.*)"
)
_DAY_FIRST = re.compile(r"(\d{1,2})(?:st|nd|rd|th|\.)?[\s-]+([^\W\d_]+)\.?,?[\s-]+(\d{2,4})\b(.*)")
_MONTH_FIRST = re.compile(r"([^\W\d_]+)\.?\s+(\d{1,2})(?:st|nd|rd|th)?,?\s+(\d{4})\b(.*)")
_YEAR_LAST = re.compile(
    r"([^\W\d_]+)\s+(\d{1,2})\s+(\d{1,2}:\d\d(?::\d\d)?(?:\s+[A-Za-z+-][\w/+:.-]{0,60}){0,2})\s+(\d{4})"
)
_NUMBERS = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4}|\d\d)(?!\d)(.*)")
_WEEKDAY = re.compile(r"(?<![^\W\d_])[^\W\d_]++\.?(?:\s*,\s*|\s+(?=\d)|\s+(?=[^\W\d_]+\.?\s+\d))")
_CLOCK = re.compile(
    r"[\sTt,-]*(?:at\s+)?(\d{1,2})[:.h](\d\d)(?:[:.](\d\d)(?:[.,]\d+)?)?\s*(?:([AaPp])\.?\s?[Mm]\b\.?)?\s*(.*)"
)
_OFFSET = re.compile(r"(?:(?:GMT|UTC|UT)\s*)?([+-])(\d{1,2}):?(\d\d)?\b")
_ZONE_NAME = re.compile(r"[A-Za-z][\w/+-]{0,60}", re.ASCII)
_USUAL = re.compile(
    r"(?:[A-Z][a-z]{2}, )?(\d\d?) ([A-Z][a-z]{2}) (\d{4}) "
    r"([01]\d|2[0-3]):([0-5]\d):([0-5]\d) (?:([+-])(\d\d)(\d\d)|GMT|UTC)"
)
"""What nearly every RSS feed writes, read without detours."""
_STRICT_ISO = re.compile(r"\d{4}-\d\d-\d\dT(?:[01]\d|2[0-3]):\d\d:[0-5]\d(?:\.\d{3,6})?(?:Z|[+-]\d\d:\d\d)")
_EPOCH = re.compile(r"\d{10}(?:\d{3})?")
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_MAX = 120


def moment_of(raw: str | None) -> Millis | None:
    """The moment a date text names, without a zone taken as UTC; None when there is no such moment."""
    text = " ".join(raw[:_MAX].split()) if raw else ""
    if not text:
        return None
    try:
        if usual := _USUAL.fullmatch(text):
            return _usual(usual)
        if _EPOCH.fullmatch(text):
            return Millis(int(text) if len(text) == len("1234567890123") else int(text) * 1000)
        if _STRICT_ISO.fullmatch(text):
            return from_datetime(datetime.fromisoformat(text))
        return _iso(text) if _is_year_first(text) else _worded(text)
    except (ValueError, OverflowError):
        return None


def _is_year_first(text: str) -> bool:
    return len(text) > 3 and text[:4].isascii() and text[:4].isdigit()


def _usual(found: re.Match[str]) -> Millis | None:
    day, month, year, hour, minute, second, sign, east_hours, east_minutes = found.groups()
    number = _MONTHS.get(month.lower())
    if number is None:
        return None
    days = date(int(year), number, int(day)).toordinal() - _EPOCH_DAY
    seconds = ((days * 24 + int(hour)) * 60 + int(minute)) * 60 + int(second)
    east = (int(east_hours) * 60 + int(east_minutes)) * 60 if sign else 0
    return bounded((seconds + east if sign == "-" else seconds - east) * 1000)


def _iso(text: str) -> Millis | None:
    if found := _CJK.fullmatch(text):
        year, month, day, hour, minute, second, zone = found.groups()
        fraction = half = None
    elif found := _ISO.fullmatch(text):
        year, _, month, day, month_2, day_2, hour, minute, second, fraction, half, zone = found.groups()
        month, day = month or month_2, day or day_2
        if zone and zone[0] in "+-" and not day:
            return None  # the day of a year, as in 2024-045, is no zone
    else:
        return None
    moment = _local(int(year), int(month or 1), int(day or 1), clock=(_of_day(hour, half), minute, second))
    milliseconds = int((fraction or "0")[:3].ljust(3, "0"))
    return Millis(from_datetime(moment.replace(tzinfo=_zone(zone or ""))) + milliseconds)


def _worded(text: str) -> Millis | None:
    for candidate in (text, _WEEKDAY.sub("", text, count=1)):
        if _is_year_first(candidate):
            return _iso(candidate)
        if found := _NUMBERS.fullmatch(candidate):
            return _numbered(found)
        if found := _DAY_FIRST.fullmatch(candidate):
            day, month, year, rest = found.groups()
        elif found := _YEAR_LAST.fullmatch(candidate):
            month, day, rest, year = found.groups()
        elif found := _MONTH_FIRST.fullmatch(candidate):
            month, day, year, rest = found.groups()
        else:
            continue
        number = _MONTHS.get(month.lower())
        if number is not None:
            return _dated(year, number, day=int(day), rest=rest)
    return None


def _numbered(found: re.Match[str]) -> Millis:
    """`22.11.2022` begins with the day, as `22/11/2022` must; any other with slashes is American."""
    first, sign, second, year, rest = found.groups()
    is_american = sign == "/" and int(first) <= 12
    day, month = (second, first) if is_american else (first, second)
    return _dated(year, int(month), day=int(day), rest=rest)


def _dated(year: str, month: int, *, day: int, rest: str) -> Millis:
    found = _CLOCK.fullmatch(rest)
    hour, minute, second, half, zone = found.groups() if found else (None, None, None, None, rest)
    # RFC 2822 4.3 says which century a short year is of.
    century = 0 if len(year) > 3 else 2000 if len(year) == 2 and int(year) < 50 else 1900
    moment = _local(century + int(year), month, day, clock=(_of_day(hour, half), minute, second))
    return from_datetime(moment.replace(tzinfo=_zone(zone)))


def _of_day(hour: str | None, half: str | None) -> str | None:
    """`4` of the second half as `16`."""
    return str(int(hour or 0) % 12 + (12 if half.lower() == "p" else 0)) if half else hour


def _local(year: int, month: int, day: int, *, clock: tuple[str | None, str | None, str | None]) -> datetime:
    hour, minute, second = (int(part or 0) for part in clock)
    carry = timedelta(days=1) if (hour, minute, second) == (24, 0, 0) else timedelta()
    # A leap second is no moment of ours; the one before it is.
    return datetime(year, month, day, 0 if carry else hour, minute, 59 if second == 60 else second, tzinfo=UTC) + carry


def _zone(text: str) -> tzinfo:
    text = text.strip()
    if offset := _OFFSET.match(text):
        sign, hours, minutes = offset.groups()
        east = int(hours) * 60 + int(minutes or 0)
        return timezone(timedelta(minutes=-east if sign == "-" else east))
    found = _ZONE_NAME.match(text.lstrip("([ "))
    if found is None:
        return UTC
    name = found.group().upper()
    if name not in _ZONES and name in _places():
        return ZoneInfo(_places()[name])
    # `EST/EDT` and `JST-9` begin with what they mean.
    return timezone(timedelta(minutes=_ZONES.get(re.split(r"[^A-Z]", name, maxsplit=1)[0], 0)))


@cache
def _places() -> dict[str, str]:
    """`America/Los_Angeles`, `Etc/GMT+5`, `EST5EDT` and all others, by their names in capitals."""
    return {name.upper(): name for name in available_timezones() - {"localtime"}}
