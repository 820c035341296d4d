"""From the texts that expressions found to the values a definition wants."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from urllib.parse import quote, urlencode, urljoin, urlsplit

import msgspec

from tsuzuki.connectors.chapter_names import read_name, without_restarts
from tsuzuki.connectors.feed.dates import moment_of
from tsuzuki.connectors.html.addresses import http_url, parts_of, path_of
from tsuzuki.connectors.selectors.definition import (
    STATUS_CODES,
    DatePick,
    Definition,
    Pick,
    SeriesStep,
    StatusPick,
    first_match,
)
from tsuzuki.connectors.selectors.extraction import Extract, Texts
from tsuzuki.model.errors import Invalid, ShapeChanged
from tsuzuki.model.harvest import FoundChapter, FoundSeries
from tsuzuki.model.numbers import parse_number
from tsuzuki.model.times import DAY, HOUR, MINUTE, SECOND, Millis, from_datetime

_VARIABLE = re.compile(r"\{([^{}]*)\}")


def own_hosts(definition: Definition) -> frozenset[str]:
    """`host` or `host:port`, as addresses write them."""
    return frozenset({urlsplit(definition.base_url).netloc.lower(), *(host.lower() for host in definition.hosts)})


def template_problem(template: str, known: tuple[str, ...], hosts: frozenset[str]) -> str | None:
    """Why this template cannot be an address of the source; None when it can."""
    for variable in _VARIABLE.findall(template):
        if variable not in known:
            names = ", ".join(f"{{{name}}}" for name in known)
            return f"{{{variable[:40]}}} is unknown: {names or 'no variable'} can be used."
    if "{" in _VARIABLE.sub("", template) or "}" in _VARIABLE.sub("", template):
        return "A single { or } is not allowed in an address."
    if "{url}" in template[1:]:
        return "{url} is a whole address and can stand only at the beginning."
    start = template.partition("{")[0]
    if template.startswith("{url}") or (start.startswith("/") and not start.startswith("//")):
        return None
    parts = parts_of(start)
    if parts is None or parts.scheme not in {"http", "https"} or parts.netloc.lower() not in hosts or not parts.path:
        return f"An address must begin with / or with http(s):// and a host of this source: {', '.join(sorted(hosts))}."
    return None


def fill(template: str, values: Mapping[str, str]) -> str:
    """The template with its variables; all but {url} are escaped, so that they stay within their place."""

    def filled(found: re.Match[str]) -> str:
        value = values.get(found[1], "")
        return value if found[1] == "url" else quote(value, safe="")

    return _VARIABLE.sub(filled, template)


def own_address(definition: Definition, text: str, base: str | None = None) -> str | None:
    """The absolute address, when it is on a host of this source; else None."""
    address = http_url(text, base or definition.base_url)
    if address is None or "@" in urlsplit(address).netloc:
        return None
    return address if urlsplit(address).netloc.lower() in own_hosts(definition) else None


def address_to_call(definition: Definition, template: str, values: Mapping[str, str]) -> str:
    """Where a step asks; `Invalid` for what would lead away from the source's hosts."""
    address = own_address(definition, fill(template, values))
    if address is None:
        raise Invalid(f"{values.get('url', template)[:200]!r} is not an address of {definition.name}.")
    return address


def series_values(definition: Definition, url: str) -> dict[str, str]:
    """The variables for a series or chapter by its address: `{url}` itself, and `{id}`, the last part of its path."""
    absolute = urljoin(definition.base_url, url) if parts_of(url) else url
    path = urlsplit(absolute).path if parts_of(absolute) else ""
    return {"url": url, "id": path.rstrip("/").rpartition("/")[2], "language": definition.language}


def with_query(address: str, parameters: list[tuple[str, str]]) -> str:
    """The address with more parameters at its end."""
    if not parameters:
        return address
    return f"{address}{'&' if '?' in address else '?'}{urlencode(parameters)}"


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
        return f"Expected {', '.join(NAMED)} or a format such as %d/%m/%Y."
    try:
        datetime.strptime("", form)  # noqa: DTZ007  # only whether the form itself is understood
    except ValueError as error:
        return f"Not a date format: {error}." if "does not match format" not in str(error) else None
    except (re.error, IndexError, KeyError) as error:
        return f"Not a date format: {error}."
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


Row = Mapping[str, Texts]


