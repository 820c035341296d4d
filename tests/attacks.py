"""Texts that make a regular expression slow, made from its own parse tree.

A pattern's letters are one for each set of classes that it tells apart. Attacks repeat them, alone, in pairs, and after
every beginning of what the pattern matches, with an end that it does not. What is slow at a small size is looked at
again at ten times the size: time that grows by the square grows a hundredfold.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice, product
from random import Random
from re import _constants, _parser  # type: ignore[attr-defined]  # the parser that `re` itself uses
from typing import Any

import msgspec

from tests.growth import Slow, best, growth, once

SMALL = 1000
LENGTHS = (10, 14, 18, 22, 26, 32, 50, 100, 200, 400, 800)
SLOWEST, SLOW_AGAIN = 12, 4
"""Of so many attacks that took longest it is seen again how long they take, and of so many of these how that grows."""
STUCK = 0.003
"""Seconds that a text of a hundred letters never takes, unless time grows with a high power of its length."""

_EXTRA = "a0 \n\t\x00-_.,:;/<>=\"'&!#é第話１\u2028"
_REPEATS = {_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT}
_CATEGORIES = {
    _constants.CATEGORY_DIGIT: r"\d",
    _constants.CATEGORY_NOT_DIGIT: r"\D",
    _constants.CATEGORY_SPACE: r"\s",
    _constants.CATEGORY_NOT_SPACE: r"\S",
    _constants.CATEGORY_WORD: r"\w",
    _constants.CATEGORY_NOT_WORD: r"\W",
}

Node = tuple[Any, Any]
Method = str


class Attack(msgspec.Struct, frozen=True):
    """`head`, then `unit` again and again, then `tail`."""

    head: str
    unit: str
    tail: str = ""

    def of(self, size: int) -> str:
        return self.head + self.unit * (size // len(self.unit)) + self.tail

    def __str__(self) -> str:
        return f"{self.head!r} + {self.unit!r} * n + {self.tail!r}"


def slowest(pattern: re.Pattern[Any], method: Method, *, most: int) -> Slow | None:
    """An attack under which the pattern's time grows faster than the text; None when none of them does that."""
    work = _work(pattern, method)
    times: list[tuple[float, Attack]] = []
    for attack in _chosen(pattern, most):
        taken = _first_look(work, attack)
        if isinstance(taken, Slow):
            return taken
        times.append((taken, attack))
    times.sort(key=lambda timed: -timed[0])
    again = [(min(taken, best(work, attack.of(SMALL))), attack) for taken, attack in times[:SLOWEST]]
    again.sort(key=lambda timed: -timed[0])
    for _, attack in again[:SLOW_AGAIN]:
        if (slow := growth(work, attack.of, SMALL, name=str(attack))) is not None:
            return slow
    return None


