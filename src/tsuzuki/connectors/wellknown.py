"""Hosts whose feeds follow from the address of a page or from a word in it, without understanding the page. Pure."""

import re
from collections.abc import Callable
from urllib.parse import SplitResult, parse_qs, urlsplit

import msgspec

from tsuzuki.connectors.feed.presets import feed_url_for, feed_url_in
from tsuzuki.connectors.html.addresses import http_url
from tsuzuki.model.errors import NotAFeed

Guess = Callable[[SplitResult], tuple[str, ...]]

_YOUTUBE = "https://www.youtube.com/feeds/videos.xml"
_YOUTUBE_CHANNEL = re.compile(r"/channel/(UC[\w-]{10,40})")
_YOUTUBE_USER = re.compile(r"/user/([\w-]{1,60})")
_YOUTUBE_LIST = re.compile(r"[\w-]{2,60}")
_YOUTUBE_IN_PAGE = (
    re.compile(r'"external(?:Channel)?Id":"(UC[\w-]{10,40})"'),
    re.compile(r'<link rel="canonical" href="https://www\.youtube\.com/channel/(UC[\w-]{10,40})"'),
    re.compile(r'itemprop="(?:channelId|identifier)" content="(UC[\w-]{10,40})"'),
    re.compile(r'"channelId":"(UC[\w-]{10,40})"'),
)
"""Where its pages name their channel, the surest first: a page of a video names other people's channels, too."""
_YOUTUBE_HOSTS = frozenset({"youtube.com", "music.youtube.com", "youtu.be"})
_APPLE_PODCAST = re.compile(r"/(?:[\w-]{1,20}/)?podcast/(?:[^/]{1,500}/)?id(\d{1,15})(?:/|\Z)")
_REPOSITORY = re.compile(r"/([\w.-]+)/([\w.-]+?)(?:\.git)?(?:/|\Z)")
_PERSON = re.compile(r"/([\w.-]+)/?\Z")
_REDDIT = re.compile(r"/(?:r|user|u)/[\w.-]+(?:/(?:new|top|hot|rising))?")
_NOT_OWNERS = frozenset({"about", "explore", "features", "login", "marketplace", "settings", "sponsors", "topics"})
MOST_LOOKED_UP = 3


class _LookedUp(msgspec.Struct, frozen=True):
    feed_url: str = msgspec.field(default="", name="feedUrl")


class _Lookup(msgspec.Struct, frozen=True):
    results: list[_LookedUp] = []


def known_feeds(page_url: str) -> tuple[str, ...]:
    """The feeds that a page's address gives away, best first; none for a host we do not know."""
    parts, host = _split(page_url)
    preset = feed_url_for(page_url)
    if preset is not None:
        return (preset,)
    guess = _HOSTS.get(host) or next((found for suffix, found in _SUFFIXES if host.endswith(suffix)), None)
    return (guess or _mastodon)(parts)


def advertised_feeds(page_url: str, text: str) -> tuple[str, ...]:
    """The feeds that a word in a page gives away, on hosts whose addresses do not."""
    if _split(page_url)[1] in _YOUTUBE_HOSTS:
        for pattern in _YOUTUBE_IN_PAGE:
            if found := pattern.search(text):
                return (f"{_YOUTUBE}?channel_id={found.group(1)}",)
    feed_url = feed_url_in(text)
    return () if feed_url is None else (feed_url,)


def generator_paths(text: str) -> tuple[str, ...]:
    """Where the software that made a page has its feeds; on whatever domain it runs."""
    return tuple(path for mark, path in _GENERATORS if mark in text)


def directory_lookup(page_url: str) -> str | None:
    """The address at which a directory of podcasts names the feed of this page."""
    parts, host = _split(page_url)
    found = _APPLE_PODCAST.match(parts.path) if host in {"podcasts.apple.com", "itunes.apple.com"} else None
    return f"https://itunes.apple.com/lookup?id={found.group(1)}&entity=podcast" if found else None


def read_lookup(body: bytes) -> tuple[str, ...]:
    """The feeds in a directory's answer; NotAFeed when it cannot be read."""
    try:
        answer = msgspec.json.decode(body, type=_Lookup)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise NotAFeed("The directory's answer cannot be read.") from error
    return tuple(url for one in answer.results if (url := http_url(one.feed_url)))[:MOST_LOOKED_UP]