def many(row: Row, name: str, pick: Pick | None) -> tuple[str, ...]:
    """All values, each once; the default where there is none."""
    if pick is None:
        return ()
    raw = _joined(row[name], pick.join) if pick.join is not None else next((found for found in row[name] if found), ())
    values = tuple(dict.fromkeys(made for text in raw if (made := _made(text, pick))))
    return values or ((pick.default,) if pick.default else ())


def text_of(row: Row, name: str, pick: Pick | None) -> str | None:
    """The first value, or None."""
    return next(iter(many(row, name, pick)), None)


def date_of(row: Row, name: str, pick: DatePick | None, *, now: Millis) -> Millis | None:
    """The moment, or None where there is no date or none that can be read."""
    text = text_of(row, name, pick)
    return read_date(text, pick.format, now) if text and pick else None


def status(row: Row, name: str, pick: StatusPick | None) -> int:
    """R10's code for the site's word; 0 where it says nothing we know."""
    word = (text_of(row, name, pick) or "").strip().casefold()
    ours = {theirs.casefold(): known for theirs, known in pick.map.items()} if pick else {}
    return STATUS_CODES.get(ours.get(word, word), 0)


def is_there(row: Row, name: str, pick: Pick | None) -> bool:
    """Whether it found anything that does not mean no."""
    text = text_of(row, name, pick)
    return text is not None and text.strip().lower() not in {"", "0", "false", "null"}


def _joined(texts: Texts, by: str) -> tuple[str, ...]:
    """One text of the first that each expression found; none unless all did."""
    return (by.join(found[0] for found in texts),) if texts and all(texts) else ()


def _made(text: str, pick: Pick) -> str | None:
    if pick.pattern is not None:
        matched = first_match(pick.pattern, text)
        if not matched:
            return None
        text = matched
    for old, new in pick.replace.items():
        text = text.replace(old, new)
    text = text.strip()
    return fill(pick.template, {"value": text}) if pick.template and text else text


class StepAnswer(msgspec.Struct, frozen=True):
    """What a step found, where, and when."""

    found: Extract
    url: str
    received_at: Millis


def read_series(definition: Definition, step: SeriesStep, answer: StepAnswer) -> tuple[FoundSeries, ...]:
    """Each once, by its address without the host unless the site has a key: a site may move.

    Rows without a title, or that lead away from the source, are no series.
    """
    found: dict[str, FoundSeries] = {}
    for row in answer.found.rows:
        link, title = text_of(row, "link", step.link), text_of(row, "title", step.title)
        url = own_address(definition, link, answer.url) if link else None
        if url is None or title is None or url in found:
            continue
        cover = http_url(text_of(row, "cover", step.cover), answer.url)
        key = text_of(row, "key", step.key) or path_of(url)
        found[url] = FoundSeries(key=key, url=url, title=title, cover_url=cover)
    return tuple(found.values())


def read_chapters(definition: Definition, answers: list[StepAnswer]) -> tuple[FoundChapter, ...]:
    """Those of all pages of the list, newest first; `ShapeChanged` where rows have no link to the source."""
    step = definition.chapters
    found: dict[str, FoundChapter] = {}
    for answer in answers:
        links = [(row, text_of(row, "link", step.link)) for row in answer.found.rows]
        urls = [(row, own_address(definition, link, answer.url)) for row, link in links if link]
        rows = [_chapter(definition, row, url, now=answer.received_at) for row, url in urls if url]
        if answer.found.rows and not rows:
            raise ShapeChanged(f"{answer.url}: {step.each!r} was found, but no link in it to {hosts_of(definition)}.")
        found.update((chapter.url, chapter) for chapter in rows if chapter.url not in found)
    listed = tuple(found.values())
    return without_restarts(listed if step.order == "newest_first" else listed[::-1])


def hosts_of(definition: Definition) -> str:
    """Where its pages may be, in words."""
    return " or ".join(sorted(own_hosts(definition)))


def _chapter(definition: Definition, row: Row, url: str, *, now: Millis) -> FoundChapter:
    step = definition.chapters
    title = text_of(row, "title", step.title) or ""
    read = read_name(title)
    number = parse_number(text_of(row, "number", step.number)) if step.number else read.number
    volume = parse_number(text_of(row, "volume", step.volume)) if step.volume else read.volume
    language = None if definition.language == "all" else definition.language
    return FoundChapter(
        url=url,
        title=title,
        source_key=text_of(row, "key", step.key),
        number=number,
        volume=volume,
        language=text_of(row, "language", step.language) or language,
        group=text_of(row, "group", step.group),
        published_at=date_of(row, "date", step.date, now=now),
        is_readable=definition.pages is not None,
    )
