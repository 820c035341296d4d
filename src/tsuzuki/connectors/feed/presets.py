"""Comic hosts that speak RSS: from a page of theirs to its feed, and from an entry's address to its number."""

import re
from collections.abc import Callable
from decimal import Decimal
from urllib.parse import parse_qs, urlsplit

import msgspec

_LIST_PAGE = re.compile(r"(/[a-z-]{2,7}/[\w-]+/[^/]+)/(?:list|rss|[^/]+/viewer)")
_TAPAS_ID = re.compile(r"/(?:rss/)?series/(\d+)(?:/|\Z)")
_TAPAS_META = re.compile(r"tapastic://series/(\d+)")
_COMICFURY = re.compile(r"/read/([\w-]+)(?:/|\Z)")
_XKCD = re.compile(r"/(\d{1,6})/?")
_LAST_NUMBER = re.compile(r"/(\d{1,6})/?\Z")


class Preset(msgspec.Struct, frozen=True):
    """What is known of one host. `feed_url` and `number` answer None where the address says nothing."""

    name: str
    hosts: tuple[str, ...]
    feed_url: Callable[[str], str | None]
    number: Callable[[str], str | None]
    only_thumbnails: bool = False
    """Whether its entries show a thumbnail where others show the pages."""


def _query(url: str, name: str) -> str | None:
    value = parse_qs(urlsplit(url).query).get(name, [""])[0]
    return value if value.isascii() and value.isdigit() and len(value) < 12 else None


def _webtoons_feed(url: str) -> str | None:
    found, number = _LIST_PAGE.match(urlsplit(url).path), _query(url, "title_no")
    return f"https://www.webtoons.com{found.group(1)}/rss?title_no={number}" if found and number else None


def _tapas_feed(url: str) -> str | None:
    found = _TAPAS_ID.match(urlsplit(url).path)
    return f"https://tapas.io/rss/series/{found.group(1)}" if found else None


def _comicfury_feed(url: str) -> str | None:
    parts = urlsplit(url)
    found = _COMICFURY.match(parts.path)
    slug = found.group(1) if found else parse_qs(parts.query).get("url", [""])[0]
    return f"https://comicfury.com/read/{slug}/rss" if re.fullmatch(r"[\w-]+", slug) else None


def _comicseries_feed(url: str) -> str | None:
    slug = (urlsplit(url).hostname or "").removesuffix(".thecomicseries.com")
    return f"https://{slug}.thecomicseries.com/rss/" if re.fullmatch(r"[\w-]+", slug) and slug != "www" else None


def _path_number(pattern: re.Pattern[str]) -> Callable[[str], str | None]:
    def number(url: str) -> str | None:
        found = pattern.search(urlsplit(url).path)
        return found.group(1) if found else None

    return number


PRESETS = (
    Preset("Webtoons", ("webtoons.com",), _webtoons_feed, lambda url: _query(url, "episode_no"), only_thumbnails=True),
    Preset("Tapas", ("tapas.io", "tapastic.com"), _tapas_feed, lambda _: None, only_thumbnails=True),
    Preset("ComicFury", ("comicfury.com",), _comicfury_feed, _path_number(_LAST_NUMBER)),
    Preset("ComicFury", (".thecomicseries.com",), _comicseries_feed, _path_number(_LAST_NUMBER)),
    Preset("xkcd", ("xkcd.com",), lambda _: "https://xkcd.com/atom.xml", _path_number(_XKCD)),
)
_HOST_SOMEWHERE = re.compile("|".join(re.escape(host) for preset in PRESETS for host in preset.hosts))


def preset_for(url: str | None) -> Preset | None:
    """The preset of the host at this address."""
    lowered = (url or "").lower()
    if not _HOST_SOMEWHERE.search(lowered):
        return None
    try:
        host = (urlsplit(lowered).hostname or "").removeprefix("www.").removeprefix("m.")
    except ValueError:
        return None
    for preset in PRESETS:
        if any(host == name or (name[0] == "." and host.endswith(name)) for name in preset.hosts):
            return preset
    return None


def feed_url_for(page_url: str) -> str | None:
    """The feed of the comic at a page's address; None when its host is not known or its address does not say."""
    preset = preset_for(page_url)
    return preset.feed_url(page_url) if preset else None


def feed_url_in(page: str) -> str | None:
    """The feed that a page's own words give away: Tapas names the series' number nowhere else."""
    found = _TAPAS_META.search(page)
    return f"https://tapas.io/rss/series/{found.group(1)}" if found else None


def number_of(link: str | None) -> Decimal | None:
    """The installment's number, where its host writes it into the address."""
    preset = preset_for(link)
    number = preset.number(link) if preset and link else None
    return Decimal(number) if number else None


def shows_only_thumbnails(feed_url: str) -> bool:
    """Whether the images of this feed's entries are no pages."""
    preset = preset_for(feed_url)
    return preset is not None and preset.only_thumbnails
