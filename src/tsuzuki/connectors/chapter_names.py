"""Which number and volume a chapter's name speaks of, when its source does not say.

Every pattern is a fixed word or mark followed by bounded digits, so that reading a name takes time linear in its
length (SEC-21); a name is cut at `MAX_NAME` first.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from decimal import Decimal

import msgspec

from tsuzuki.model.harvest import FoundChapter
from tsuzuki.model.numbers import parse_number

MAX_NAME = 512
LETTER_SUFFIXES = 9
"""12a is 12.1 and 12i is 12.9; a tenth letter would be 12.10, which is 12.1 again."""

# A number as names write it; "12a" is the first part of 12.
_NUMBER = r"(?P<number>\d{1,9}(?:\.\d{1,4})?)(?:(?P<letter>[a-z])(?![a-z\d]))?(?![\d])"
_GAP = r"[\s.:_#-]{0,4}"
_START = r"(?<![^\W\d_])"
"""Not in the middle of a word; digits and underscores may come before ("v2ch5", "x_ch5")."""


def _marked(words: str, letters: str, number: str = _NUMBER) -> re.Pattern[str]:
    """One of the words and a number; a single letter only right before its number ("c12"), and not after "'"."""
    word = rf"(?:{words}){_GAP}(?:no{_GAP}|n[°º]{_GAP})?"
    return re.compile(rf"{_START}(?:{word}|(?<!['’])[{letters}]\.?){number}")


_VOLUME = _marked(
    "volumen|volumes|volume|vols|vol|tome|tomo|band|bd|libro|book|том",
    "vt",
    r"(?P<number>\d{1,4}(?:\.\d{1,4})?)(?![\d])",
)
_SEASON = _marked("seasons|season|saison|temporada|staffel|сезон", "s", r"(?P<number>\d{1,3})(?![\d.])")
_SEASON_AFTER = re.compile(r"(?<!\d)(?P<number>\d{1,2})(?:st|nd|rd|th) season\b")
_CHAPTER = _marked(
    "chapters|chapter|chapitre|chap|chp|ch|capitulos|capitulo|capítulo|cap|kapitel|kap|rozdział|rozdzial|глава|гл"
    "|episodes|episode|épisode|episodio|episódio|folge|эпизод|epi|eps|ep|bölüm|bab|chương|chuong|issue|strip|mission"
    "|act|page",
    "ce",
)
_SEASON_EPISODE = re.compile(
    rf"(?<![^\W_])s(?P<season>\d{{1,3}}){_GAP}ep?{_GAP}(?P<number>\d{{1,9}}(?:\.\d{{1,4}})?)(?!\d)"
)
_CJK_CHAPTER = re.compile(rf"[第제]?\s{{0,2}}{_NUMBER}\s{{0,2}}[話话回章篇節节화장]")
_CJK_VOLUME = re.compile(r"[第제]?\s{0,2}(?P<number>\d{1,4}(?:\.\d{1,4})?)\s{0,2}[巻卷集권]")
_CJK_SEASON = re.compile(r"(?:第\s{0,2}(?P<number>\d{1,3})\s{0,2}[季期部])|(?:시즌\s{0,2}(?P<korean>\d{1,3}))")
_HASH = re.compile(rf"(?<![^\W])#\s?{_NUMBER}")
_BARE = re.compile(rf"(?<![\w.,:/$€£%+-]){_NUMBER}(?![\w%,:/])(?!\.\d)")
_ORDINAL = re.compile(r"(?<![\w.])(?P<number>\d{1,9})(?:st|nd|rd|th)\s(?:chapter|episode|issue)\b")

_KANJI = {"〇": 0, "零": 0, "一": 1, "二": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9}
_KANJI_UNITS = {"十": 10, "百": 100, "千": 1000}
_KANJI_RUN = re.compile(
    r"(?P<before>第)(?P<run>[〇零一二三四五六七八九十百千]{1,9})(?P<after>[話话回章篇節节巻卷集季期部])"
)
_COUNTED = "one two three four five six seven eight nine ten eleven twelve"
_WORDS = {word: str(number) for number, word in enumerate(_COUNTED.split(), start=1)}
_WORD_NUMBER = re.compile(rf"(?<=chapter |episode )(?:{'|'.join(_WORDS)})\b")
_ROMAN_NUMBER = re.compile(r"(?<=chapter |episode )(?P<roman>[ivxlc]{1,8})(?=\Z|[\s:.,-])")
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}
_RESOLUTION = re.compile(r"(?<!\w)\d{3,4}[px](?:\d{3,4})?(?!\w)")
_VERSION = re.compile(r"(?<=\d)\s?\(?v[1-9](?!\w)\)?")
"""45v2 is 45 put right; a volume is written before its chapter, or with two digits."""
_DATE = re.compile(
    r"(?<!\d)(?:19|20)\d\d[-./]\d{1,2}[-./]\d{1,2}(?!\d)|(?<!\d)\d{1,2}[-./]\d{1,2}[-./](?:19|20)\d\d(?!\d)"
)
_BRACKETED = re.compile(r"\[[^\[\]]{0,80}\]|\([^()]{0,80}\)|\{[^{}]{0,80}\}")


class NameReading(msgspec.Struct, frozen=True):
    """What a name says; None where it does not. A season counts as a volume."""

    number: Decimal | None = None
    volume: Decimal | None = None


def read_name(name: str, series_title: str = "") -> NameReading:
    """Number and volume of a chapter by its name. The series' own title, whose digits mean nothing, is left out."""
    text = _prepared(name, series_title)
    short = _SEASON_EPISODE.search(text)
    if short:
        return NameReading(parse_number(short["number"]), parse_number(short["season"]))
    volume, text = _take_volume(text)
    return NameReading(_number_in(text, is_whole=volume is None), volume)


