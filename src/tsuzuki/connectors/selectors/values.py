"""From the texts that expressions found to the values a definition wants."""

from collections.abc import Mapping

from tsuzuki.connectors.selectors.addresses import fill
from tsuzuki.connectors.selectors.dates import read_date
from tsuzuki.connectors.selectors.definition import STATUS_CODES, DatePick, Pick, StatusPick
from tsuzuki.connectors.selectors.extracting import Texts
from tsuzuki.connectors.selectors.patterns import first_match
from tsuzuki.model.times import Millis

Row = Mapping[str, Texts]


def many(row: Row, name: str, pick: Pick | None) -> tuple[str, ...]:
    """All values, each once; the default where there is none."""
    if pick is None:
        return ()
    raw = _joined(row[name], pick.join) if pick.join is not None else next((found for found in row[name] if found), ())
    values = tuple(dict.fromkeys(made for text in raw if (made := _made(text, pick))))
    return values or ((pick.default,) if pick.default else ())


def one(row: Row, name: str, pick: Pick | None) -> str | None:
    """The first value, or None."""
    return next(iter(many(row, name, pick)), None)


def date(row: Row, name: str, pick: DatePick | None, *, now: Millis) -> Millis | None:
    """The moment, or None where there is no date or none that can be read."""
    text = one(row, name, pick)
    return read_date(text, pick.format, now) if text and pick else None


def status(row: Row, name: str, pick: StatusPick | None) -> int:
    """R10's code for the site's word; 0 where it says nothing we know."""
    word = (one(row, name, pick) or "").strip().casefold()
    ours = {theirs.casefold(): known for theirs, known in pick.map.items()} if pick else {}
    return STATUS_CODES.get(ours.get(word, word), 0)


def is_there(row: Row, name: str, pick: Pick | None) -> bool:
    """Whether it found anything that does not mean no."""
    text = one(row, name, pick)
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