def _split(page_url: str) -> tuple[SplitResult, str]:
    """The parts of an address, and its host without `www.` and `m.`; empty ones when it cannot be read."""
    try:
        parts = urlsplit(page_url)
        return parts, (parts.hostname or "").removeprefix("www.").removeprefix("m.")
    except ValueError:
        return urlsplit(""), ""


def _youtube(parts: SplitResult) -> tuple[str, ...]:
    if found := _YOUTUBE_CHANNEL.match(parts.path):
        return (f"{_YOUTUBE}?channel_id={found.group(1)}",)
    if found := _YOUTUBE_USER.match(parts.path):
        return (f"{_YOUTUBE}?user={found.group(1)}",)
    lists = parse_qs(parts.query).get("list", [])
    if lists and _YOUTUBE_LIST.fullmatch(lists[0]):
        return (f"{_YOUTUBE}?playlist_id={lists[0]}",)
    return ()


def _github(parts: SplitResult) -> tuple[str, ...]:
    found = _REPOSITORY.match(parts.path)
    if found and found.group(1) not in _NOT_OWNERS:
        root = f"https://github.com/{found.group(1)}/{found.group(2)}"
        return (f"{root}/releases.atom", f"{root}/tags.atom", f"{root}/commits.atom")
    person = _PERSON.match(parts.path)
    return (f"https://github.com/{person.group(1)}.atom",) if person and person.group(1) not in _NOT_OWNERS else ()


def _reddit(parts: SplitResult) -> tuple[str, ...]:
    found = _REDDIT.match(parts.path)
    return (f"https://www.reddit.com{found.group()}/.rss",) if found else ("https://www.reddit.com/.rss",)


def _by_path(pattern: re.Pattern[str], *feeds: str) -> Guess:
    """These feeds, with what the pattern's groups find in the page's path as `{0}`, `{1}`; none where it finds none."""

    def guess(parts: SplitResult) -> tuple[str, ...]:
        found = pattern.match(parts.path)
        site = {"scheme": parts.scheme, "netloc": parts.netloc, "host": parts.hostname}
        return tuple(feed.format(*found.groups(), **site) for feed in feeds) if found else ()

    return guess


def _at_root(path: str) -> Guess:
    return lambda parts: (f"https://{parts.netloc}{path}",)


_mastodon = _by_path(re.compile(r"/@(\w[\w.-]*)/?\Z"), "{scheme}://{netloc}/@{0}.rss")
_HOSTS: dict[str, Guess] = {
    **dict.fromkeys(_YOUTUBE_HOSTS, _youtube),
    "github.com": _github,
    "gitlab.com": _by_path(
        _REPOSITORY, "https://{host}/{0}/{1}/-/releases.atom", "https://{host}/{0}/{1}/-/tags?format=atom"
    ),
    "codeberg.org": _by_path(_REPOSITORY, "https://{host}/{0}/{1}/releases.rss"),
    "reddit.com": _reddit,
    "old.reddit.com": _reddit,
    "medium.com": _by_path(re.compile(r"/(@?[\w.-]+)"), "https://medium.com/feed/{0}"),
    "bsky.app": _by_path(re.compile(r"/profile/([\w.:-]{1,300})"), "https://bsky.app/profile/{0}/rss"),
    "open.substack.com": _by_path(re.compile(r"/pub/([\w-]{1,100})"), "https://{0}.substack.com/feed"),
    "letterboxd.com": _by_path(_PERSON, "https://{netloc}/{0}/rss/"),
    "news.ycombinator.com": _at_root("/rss"),
    "lobste.rs": _at_root("/rss"),
}
_SUFFIXES: tuple[tuple[str, Guess], ...] = (
    (".substack.com", _at_root("/feed")),
    (".wordpress.com", _at_root("/feed/")),
    (".medium.com", _at_root("/feed")),
    (".tumblr.com", _at_root("/rss")),
    (".blogspot.com", _at_root("/feeds/posts/default")),
    (".livejournal.com", _at_root("/data/rss")),
    (".bearblog.dev", _at_root("/feed/")),
    (".itch.io", _at_root("/devlog.rss")),
)
_GENERATORS = (
    ("substackcdn.com", "/feed"),
    ("squarespace.com", "?format=rss"),
    ("/wp-content/", "/feed/"),
    ('content="Ghost ', "/rss/"),
    ("static.parastorage.com", "/blog-feed.xml"),
    ('content="blogger"', "/feeds/posts/default"),
)
"""A mark in a page, and where that software has its feed."""