def _first_look(work: Callable[[Any], object], attack: Attack) -> float | Slow:
    """How long a small text takes, which grows until it takes long: it may take years."""
    for length in LENGTHS:
        if once(work, text := attack.of(length)) > STUCK and (taken := best(work, text)) > STUCK:
            if length <= 100:
                return Slow(str(attack), best(work, attack.of(length // 10)), taken)
            return growth(work, attack.of, length // 10, name=str(attack)) or taken
    return once(work, attack.of(SMALL))


def _work(pattern: re.Pattern[Any], method: Method) -> Callable[[str], object]:
    """What the program does with the pattern; all of its matches where it may look for more than the first."""

    def work(text: str) -> None:
        given = text.encode("latin-1", "replace") if isinstance(pattern.pattern, bytes) else text
        if method in {"match", "fullmatch", "search"}:
            getattr(pattern, method)(given)
            return
        for _ in pattern.finditer(given):
            pass

    return work


# -- what to attack with


def _chosen(pattern: re.Pattern[Any], most: int) -> list[Attack]:
    """Attacks on the pattern, so many at least: the promising ones, then others, always the same."""
    text = pattern.pattern.decode("latin-1") if isinstance(pattern.pattern, bytes) else pattern.pattern
    tree = list(_parser.parse(text, pattern.flags & ~re.DEBUG))
    aimed = dict.fromkeys(_aimed(tree, pattern.flags))
    others = dict.fromkeys(islice(_blind(tree, pattern.flags), max(most - len(aimed), most // 3)))
    return list(aimed | others)


def _aimed(tree: list[Node], flags: int) -> Iterator[Attack]:
    """Each repeated part of the pattern, after what leads to it, alone and together, with and without a bad end."""
    for beginnings, part in _repeats(tree, flags):
        letters = [letter for atom in _atoms(part) for letter in _letters_of(atom, flags)]
        for unit in dict.fromkeys([*letters, *_sequence(part, flags)]):
            for beginning in beginnings if unit else ():
                yield Attack(beginning, unit)
                yield Attack(beginning, unit, "\x00")
                yield Attack("", beginning + unit)
    for letter in _letters(tree, flags):
        yield Attack("", letter)
        yield Attack("", letter, "\x00")
    for beginning in dict.fromkeys(_beginnings(tree, flags)):
        if 0 < len(beginning) <= 60:
            yield Attack("", beginning)


def _blind(tree: list[Node], flags: int) -> Iterator[Attack]:
    """Whatever else can be put together of its letters and its beginnings; without an end, and always the same."""
    chance = Random(0)
    letters = _letters(tree, flags)
    beginnings = ["", *sorted({sample for sample in _beginnings(tree, flags) if 0 < len(sample) <= 60})]
    while True:
        head = chance.choice(beginnings)
        unit = "".join(chance.choices(letters, k=chance.choice((1, 2, 2, 3))))
        if chance.random() < 0.3:
            unit = chance.choice(beginnings) + unit
        yield Attack(head, unit, chance.choice(["", "\x00", *letters]))


def _repeats(tree: Iterable[Node], flags: int) -> Iterator[tuple[list[str], Iterable[Node]]]:
    """The parts that are repeated often, and what leads to each, in a few ways."""
    before = [""]
    for op, value in tree:
        for inside in _insides(op, value):
            if op in _REPEATS and value[1] > 10:
                yield before[:4], inside
            for beginnings, part in _repeats(inside, flags):
                yield [start + rest for start, rest in product(before[:3], beginnings)][:6], part
        before = [start + sample for start, sample in product(before, _samples((op, value), flags))][:6]


def _letters(tree: Iterable[Node], flags: int) -> list[str]:
    """One letter for each set of classes that the pattern tells apart, those that it names first."""
    atoms = list(_atoms(tree))
    named = [chr(value) for atom in atoms for value in _named(atom)]
    told: dict[tuple[bool, ...], str] = {}
    for letter in [*named, *_EXTRA]:
        told.setdefault(tuple(_takes(atom, letter, flags) for atom in atoms), letter)
    return list(told.values())[:24]


def _atoms(tree: Iterable[Node]) -> Iterator[Node]:
    for op, value in tree:
        if op in {_constants.LITERAL, _constants.NOT_LITERAL, _constants.IN, _constants.ANY}:
            yield op, value
        else:
            for inside in _insides(op, value):
                yield from _atoms(inside)


def _insides(op: Any, value: Any) -> list[Iterable[Node]]:
    if op in _REPEATS:
        return [value[2]]
    if op == _constants.SUBPATTERN:
        return [value[3]]
    if op == _constants.BRANCH:
        return list(value[1])
    if op in {_constants.ASSERT, _constants.ASSERT_NOT}:
        return [value[1]]
    if op == _constants.ATOMIC_GROUP:
        return [value]
    return []


def _named(atom: Node) -> Iterator[int]:
    op, value = atom
    if op in {_constants.LITERAL, _constants.NOT_LITERAL}:
        yield value
    elif op == _constants.IN:
        for kind, inside in value:
            if kind == _constants.LITERAL:
                yield inside
            elif kind == _constants.RANGE:
                yield inside[0]


def _takes(atom: Node, letter: str, flags: int) -> bool:
    op, value = atom
    spellings = {letter, letter.lower(), letter.upper()} if flags & re.IGNORECASE else {letter}
    if op == _constants.ANY:
        return letter != "\n" or bool(flags & re.DOTALL)
    if op == _constants.LITERAL:
        return bool(chr(value) in spellings)
    if op == _constants.NOT_LITERAL:
        return chr(value) not in spellings
    is_negated = value[0][0] == _constants.NEGATE
    return bool(is_negated != any(_is_in(item, one, flags) for item in value for one in spellings if len(one) == 1))


def _is_in(item: Node, letter: str, flags: int) -> bool:
    kind, value = item
    if kind == _constants.LITERAL:
        return bool(ord(letter) == value)
    if kind == _constants.RANGE:
        return bool(value[0] <= ord(letter) <= value[1])
    if kind == _constants.CATEGORY:
        return re.match(_CATEGORIES[value], letter, flags & re.ASCII) is not None
    return False


def _beginnings(tree: Iterable[Node], flags: int) -> Iterator[str]:
    """What the pattern matches, in a few ways, up to each of its places; also up to those within a repeat."""
    before = [""]
    for op, value in tree:
        yield from before
        for inside in _insides(op, value):
            if op in {_constants.ASSERT, _constants.ASSERT_NOT} and value[0] < 0:
                continue
            for start, rest in product(before[:3], islice(_beginnings(inside, flags), 12)):
                yield start + rest
        before = [start + sample for start, sample in product(before, _samples((op, value), flags))][:6]
    yield from before


def _letters_of(atom: Node, flags: int) -> list[str]:
    """A few letters that an atom takes, one of each kind."""
    named = [chr(one) for one in _named(atom)]
    taken = [letter for letter in [*named[:1], *" a0-<", *named[1:], *_EXTRA] if _takes(atom, letter, flags)]
    return list(dict.fromkeys(taken))[:5]


def _samples(node: Node, flags: int) -> list[str]:
    """A few texts that a part of a pattern matches."""
    op, value = node
    if op in {_constants.LITERAL, _constants.NOT_LITERAL, _constants.IN, _constants.ANY}:
        return _letters_of(node, flags)[:2]
    if op in _REPEATS:
        inside = _sequence(value[2], flags)
        once = [sample * max(value[0], 1) for sample in inside]
        return ["", *once] if value[0] == 0 else once
    if op == _constants.BRANCH:
        return [sample for branch in value[1] for sample in _sequence(branch, flags)[:2]][:6]
    if op in {_constants.SUBPATTERN, _constants.ATOMIC_GROUP}:
        return _sequence(_insides(op, value)[0], flags)
    return [""]


def _sequence(tree: Iterable[Node], flags: int) -> list[str]:
    found = [""]
    for node in tree:
        found = [start + sample for start, sample in product(found, _samples(node, flags))][:6]
    return found
