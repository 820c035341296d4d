"""What the expressions of a step find in an answer, as plain texts. Runs in the parser processes.

An answer is written by strangers: its size, its tags and what is found in it are bounded before anything reads it
(SEC-20).
"""

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from tsuzuki.connectors.feed.document import decode
from tsuzuki.connectors.html.lexbor import LIBRARIES, parse_html
from tsuzuki.connectors.html.tags import is_bomb
from tsuzuki.model.errors import NotAFeed, TooLarge

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

FOR_PARSERS = LIBRARIES

MAX_RESULTS = 20_000
# `name`, `.name`, `['any name']`, `[0]`, `[-1]`, `[*]` and `.*`.
_STEP = re.compile(
    r"\.?(?:(?P<name>[^\W\d][\w-]*)|(?P<all>\*))|\[(?:(?P<index>-?\d{1,6})|(?P<any>\*)|'(?P<quoted>[^']*)')\]"
)

Step = str | int | None
"""A key, an index, or None for all."""


def parse_path(path: str) -> tuple[Step, ...] | None:
    """The steps of a path, `$` and the empty one being the value itself; None when it cannot be read."""
    rest = path.strip().removeprefix("$")
    if rest and rest[0] not in ".[" and path.strip().startswith("$"):
        return None
    steps: list[Step] = []
    position = 0
    while position < len(rest):
        found = _STEP.match(rest, position)
        if found is None or (position and found[0][0] not in ".["):
            return None
        steps.append(_step(found))
        position = found.end()
    return tuple(steps)


def _step(found: re.Match[str]) -> Step:
    if found["index"] is not None:
        return int(found["index"])
    return found["name"] if found["name"] is not None else found["quoted"]


def follow(value: Any, path: str) -> list[Any]:
    """All values at the path, in document order; an empty list where it leads nowhere."""
    reached = [value]
    for step in parse_path(path) or ():
        reached = [inner for outer in reached for inner in _children(outer, step)][:MAX_RESULTS]
    return reached


def _children(value: Any, step: Step) -> list[Any]:
    if isinstance(value, list):
        if step is None:
            return value
        inside = isinstance(step, int) and -len(value) <= step < len(value)
        return [value[step]] if isinstance(step, int) and inside else []
    if isinstance(value, dict):
        if step is None:
            return list(value.values())
        return [value[step]] if step in value else []
    return []


def as_text(value: Any) -> str | None:
    """A scalar as text; None for null, lists and objects. Decimals keep their digits: no float is involved (R2)."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int | Decimal) else None


MAX_BYTES = 4 * 1024 * 1024
MAX_ROWS = 20_000
MAX_VALUES = 500
MAX_TEXT = 20_000

_META_CHARSET = re.compile(rb"""<meta[^>]{0,200}?charset\s{0,9}=\s{0,9}["']?([A-Za-z0-9._:-]{1,40})""", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"@([A-Za-z_][\w:.-]{0,60})\Z")

Texts = tuple[tuple[str, ...], ...]
"""Per expression of a pick, in order, what it found."""


class ExtractionPlan(msgspec.Struct, frozen=True):
    """Which expressions to apply: to each row, and to the whole answer."""

    each: str | None
    row: Mapping[str, tuple[str, ...]]
    whole: Mapping[str, tuple[str, ...]] = {}


class Extract(msgspec.Struct, frozen=True):
    """What was found, by the names of the plan."""

    rows: tuple[Mapping[str, Texts], ...]
    whole: Mapping[str, Texts]


class ExtractionScope(Protocol):
    """A part of an answer that expressions can be applied to."""

    def rows(self, each: str) -> "Iterable[ExtractionScope]": ...
    def texts(self, expression: str) -> Iterable[str]: ...


def extract_html(body: bytes, charset: str | None, plan: ExtractionPlan) -> Extract:
    """`TooLarge` for a page that is a bomb."""
    found = _META_CHARSET.search(body[:2048])  # HTML wants it within the first 1,024 bytes; not all keep to that
    text = decode(body, charset or (found[1].decode("ascii") if found else None))
    if is_bomb(text):
        raise TooLarge("The page has too many tags, is nested too deeply, or has a tag with too many attributes.")
    return _extract(HtmlPlace(parse_html(text).root), plan)


def extract_json(body: bytes, plan: ExtractionPlan) -> Extract:
    """`NotAFeed` for what is not JSON."""
    try:
        value = msgspec.json.Decoder(float_hook=Decimal).decode(body)  # R2: numbers of chapters stay exact
    except (msgspec.DecodeError, RecursionError, ArithmeticError) as error:
        raise NotAFeed(f"The answer is not JSON: {error}.") from error
    return _extract(JsonPlace(value), plan)


def _extract(document: ExtractionScope, plan: ExtractionPlan) -> Extract:
    rows: Iterable[ExtractionScope] = [document] if plan.each is None else islice(document.rows(plan.each), MAX_ROWS)
    found = tuple({name: _texts(row, picks) for name, picks in plan.row.items()} for row in rows)
    return Extract(found, {name: _texts(document, picks) for name, picks in plan.whole.items()})


def _texts(place: ExtractionScope, expressions: tuple[str, ...]) -> Texts:
    return tuple(tuple(text[:MAX_TEXT] for text in islice(place.texts(one), MAX_VALUES)) for one in expressions)


class HtmlPlace:
    """An element. `css@name` is an attribute, `css` the text, `@name` and the empty one are of the element itself."""

    def __init__(self, node: "LexborNode | None") -> None:
        self._node = node

    def rows(self, each: str) -> Iterable["HtmlPlace"]:
        """Every element that matches."""
        return (HtmlPlace(node) for node in self._matching(each))

    def texts(self, expression: str) -> Iterable[str]:
        """What each match says, without those that say nothing."""
        css, attribute = split_expression(expression)
        for node in self._matching(css):
            text = _plain_text(node) if attribute is None else node.attributes.get(attribute)
            if text and text.strip():
                yield text.strip()

    def _matching(self, css: str) -> list["LexborNode"]:
        if self._node is None:
            return []
        return self._node.css(css) if css else [self._node]


def _plain_text(node: "LexborNode") -> str:
    return " ".join(node.text(deep=True, separator=" ").split())


class JsonPlace:
    """A JSON value; expressions are paths."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def rows(self, each: str) -> Iterable["JsonPlace"]:
        """Every value at the path."""
        return (JsonPlace(value) for value in follow(self._value, each))

    def texts(self, expression: str) -> Iterable[str]:
        """Every scalar at the path."""
        return (text for value in follow(self._value, expression) if (text := as_text(value)))


def split_expression(expression: str) -> tuple[str, str | None]:
    """The CSS selector and the attribute of `css@attribute`; the attribute is None for text."""
    found = _ATTRIBUTE.search(expression.strip())
    if found is None:
        return expression.strip(), None
    return expression.strip()[: found.start()].strip(), found[1].lower()


def css_problem(css: str) -> str | None:
    """Why this selector cannot be used; None when it can."""
    from selectolax.lexbor import SelectolaxError

    try:
        parse_html("<p></p>").css(css)
    except SelectolaxError:
        return f"{css!r} is not a CSS selector."
    return None
