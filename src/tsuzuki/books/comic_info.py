"""What a file of a chapter says of it: ComicInfo.xml, as Komga, Kavita, Panels and KOReader read it, and its name."""

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

import msgspec

from tsuzuki.model import xml
from tsuzuki.model.ids import ChapterId, PublicId, ReleaseId
from tsuzuki.model.times import SECOND, Millis, bounded
from tsuzuki.model.titles import beside_number

MOST_BYTES = 200
"""Bytes of a file's name in UTF-8, a little less than the 255 that file systems take."""
# What Windows and FAT refuse in names, control characters, and marks that turn the direction of text.
_UNFIT = re.compile(r'[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069/\\:*?"<>|;]+')
_UNSAFE_ON_FAT, _SLASH = re.compile(r'[\\/:*?"<>|]'), re.compile("/")
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|\Z)", re.IGNORECASE)
"""Names that are no files on Windows, whatever their ending."""
_NOBODY, _LONGEST_ON_DEVICES = "Unknown Author", 240
_RIGHT_TO_LEFT = "ja"


class ReleaseFacts(msgspec.Struct, frozen=True):
    """What a file says of a release, its chapter and its series."""

    release_id: ReleaseId
    chapter_id: ChapterId
    series_public_id: PublicId
    series_title: str
    author: str | None
    artist: str | None
    series_language: str | None
    is_nsfw: bool
    number: str | None
    volume: str | None
    title: str
    language: str | None
    group_name: str | None
    url: str | None
    published_at: Millis | None

    @property
    def file_name(self) -> str:
        """The name of the file of this release."""
        return chapter_file_name(
            self.series_title, self.number, self.volume, title=self.title, chapter_id=self.chapter_id
        )


def is_right_to_left(language: str | None) -> bool:
    """Whether a comic is read from right to left: no source says it, so by its language."""
    return (language or "").lower().split("-")[0] == _RIGHT_TO_LEFT


def chapter_file_name(
    series_title: str, number: str | None, volume: str | None, *, title: str, chapter_id: ChapterId
) -> str:
    """The name of a chapter's file: "The Lighthouse Cat 3.cbz". No other chapter of its series has the same one: the
    series is cut where it is long, not the number, and what has no number has its id.
    """
    numbered = number or (f"Vol. {volume}" if volume else "")
    ending = file_name(numbered or f"[{chapter_id}]", ".cbz")
    beside = "" if numbered else title
    return file_name(f"{series_title} {beside}"[:MOST_BYTES], "", most=MOST_BYTES - len(ending.encode())) + f" {ending}"


def full_name(series_title: str, number: str | None, volume: str | None, title: str) -> str:
    """A chapter with its series and number in front, as catalogues list it: some apps sort by that. Never empty."""
    numbered = number or (f"Vol. {volume}" if volume else "")
    beside = beside_number(title, number)
    named = " ".join(part for part in (series_title, numbered) if part) or "Untitled"
    return f"{named}: {beside}" if beside else named


def device_names(facts: ReleaseFacts) -> set[str]:
    """What KOReader may call a file of this chapter that it got by a catalogue, on whatever file system."""
    titles = {full_name(facts.series_title, facts.number, facts.volume, title) for title in (facts.title, "")}
    return names_on_devices(titles, facts.author, ".cbz")


def names_on_devices(titles: Iterable[str], author: str | None, ending: str) -> set[str]:
    """Names that devices may give a file whose entry in a catalogue has one of these titles.

    KOReader puts the author in front, in its own words where there is none (in English here), and cuts what is long.
    """
    titles = set(titles)
    found = set()
    for name in titles | {f"{author or _NOBODY} - {title}" for title in titles}:
        cut = name.encode("utf-8", "ignore")[:_LONGEST_ON_DEVICES].decode("utf-8", "ignore")
        for unsafe in (_UNSAFE_ON_FAT, _SLASH):
            safe = unsafe.sub("_", cut)
            found |= {f"{safe}{ending}", f"{safe.rstrip(' .')}{ending}"}
    return found


def file_name(text: str, ending: str, *, most: int = MOST_BYTES) -> str:
    """A name that every file system takes, and no path."""
    name = _UNFIT.sub(" ", text)
    name = " ".join(name.split()).encode("utf-8", "ignore")[:most].decode("utf-8", "ignore").strip(" .")
    return ("_" if _DEVICE.match(name) else "") + (name or "untitled") + ending


def ascii_name(name: str, otherwise: str) -> str:
    """The name in ASCII, for devices that read nothing else: all of it, or what is left of it beside `otherwise`."""
    stem, dot, ending = name.rpartition(".")
    plain = " ".join(re.sub(r"[^\x20-\x7e]+", " ", stem).split())
    if plain != stem:
        plain = f"{plain} ({otherwise})" if re.search("[A-Za-z]", plain) else otherwise
    return plain + dot + ending


def comic_info(facts: ReleaseFacts, page_count: int) -> bytes:
    """The document; nothing in it depends on who asks."""
    return xml.document(_lines(facts, page_count))


def _lines(facts: ReleaseFacts, page_count: int) -> Iterator[str]:
    yield '<ComicInfo xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">'
    said = {
        "Title": beside_number(facts.title, facts.number),
        "Series": facts.series_title,
        "Number": facts.number,
        "Volume": facts.volume if facts.volume and facts.volume.isdecimal() else None,  # the schema takes a number
        **_date(facts.published_at),
        "Writer": facts.author,
        "Penciller": facts.artist,
        "Translator": facts.group_name,
        "Web": facts.url,
        "PageCount": str(page_count),
        "LanguageISO": facts.language or facts.series_language,
        "Manga": "YesAndRightToLeft" if is_right_to_left(facts.language or facts.series_language) else None,
        "AgeRating": "Adults Only 18+" if facts.is_nsfw else None,
    }
    yield from (xml.element(name, value) for name, value in said.items() if value)
    yield "</ComicInfo>"


def _date(at: Millis | None) -> dict[str, str]:
    if at is None:
        return {}
    day = datetime.fromtimestamp(bounded(at) // SECOND, UTC)
    return {"Year": str(day.year), "Month": str(day.month), "Day": str(day.day)}
