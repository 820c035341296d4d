"""Tags as a text has them, read without building a tree: which `<` begin one, and how deep they can nest.

Nothing here makes anything safe: the sanitiser reads what is written here. It keeps parsers from what costs them more
time or memory than the text is long, and keeps text that only looks like a tag (R105). Linear: every step of the scan
begins where the one before ended, and no pattern goes back.
"""

import re
from collections import Counter
from collections.abc import Iterator
from html import escape

import msgspec

from tsuzuki.model.titles import unescaped

_PIECE = re.compile(r"<(/?)([A-Za-z-]++)[^<>]*+>|([^<]++)|<")
_JOINED = {"mfrac": "/", "msup": "^", "msub": "_", "munder": "_", "mover": "^"}
"""What stands between the two parts of an element."""
_BEFORE = {"msqrt": "√"}


def formula_text(markup: str) -> str:
    """The text of a formula on one line. What it says a second time, for programs, is left out."""
    words: list[str] = []
    joints: list[str] = []
    """For each element that is open, what is written before its second part; empty once it is there."""
    is_aside = ""
    for found in _PIECE.finditer(markup):
        closing, name, text = found[1], (found[2] or "").lower(), found[3]
        if is_aside:
            is_aside = "" if closing and name == is_aside else is_aside
        elif text:
            words.append(unescaped(text) if text.strip() else "")
        elif name.startswith("annotation"):
            is_aside = "" if closing else name
        elif closing:
            _close(words, joints)
        elif name and not found[0].endswith("/>"):
            words.append(_BEFORE.get(name, ""))
            joints.append(_JOINED.get(name, ""))
    return " ".join("".join(words).split())


def _close(words: list[str], joints: list[str]) -> None:
    """After its first part, an element's joint is written once."""
    if joints:
        joints.pop()
    if joints and joints[-1]:
        words.append(joints[-1])
        joints[-1] = ""


_BLANK = r"\t\n\f\r "
_TAG = re.compile(rf"<(/?)([A-Za-z][^{_BLANK}/><]*+)")
_NAMES = re.compile(rf"<([A-Za-z][^{_BLANK}/>]*+)")
_VALUE = rf"""[{_BLANK}]*+=[{_BLANK}]*+(?:"[^"]*+"|'[^']*+'|[^{_BLANK}>"'%s][^{_BLANK}>%s]*+)?+"""
_ATTRIBUTE_OF = rf"(?:=[^{_BLANK}/>=%s]*+|[^{_BLANK}/>=%s]++)(?:{_VALUE})?+"
_ATTRIBUTES_OF = rf"(?:[{_BLANK}/]++|{_ATTRIBUTE_OF})*+"
_ATTRIBUTES = re.compile(_ATTRIBUTES_OF % ("<", "<", "<", "<"))
"""What stands between a tag's name and its `>`, as HTML reads it; ends at a `<` that is not within quotes."""
_ALL_ATTRIBUTES = re.compile(_ATTRIBUTES_OF % ("", "", "", ""))
_ATTRIBUTE = re.compile(_ATTRIBUTE_OF % ("", "", "", ""))
_NAME = re.compile(r"[a-z][a-z0-9]*(?:[-:_][a-z0-9]+)*")
_OWN_NAME = re.compile(r"[a-z][a-z0-9]*(?:[-:][a-z0-9]+)+")
_WORD = re.compile(r"[A-Za-z]\w*")
_ODD = re.compile(
    rf"""<(?![A-Za-z]|/[A-Za-z])|<[A-Za-z](?:[^<>"']++|"[^"<>]*+"|'[^'<>]*+')*+(?!>)|<[^<>]{{2000}}|"""
    rf"""<[a-z]++[{_BLANK}]++[^<>"'=/]++>""",
    re.ASCII | re.IGNORECASE,
)
"""What has to be looked at closely: a comment, a tag without its end or a long one, attributes that have no values."""
_OPERATOR = re.compile(r"[^\w\s\"'/=:@.-]")
"""In no name of an attribute, but between the two sides of `a<b && c>d`."""
MOST_ATTRIBUTES = 200
"""Attributes of one tag: parsers take time by the square of their number. A tag with more loses them."""


def _set(names: str) -> frozenset[str]:
    return frozenset(names.split())