def _prepared(name: str, series_title: str) -> str:
    text = _plain(name)
    title = _plain(series_title)
    if len(title) > 1 and title in text and text != title:
        text = text.replace(title, " ", 1)
    for noise in (_RESOLUTION, _DATE, _VERSION):
        text = noise.sub(" ", text)
    text = _KANJI_RUN.sub(lambda found: f"{found['before']}{_kanji_value(found['run'])}{found['after']}", text)
    text = _WORD_NUMBER.sub(lambda found: _WORDS[found[0]], text)
    return _ROMAN_NUMBER.sub(lambda found: str(_roman_value(found["roman"])), text).strip()


def _plain(text: str) -> str:
    """Compatible digits and letters, small, single-spaced; "1,5" is 1.5, and so is "chapter-1-5"."""
    text = unicodedata.normalize("NFKC", text[:MAX_NAME])[:MAX_NAME].casefold()
    text = re.sub(r"(?<=\d),(?=\d{1,2}(?!\d))", ".", " ".join(text.split()))
    return re.sub(r"(?<=[\s.]ch)apter[-_ ](\d{1,5})-(\d)(?![\d-])", r"apter \1.\2", f" {text}").strip()


def _take_volume(text: str) -> tuple[Decimal | None, str]:
    """The volume or season, and the text without it."""
    for pattern in (_VOLUME, _SEASON, _SEASON_AFTER, _CJK_VOLUME, _CJK_SEASON):
        found = pattern.search(text)
        if found:
            digits = found["number"] or found["korean"]
            return parse_number(digits), f"{text[: found.start()]} {text[found.end() :]}".strip()
    return None, text


def _number_in(text: str, *, is_whole: bool) -> Decimal | None:
    """By the word beside it; else the number at the beginning, or the only one, outside of brackets."""
    for pattern in (_CHAPTER, _ORDINAL, _CJK_CHAPTER, _HASH):
        found = pattern.search(text)
        if found:
            return _value(found)
    outside = _BRACKETED.sub(" ", text).strip()
    outside = outside if outside or not is_whole else text.strip("[](){}")
    bare = list(_BARE.finditer(outside))
    return _value(bare[0]) if bare and (len(bare) == 1 or bare[0].start() == 0) else None


def _value(found: re.Match[str]) -> Decimal | None:
    number = parse_number(found["number"])
    letter = found.groupdict().get("letter")
    if number is None or not letter or "." in found["number"]:
        return number
    place = ord(letter) - ord("a") + 1
    return number + Decimal(place) / 10 if place <= LETTER_SUFFIXES else number


def _kanji_value(run: str) -> int:
    if not any(sign in _KANJI_UNITS for sign in run):
        return int("".join(str(_KANJI[sign]) for sign in run))
    total, digit = 0, 0
    for sign in run:
        if sign in _KANJI_UNITS:
            total += (digit or 1) * _KANJI_UNITS[sign]
            digit = 0
        else:
            digit = _KANJI[sign]
    return total + digit


def _roman_value(run: str) -> int:
    values = [_ROMAN[sign] for sign in run]
    return sum(-value if value < after else value for value, after in zip(values, [*values[1:], 0], strict=True))


def newest_first(oldest_first: Iterable[FoundChapter]) -> tuple[FoundChapter, ...]:
    """By number; those without one stay behind the highest that came before them."""
    ranked: list[tuple[Decimal, int, FoundChapter]] = []
    highest = Decimal(-1)
    for place, chapter in enumerate(oldest_first):
        highest = highest if chapter.number is None else max(highest, chapter.number)
        ranked.append((highest if chapter.number is None else chapter.number, place, chapter))
    return tuple(chapter for _, _, chapter in sorted(ranked, key=lambda rank: rank[:2], reverse=True))


def without_restarts(chapters: tuple[FoundChapter, ...]) -> tuple[FoundChapter, ...]:
    """The same chapters; where a later volume or season counts from the beginning again, its numbers are dropped.

    Season 2, episode 3 would otherwise be taken for another release of season 1, episode 3 and never be announced.
    Unnumbered, it goes by its own identity (R3). Volumes that merely overlap, as groups disagree, are left alone.
    """
    numbers: dict[Decimal, set[Decimal]] = defaultdict(set)
    for chapter in chapters:
        if chapter.volume is not None and chapter.number is not None:
            numbers[chapter.volume].add(chapter.number)
    restarted, seen = set[Decimal](), set[Decimal]()
    for volume, own in sorted(numbers.items()):
        if seen and min(own) <= min(seen) and own & seen:
            restarted.add(volume)
        seen |= own
    return tuple(
        msgspec.structs.replace(chapter, number=None) if chapter.volume in restarted else chapter
        for chapter in chapters
    )
