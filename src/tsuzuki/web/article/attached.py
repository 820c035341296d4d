"""What comes with an article beside its text: pictures, recordings, files (R104)."""

import re
from collections.abc import Iterable
from urllib.parse import unquote, urlsplit

import msgspec
from markupsafe import Markup

from tsuzuki.catalogue.media.policy import Kind
from tsuzuki.inbox.entries import Entry
from tsuzuki.model.entities import unescaped
from tsuzuki.model.harvest import Enclosure
from tsuzuki.web.article.players import Players, recording_kind
from tsuzuki.web.labels import label_of
from tsuzuki.web.pictures import Picture

MOST_PICTURES = 50
LOOKED_AT = 100_000
"""Characters of an article in which pictures and recordings are looked for that came with it, too."""
_MEGABYTE = 1_000_000
_SOURCE = re.compile(r'<(?:img|audio|video|source)(?: [a-z-]++="[^"]*+")*? src="([^"]*+)"')
_IMAGE = re.compile(r'<img(?: [a-z-]++="[^"]*+")*? src="([^"]*+)"')
_PICTURE_FILE = re.compile(r"\.(?:avif|gif|jpe?g|png|webp)\Z", re.IGNORECASE)
_SIZE = re.compile(r"-(?:\d{2,5}x\d{2,5}|scaled|thumb|small|large|medium)\Z|_[a-z]\Z")
_LONG_NAME = 9
"""Letters of a file's name that make it unlikely to be another one's."""


class AttachedPicture(msgspec.Struct, frozen=True):
    """A picture above the text."""

    url: str
    caption: str


class Medium(msgspec.Struct, frozen=True):
    """A file that belongs to the article."""

    kind: str
    icon: str
    url: str
    title: str
    duration: str | None
    megabytes: str | None
    player: Markup | None
    """What plays it in the page; None for what nothing here plays."""


def pictures_in(item: Entry, text: str, picture: Picture) -> list[AttachedPicture]:
    """Pictures that came with an item and are not in its text; its thumbnail only where there is no other."""
    known = {name for source in _IMAGE.findall(text[:LOOKED_AT]) for name in _names(unescaped(source))}
    has_pictures = bool(known)
    found = [(one.url, one.title or "") for one in item.enclosures or () if is_picture(one)]
    found = [(url, "" if caption == item.title else caption) for url, caption in found]
    found += [(url, "") for url in item.page_urls or ()]
    if item.image_url and not found and not has_pictures:
        found.append((item.image_url, ""))
    shown = []
    for url, caption in found[:MOST_PICTURES]:
        names = _names(url)
        if known.isdisjoint(names) and (brought := picture(url)):
            shown.append(AttachedPicture(brought, caption))
            known |= names
    return shown


def media_of(enclosures: Iterable[Enclosure], text: str, players: Players) -> list[Medium]:
    """Recordings and files, without those that the text plays already. Of one film in several sizes the first plays."""
    played = {unescaped(source) for source in _SOURCE.findall(text[:LOOKED_AT])}
    films: set[int] = set()
    media = []
    for one in enclosures:
        if not is_picture(one) and one.url not in played:
            kind = recording_kind(one.media_type, one.url)
            is_again = kind == "video" and one.duration_seconds in films
            media.append(_medium(one, kind, None if is_again else players))
            if kind == "video" and one.duration_seconds:
                films.add(one.duration_seconds)
    return media


def is_picture(one: Enclosure) -> bool:
    """Whether a file is a picture by what its feed says, else by its name."""
    if one.media_type:
        return one.media_type.lower().startswith("image/")
    return _PICTURE_FILE.search(one.url.partition("?")[0]) is not None


def _names(url: str) -> set[str]:
    """By what a picture is known again: its place, and its file's name where that is telling; whatever its size."""
    parts = urlsplit(url)
    place, _, _ = unquote(parts.path).rpartition(".") if "." in parts.path[-6:] else (parts.path, "", "")
    place = _SIZE.sub("", place)
    name = place.rpartition("/")[2]
    # without a path that tells it from others, a picture is what its query says
    whole = place if len(name) > 2 else f"{place}?{parts.query}"
    return {whole, name} if len(name) >= _LONG_NAME and not name.endswith("default") else {whole}


def _medium(one: Enclosure, kind: Kind | None, players: Players | None) -> Medium:
    names = {"audio": ("audio", "headphones"), "video": ("video", "clapperboard")}
    name, icon = names.get(kind or "", ("file", "file-text"))
    size = None if not one.length or one.length < _MEGABYTE // 10 else f"{one.length / _MEGABYTE:.1f}"
    title = one.title or _file_name(one.url)
    player = None if players is None else players.player(kind, one.url, title)
    return Medium(label_of("medium", name), icon, one.url, title, duration_of(one.duration_seconds), size, player)


def duration_of(seconds: int | None) -> str | None:
    """`4:05` or `1:02:03`; None where it is not known."""
    if not seconds or seconds < 0:
        return None
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _file_name(url: str) -> str:
    parts = [part for part in unquote(url.partition("?")[0]).split("/") if part]
    return parts[-1][:100] if parts else url[:100]