NAMES = _set("""
a abbr acronym address applet area article aside audio b base basefont bdi bdo bgsound big blink blockquote body br
button canvas caption center cite code col colgroup data datalist dd del details dfn dialog dir div dl dt em embed
fieldset figcaption figure font footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html i iframe image
img input ins kbd label legend li link main map mark marquee math menu meta meter nav nobr noembed noframes noscript
object ol optgroup option output p param picture plaintext pre progress q rb rp rt rtc ruby s samp script search section
select slot small source span strike strong style sub summary sup svg table tbody td template textarea tfoot th thead
time title tr track tt u ul var video wbr xmp
""")
_LEFT_OUT = _set("canvas noembed noframes plaintext script select style svg template textarea title xmp")
"""Elements that are never shown: they go with what is in them, and no parser sees how they change its rules."""
_WITH_TAGS = _set("canvas select svg template")
_ORDINARY = NAMES - _LEFT_OUT - {"math", "iframe"}
_SINGLE = _set("area base basefont bgsound br col embed frame hr image img input link meta param source track wbr")
_OFTEN_OPEN = _set("dd dt li option p tbody td tfoot th thead tr")
_UNCOUNTED = _SINGLE | _OFTEN_OPEN
_FORMATS = _set("a b big code em font i nobr s small strike strong tt u")
"""Elements that HTML opens again after what was around them ended, as often as that happens."""
_WALLS = _set("applet caption marquee object table td th")
"""An end tag does not reach through these,"""
_BLOCKS = _set(
    "address article aside blockquote button center details dialog dir div dl fieldset figcaption figure footer form "
    "h1 h2 h3 h4 h5 h6 header hgroup main menu nav ol pre search section summary ul"
)
_STEPS = _BLOCKS | _WALLS | _set("iframe noscript select template")
"""and one of a phrase not through these."""
_BARE_ATTRIBUTES = _set("""
allowfullscreen async autofocus autoplay checked compact controls default defer disabled download hidden inert ismap
itemscope loop multiple muted nohref noshade novalidate nowrap open playsinline readonly required reversed selected
align alt border class dir height href id itemprop lang name rel role src style target title type valign value width
""")
_MOST_REOPENED = 500_000


class NormalisedMarkup(msgspec.Struct, frozen=True):
    """Markup that a parser reads as it stands, and whether it is more than one should have to read."""

    html: str
    is_too_deep: bool


def normalise(html: str, limit: int) -> NormalisedMarkup:
    """The markup without what is never shown, its stray `<` as text. Too deep where it may nest beyond `limit`."""
    is_ordinary = not _ODD.search(html) and all(name in _ORDINARY for name in map(str.lower, set(_NAMES.findall(html))))
    if is_ordinary and html.count("<") <= limit:
        return NormalisedMarkup(html, is_too_deep=False)
    depth = _Depth(limit)
    return NormalisedMarkup("".join(_Scan(html, depth).pieces()), depth.is_passed)


def is_deeper(html: str, limit: int) -> bool:
    """Whether a page may nest deeper than `limit`, drawings and all; only scripts and the like do not count."""
    if html.count("<") <= limit:
        return False
    depth = _Depth(limit)
    for _ in _Scan(html, depth, is_whole=True).pieces():
        pass
    return depth.is_passed


