"""Documents that are not well-formed, made so where it is plain what was meant. Each function takes one pass."""

import re
from collections.abc import Iterator
from html.entities import html5

_REFERENCE = re.compile(r"&(?:(#[0-9]{1,8}|#[xX][0-9A-Fa-f]{1,8}|[A-Za-z][A-Za-z0-9]{1,31});)?")
_PREDEFINED = frozenset({"amp", "lt", "gt", "quot", "apos"})
_ASIDE = {"<![CDATA[": "]]>", "<!--": "-->", "<?": "?>"}
_TOKEN = re.compile(
    r"""<!\[CDATA\[|<!--|<\?|<(/?)([A-Za-z_][\w.:-]*+)((?:[^<>"']|"[^"<]*"|'[^'<]*')*+)>|<""",
)
_ATTRIBUTE = re.compile(r"""(?<![\w.:-])([A-Za-z_][\w.:-]*+)\s*+=\s*+("[^"]*+"|'[^']*+'|[^\s"'<>]++)""")
_NEVER_CLOSED = frozenset({"area", "br", "col", "embed", "hr", "img", "input", "param", "track", "wbr"})
_ENDED_BY_THE_NEXT = frozenset({"item", "entry", "dd", "dt", "li", "option", "p", "td", "th", "tr"})

_ENDS_A_TITLE = frozenset(
    {"author", "category", "comments", "content:encoded", "dc:creator", "dc:date", "description", "enclosure", "guid"}
    | {"id", "link", "pubdate", "published", "summary", "updated"}
)
"""What stands beside a title, never in one: a title that was left open ends before it."""


def with_sound_references(text: str) -> str:
    """Every bare `&` written as one, every character that HTML has a name for written as itself."""
    pieces = []
    for is_aside, piece in _parts(text):
        pieces.append(piece if is_aside or "&" not in piece else _REFERENCE.sub(_sound, piece))
    return "".join(pieces)


def _sound(reference: re.Match[str]) -> str:
    name = reference.group(1)
    if name is None:
        return "&amp;"
    if name[0] == "#":
        return reference.group() if _is_character(name[1:]) else ""
    if name in _PREDEFINED:
        return reference.group()
    meant = html5.get(f"{name};")
    return f"&amp;{name};" if meant is None else "".join(f"&#{ord(sign)};" for sign in meant)


def _is_character(code: str) -> bool:
    number = int(code[1:], 16) if code[0] in "xX" else int(code)
    return number in {9, 10, 13} or 0x20 <= number <= 0xD7FF or 0xE000 <= number <= 0xFFFD or 0xFFFF < number < 0x110000


def _parts(text: str) -> Iterator[tuple[bool, str]]:
    """The document in pieces: those that hold no references (CDATA, comments), and all between them."""
    position = 0
    for start in re.finditer(r"<!\[CDATA\[|<!--", text):
        if start.start() < position:
            continue
        end = text.find(_ASIDE[start.group()], start.end())
        if end < 0 and start.group() == "<!--":
            break
        yield False, text[position : start.start()]
        position = len(text) if end < 0 else end + 3
        yield True, text[start.start() : position]
    yield False, text[position:]


def balanced(text: str) -> str:
    """A document whose tags nest: ends without a beginning are dropped, what was left open is closed.

    An entry within an entry ends the one before it, as a paragraph does. Attributes without quotes get them.
    """
    return "".join(_Balance(text).pieces())


class _Balance:
    def __init__(self, text: str) -> None:
        self._text = text
        self._open: list[str] = []
        self._counts: dict[str, int] = {}
        self._missing: set[str] = set()

    def pieces(self) -> Iterator[str]:
        text, position = self._text, 0
        while token := _TOKEN.search(text, position):
            yield text[position : token.start()].replace("]]>", "]]&gt;")
            position = token.end()
            if token.group(2):
                yield from self._tag(*token.groups())
            elif end := self._end_of(token):
                position = end
                if token.group() == "<![CDATA[":
                    yield text[token.start() : end]
            elif token.group() == "<![CDATA[":  # a text that is cut off
                yield f"{text[token.start() :]}]]>"
                position = len(text)
            else:
                yield f"&lt;{token.group()[1:]}"
        yield text[position:].replace("]]>", "]]&gt;")
        yield from self._close(0)

    def _end_of(self, token: re.Match[str]) -> int:
        """Where something that is no element ends; 0 when it does not, which is found out once."""
        end = _ASIDE.get(token.group(), "")
        found = self._text.find(end, token.end()) if end and end not in self._missing else -1
        if found < 0:
            self._missing.add(end)
            return 0
        return found + len(end)

    def _tag(self, slash: str, name: str, rest: str) -> Iterator[str]:
        lowered = name.lower()
        if slash:
            if self._counts.get(lowered):
                yield from self._close(self._last(lowered))
            return
        if lowered in _ENDED_BY_THE_NEXT and self._counts.get(lowered):
            yield from self._close(self._last(lowered))
        if lowered in _ENDS_A_TITLE and self._open and self._open[-1].lower() == "title":
            yield from self._close(len(self._open) - 1)
        is_empty = rest.endswith("/") or lowered in _NEVER_CLOSED
        yield f"<{name}{_quoted(rest.rstrip('/ '))}{'/' if is_empty else ''}>"
        if not is_empty:
            self._open.append(name)
            self._counts[lowered] = self._counts.get(lowered, 0) + 1

    def _last(self, lowered: str) -> int:
        return next(place for place in reversed(range(len(self._open))) if self._open[place].lower() == lowered)

    def _close(self, down_to: int) -> Iterator[str]:
        while len(self._open) > down_to:
            name = self._open.pop()
            self._counts[name.lower()] -= 1
            yield f"</{name}>"


def _quoted(attributes: str) -> str:
    """The attributes of a tag, each in quotes and once."""
    found: dict[str, str] = {}
    for name, value in _ATTRIBUTE.findall(attributes):
        found.setdefault(name, value if value[0] in "\"'" else f'"{value}"')
    return "".join(f" {name}={value}" for name, value in found.items())
