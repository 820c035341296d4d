"""Hosts whose feeds follow from the address of a page, without looking at it. Pure."""

import re
from collections.abc import Callable
from urllib.parse import SplitResult, parse_qs, urlsplit

from tsuzuki.connectors.feed.presets import feed_url_for

Guess = Callable[[SplitResult], tuple[str, ...]]

_YOUTUBE = "https://www.youtube.com/feeds/videos.xml"
_YOUTUBE_CHANNEL = re.compile(r"/channel/(UC[\w-]{10,40})")
_YOUTUBE_USER = re.compile(r"/user/([\w-]{1,60})")
_REPOSITORY = re.compile(r"/([\w.-]+)/([\w.-]+?)(?:\.git)?(?:/|$)")
_PERSON = re.compile(r"/([\w.-]+)/?$")
_REDDIT = re.compile(r"/(?:r|user|u)/[\w.-]+(?:/(?:new|top|hot|rising))?")
_MEDIUM = re.compile(r"/(@?[\w.-]+)")
_MASTODON = re.compile(r"/@(\w[\w.-]*)/?$")
_NOT_OWNERS = frozenset({"about", "explore", "features", "login", "marketplace", "settings", "sponsors", "topics"})


def known_feeds(page_url: str) -> tuple[str, ...]:
    """The feeds that a page's address gives away, best first; none for a host we do not know."""
    try:
        parts = urlsplit(page_url)
        host = (parts.hostname or "").removeprefix("www.").removeprefix("m.")
    except ValueError:
        return ()
    preset = feed_url_for(page_url)
    if preset is not None:
        return (preset,)
    guess = _HOSTS.get(host) or next((found for suffix, found in _SUFFIXES if host.endswith(suffix)), None)
    if guess is not None:
        return guess(parts)
    return _mastodon(parts)


def _youtube(parts: SplitResult) -> tuple[str, ...]:
    if found := _YOUTUBE_CHANNEL.match(parts.path):
        return (f"{_YOUTUBE}?channel_id={found.group(1)}",)
    if found := _YOUTUBE_USER.match(parts.path):
        return (f"{_YOUTUBE}?user={found.group(1)}",)
    lists = parse_qs(parts.query).get("list", [])
    if lists and re.fullmatch(r"[\w-]{2,60}", lists[0]):
        return (f"{_YOUTUBE}?playlist_id={lists[0]}",)
    return ()


def _github(parts: SplitResult) -> tuple[str, ...]:
    found = _REPOSITORY.match(parts.path)
    if found and found.group(1) not in _NOT_OWNERS:
        root = f"https://github.com/{found.group(1)}/{found.group(2)}"
        return (f"{root}/releases.atom", f"{root}/tags.atom", f"{root}/commits.atom")
    person = _PERSON.match(parts.path)
    return (f"https://github.com/{person.group(1)}.atom",) if person and person.group(1) not in _NOT_OWNERS else ()


def _gitlab(parts: SplitResult) -> tuple[str, ...]:
    found = _REPOSITORY.match(parts.path)
    root = f"https://{parts.hostname}/{found.group(1)}/{found.group(2)}" if found else ""
    return (f"{root}/-/releases.atom", f"{root}/-/tags?format=atom") if found else ()


def _gitea(parts: SplitResult) -> tuple[str, ...]:
    found = _REPOSITORY.match(parts.path)
    return (f"https://{parts.hostname}/{found.group(1)}/{found.group(2)}/releases.rss",) if found else ()


def _reddit(parts: SplitResult) -> tuple[str, ...]:
    found = _REDDIT.match(parts.path)
    return (f"https://www.reddit.com{found.group()}/.rss",) if found else ("https://www.reddit.com/.rss",)


def _medium(parts: SplitResult) -> tuple[str, ...]:
    found = _MEDIUM.match(parts.path)
    return (f"https://medium.com/feed/{found.group(1)}",) if found else ()


def _mastodon(parts: SplitResult) -> tuple[str, ...]:
    found = _MASTODON.match(parts.path)
    return (f"{parts.scheme}://{parts.netloc}/@{found.group(1)}.rss",) if found else ()


def _below_page(suffix: str) -> Guess:
    def guess(parts: SplitResult) -> tuple[str, ...]:
        found = _PERSON.match(parts.path)
        return (f"https://{parts.netloc}/{found.group(1)}{suffix}",) if found else ()

    return guess


def _at_root(path: str) -> Guess:
    return lambda parts: (f"https://{parts.netloc}{path}",)


def _bluesky(parts: SplitResult) -> tuple[str, ...]:
    found = re.match(r"/profile/([\w.:-]+)", parts.path)
    return (f"https://bsky.app/profile/{found.group(1)}/rss",) if found else ()


_HOSTS: dict[str, Guess] = {
    "youtube.com": _youtube,
    "github.com": _github,
    "gitlab.com": _gitlab,
    "codeberg.org": _gitea,
    "reddit.com": _reddit,
    "old.reddit.com": _reddit,
    "medium.com": _medium,
    "bsky.app": _bluesky,
    "letterboxd.com": _below_page("/rss/"),
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