class _Scan:
    """One reading of a text, from its beginning to its end."""

    def __init__(self, html: str, depth: "_Depth", *, is_whole: bool = False) -> None:
        self._html = html
        self._left_out = _LEFT_OUT | {"math"} if not is_whole else _LEFT_OUT - _WITH_TAGS
        self._lowered = html.lower() if len(html.lower()) == len(html) else html
        self._depth = depth
        self._ended: frozenset[str] = frozenset(re.findall(r"</([a-z][a-z0-9]*)", self._lowered))
        self._at = 0

    def pieces(self) -> Iterator[str]:
        """What is written, in order."""
        while not self._depth.is_passed:
            start = self._html.find("<", self._at)
            if start < 0:
                yield self._html[self._at :]
                return
            yield self._html[self._at : start]
            self._at = start
            tag = _TAG.match(self._html, start)
            yield self._other() if tag is None else self._tag(tag)

    def _other(self) -> str:
        """A `<` that no name follows: a comment, which goes, or text."""
        start = self._at
        if self._html.startswith("<!--", start):
            self._at = _end_of_comment(self._html, start)
            return ""
        if self._html[start + 1 : start + 2] in {"!", "?", "/"}:
            end = self._html.find(">", start)
            self._at = len(self._html) if end < 0 else end + 1
            return ""
        return self._text()

    def _text(self) -> str:
        self._at += 1
        return "&lt;"

    def _tag(self, tag: re.Match[str]) -> str:
        name = tag[2].lower()
        inside = _ATTRIBUTES.match(self._html, tag.end())
        assert inside is not None  # it may be empty
        after = self._html[inside.end() : inside.end() + 1]
        if not tag[1] and not self._is_meant(name, inside[0], after):
            return self._text()
        if after != ">":
            inside = _ALL_ATTRIBUTES.match(self._html, inside.end())
            assert inside is not None
        start, self._at = self._at, inside.end() + 1
        if self._at > len(self._html):
            return ""  # it was cut off, and so is what it would have been
        written = self._html[start : self._at]
        if len(written) > 2 * MOST_ATTRIBUTES and len(_ATTRIBUTE.findall(written, len(tag[0]))) > MOST_ATTRIBUTES:
            written = f"<{tag[1]}{name}>"
        return self._end(name, written) if tag[1] else self._beginning(name, written)

    def _is_meant(self, name: str, inside: str, after: str) -> bool:
        """Whether somebody meant a tag: HTML sees one in `x<y and z` and in `List<Word>`."""
        has_values = '="' in inside or "='" in inside
        if has_values and _NAME.fullmatch(name):
            return True
        if after != ">":
            return False
        if name not in NAMES:
            is_single = inside.endswith("/") and bool(_NAME.fullmatch(name))
            return is_single or name in self._ended or bool(_OWN_NAME.fullmatch(name))
        words = inside.split()
        if "=" not in inside and any(map(_OPERATOR.search, words)):
            return False
        return not words or not all(map(_WORD.fullmatch, words)) or not _BARE_ATTRIBUTES.isdisjoint(words)

    def _end(self, name: str, written: str) -> str:
        if name in self._left_out:
            return ""
        self._depth.end(name)
        return written if name in NAMES else ""

    def _beginning(self, name: str, written: str) -> str:
        if name not in self._left_out and name != "iframe":
            if name in NAMES or not written.endswith("/>"):
                self._depth.begin(name)
            # Parsers know some names of drawings and formulas: outside of one they would take the words along.
            return written if name in NAMES else ""
        start = self._at
        end = -1 if written.endswith("/>") or name not in self._ended else self._lowered.find(f"</{name}", start)
        if end < 0:
            return self._endless(name, written)
        self._at = end
        if name == "math":
            return escape(formula_text(self._html[start:end]), quote=False)
        return written if name == "iframe" else ""

    def _endless(self, name: str, written: str) -> str:
        """Elements that are left out, without an end: what follows is text, after a script or a style nothing is."""
        if not written.endswith("/>"):
            self._ended -= {name}
            if name in {"script", "style"}:
                self._at = len(self._html)
        return f"{written}</iframe>" if name == "iframe" else ""


_COMMENT_END = re.compile("--!?>")


def _end_of_comment(html: str, start: int) -> int:
    for empty in ("<!-->", "<!--->"):
        if html.startswith(empty, start):
            return start + len(empty)
    found = _COMMENT_END.search(html, start + 4)
    return found.end() if found else len(html)


class _Depth:
    """How deep elements are at most, whatever a parser makes of tags that do not fit: ends in doubt do not count."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._open: list[str] = []
        self._known: Counter[str] = Counter()
        self._formats = self._reopened = 0
        self.is_passed = False

    def begin(self, name: str) -> None:
        """A start tag."""
        self._reopened += self._formats
        if self._reopened > _MOST_REOPENED:
            self.is_passed = True
        if name in _UNCOUNTED:
            return
        self._open.append(name)
        self._known[name] += 1
        self._formats += name in _FORMATS
        self.is_passed |= len(self._open) > self._limit

    def end(self, name: str) -> None:
        """An end tag. A format that is torn apart stays open: HTML opens it again."""
        if not self._known[name]:
            return
        if self._open[-1] == name or name in _FORMATS:
            place = len(self._open) - 1 - self._open[::-1].index(name)
            self._close(name)
            del self._open[place]
            return
        place = len(self._open) - 1
        held_by = _WALLS if name in _BLOCKS or name in _WALLS else _STEPS
        while self._open[place] != name:
            if self._open[place] in held_by:
                return
            place -= 1
        above = self._open[place:]
        self._open[place:] = [each for each in above if each in _FORMATS]
        for each in above:
            if each not in _FORMATS:
                self._close(each)

    def _close(self, name: str) -> None:
        self._known[name] -= 1
        self._formats -= name in _FORMATS


_XML_TAG = re.compile(r"<(?:!(\[CDATA\[|--)|(/?)([A-Za-z_][\w.:-]*+)[^<>]*+>)")
_UNCLOSED = _set("area base br col dd dt embed hr img input li link meta option p source td th tr wbr")


def shape_of(text: str, *, max_depth: int, max_tags: int) -> tuple[int, int]:
    """The depth and the number of tags, CDATA and comments aside; counting ends where either is passed."""
    opened: Counter[str] = Counter()
    depth = tags = deepest = position = 0
    while deepest <= max_depth and tags <= max_tags and (tag := _XML_TAG.search(text, position)):
        position = tag.end()
        aside, closing, name = tag.groups()
        if aside:
            position = text.find("]]>" if aside == "[CDATA[" else "-->", position)
            if position < 0:
                break
            continue
        name = name.lower()
        tags += name not in _UNCLOSED
        depth += _step(opened, name, is_closing=bool(closing), is_empty=text[position - 2] == "/")
        deepest = max(deepest, depth)
    return deepest, tags


def _step(opened: Counter[str], name: str, *, is_closing: bool, is_empty: bool) -> int:
    """Where a tag leads: deeper, up, or nowhere. An end without its beginning leads nowhere, or it would hide depth."""
    if name in _UNCLOSED or is_empty or (is_closing and not opened[name]):
        return 0
    step = -1 if is_closing else 1
    opened[name] += step
    return step


MAX_TAGS = 200_000
MAX_UNCLOSED = 5000
"""Such a page takes 30 ms; 200,000 `<div>`, one megabyte, take a minute and a half."""
MAX_NESTING = 500
MAX_ATTRIBUTES = 200
"""Attributes of one tag: a parser compares each with all the others."""

_TAG_NAME = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9]{0,20})")
_ANY_VALUE = r"""\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s>]*+)"""
_ANY_ATTRIBUTE = re.compile(rf"[^\s/>][^\s/>=]*+(?:{_ANY_VALUE})?+")
_OPENING = re.compile(rf"<(!--|([A-Za-z][^\s/>]*+)(?:[\s/]++|{_ANY_ATTRIBUTE.pattern})*+)")
_ENDS = {name: re.compile(f"</{name}", re.IGNORECASE) for name in ("script", "style")}
_UNCLOSED_BY_NATURE = _set(
    "area base br col embed hr img input link meta param source track wbr p li dt dd td th tr tbody thead option"
)


def is_bomb(html: str) -> bool:
    """Whether no parser should see this. Told without parsing, in time linear in the text."""
    return _has_many_tags(html) or is_deeper(html, MAX_NESTING) or _has_crowded_tag(html)


def _has_many_tags(html: str) -> bool:
    """Whether there are too many tags, or too many that are never closed."""
    unclosed: Counter[str] = Counter()
    for tags, found in enumerate(_TAG_NAME.finditer(html), start=1):
        if tags > MAX_TAGS:
            return True
        unclosed[found[2].lower()] += -1 if found[1] else 1
    depth = sum(count for tag, count in unclosed.items() if count > 0 and tag not in _UNCLOSED_BY_NATURE)
    return depth > MAX_UNCLOSED


def _has_crowded_tag(text: str) -> bool:
    """Whether a tag has too many attributes. Each step begins where the one before ended, and no pattern goes back."""
    at = 0
    while (tag := _OPENING.search(text, at)) is not None:
        at = tag.end()
        if tag[1] == "!--":
            at = text.find("-->", at - 2)  # `<!-->` is a whole comment
        elif (end := _ENDS.get(tag[2].lower())) is not None:
            found = end.search(text, at)
            at = -1 if found is None else found.end()
        elif len(tag[1]) > 2 * MAX_ATTRIBUTES and len(_ANY_ATTRIBUTE.findall(tag[1])) > MAX_ATTRIBUTES:
            return True
        if at < 0:
            break
    return False
