"""What a page's scripts would have shown, shown without them: lazy images, noscript fallbacks, frames as links.

This step makes nothing safe; the sanitiser comes after it and sees everything it wrote.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, quote, unquote

from tsuzuki.connectors.html.addresses import MAX_ADDRESS, http_url, largest_of, parts_of, stable_url
from tsuzuki.connectors.html.lexbor import parse_html

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

_COUNTERS = """
ad.doubleclick.net ads.pheedo.com api.pheedo.com b.scorecardresearch.com bat.bing.com da.feedsportal.com
feeds.wordpress.com googleads.g.doubleclick.net pi.feedsportal.com pixel.quantserve.com pixel.wp.com
rss.buysellads.com sb.scorecardresearch.com secure-us.imrworldwide.com stats.wordpress.com stats.wp.com
www.facebook.com www.google-analytics.com feeds.feedburner.com feedproxy.google.com rss.feedsportal.com
analytics.twitter.com pixel.mathtag.com pxl.host track.hubspot.com www.assoc-amazon.com ir-na.amazon-adsystem.com
ws-na.amazon-adsystem.com pixel.newscred.com tracking.feedpress.it www.awin1.com c.statcounter.com www.linksynergy.com
ad.linksynergy.com
"""
HOSTS = frozenset(_COUNTERS.split())
"""Hosts whose pictures in feeds are never content."""

_PATHS = re.compile(r"/(?:pixel|beacon|track(?:ing|er)?|1x1|spacer)\.(?:gif|png|php)\Z", re.IGNORECASE)
_TINY_STYLE = re.compile(r"(?:^|;)\s*(?:width|height)\s*:\s*[01](?:px)?\s*(?:;|!|\Z)", re.IGNORECASE)
_HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_TINY = frozenset({"0", "1", "0px", "1px"})


def is_tracker(address: str, attributes: Mapping[str, str | None]) -> bool:
    """True for a picture nobody is meant to see: one pixel, hidden, or from a host that only counts."""
    if (attributes.get("width") or "").strip() in _TINY or (attributes.get("height") or "").strip() in _TINY:
        return True
    style = attributes.get("style")
    if style and (_TINY_STYLE.search(style) or _HIDDEN_STYLE.search(style)):
        return True
    parts = parts_of(address)
    return parts is not None and (parts.hostname in HOSTS or _PATHS.search(parts.path) is not None)


PREFIX = "item-"
_NAME = re.compile(rf"{PREFIX}[\w.:-]{{1,100}}", re.ASCII)
_NOT_IN_NAMES = re.compile(r"[^\w.:-]", re.ASCII)
LONGEST = 90


def is_anchor(name: str) -> bool:
    """Whether an id is one of ours."""
    return _NAME.fullmatch(name) is not None


def keep_anchors(tree: "LexborHTMLParser", base: str, page: str) -> None:
    """Give links to places of this text, which stands on these pages, and those places names that agree."""
    pages = {_page(base), _page(page)} - {""}
    links = [(node, name) for node in tree.css("a[href]") if (name := _place(node, base, pages))]
    if not links:
        return
    wanted = {name for _, name in links}
    found: dict[str, str] = {}
    taken: Counter[str] = Counter()
    for node in tree.css("[id], a[name]"):
        name = node.attributes.get("id") or node.attributes.get("name") or ""
        if name in wanted and name not in found:
            written = PREFIX + _NOT_IN_NAMES.sub("-", name.removeprefix(PREFIX))[:LONGEST]
            taken[written] += 1
            found[name] = node.attrs["id"] = written if taken[written] == 1 else f"{written}.{taken[written]}"
    for node, name in links:
        if name in found:
            node.attrs["href"] = f"#{found[name]}"


def _place(link: "LexborNode", base: str, pages: set[str]) -> str:
    """The place in this text that a link leads to; empty for one that leads elsewhere."""
    page, _, name = (link.attributes.get("href") or "").strip().partition("#")
    return unquote(name) if name and (not page or _page(http_url(page, base) or "") in pages) else ""


def _page(address: str) -> str:
    """What names a page: publishers write it with other schemes, tracking parameters or a slash at its end."""
    return stable_url(address.partition("#")[0]).rstrip("/") if address else ""


_YOUTUBE = re.compile(r"/(?:embed|v|shorts)/([\w-]{1,64})")
_ID = re.compile(r"[\w-]{1,64}")
_NOWHERE = "https://embedded.invalid/"
"""What an address without a host stands on where its document has none."""


def _youtube(path: str, query: dict[str, list[str]]) -> str | None:
    found = _YOUTUBE.fullmatch(path)
    if found is None:
        return None
    if found.group(1) != "videoseries":
        return f"https://www.youtube.com/watch?v={found.group(1)}"
    lists = query.get("list", [])
    return f"https://www.youtube.com/playlist?list={quote(lists[0])}" if lists else None


def _after(prefix: str) -> Callable[[str, dict[str, list[str]]], str | None]:
    def link(path: str, _query: dict[str, list[str]]) -> str | None:
        name = path.rsplit("/", 1)[-1]
        return prefix + name if _ID.fullmatch(name) else None

    return link


_HOSTS: dict[str, tuple[str, Callable[[str, dict[str, list[str]]], str | None]]] = {
    "youtube.com": ("YouTube", _youtube),
    "youtube-nocookie.com": ("YouTube", _youtube),
    "player.vimeo.com": ("Vimeo", _after("https://vimeo.com/")),
    "dailymotion.com": ("Dailymotion", _after("https://www.dailymotion.com/video/")),
    "geo.dailymotion.com": ("Dailymotion", _after("https://www.dailymotion.com/video/")),
}


def link_for(frame_address: str, base: str, title: str = "") -> tuple[str, str] | None:
    """Where a person would see what this frame shows, and what to call it; None for one that has no address."""
    address = http_url(frame_address, base or _NOWHERE)
    parts = parts_of(address) if address else None
    host = (parts.hostname or "").removeprefix("www.") if parts is not None else ""
    if parts is None or address is None or not host or address.startswith(_NOWHERE):
        return None
    name, link = _HOSTS.get(host, ("", None))
    target = link(parts.path.rstrip("/"), parse_qs(parts.query)) if link is not None else None
    if target is not None:
        return target, title or f"Video on {name}"
    return address, f"{title} ({host})" if title else host


_WORTH_A_LOOK = ("<img", "<iframe", "<noscript", "<embed", "<object", "srcset", "data-")
_LAZY = "src lazy-src original lazy original-src hi-res-src actualsrc echo url image"
_LAZY_SOURCES = tuple(f"data-{name}" for name in _LAZY.split())
_LAZY_SETS = ("data-srcset", "data-lazy-srcset", "data-original-set")
_PLACEHOLDERS = ("placeholder", "spacer", "blank", "transparent", "loading", "lazy", "grey", "gray", "1x1", "pixel")
_PICTURE_FILE = re.compile(r"\.(?:gif|png|svg|jpe?g)")
_ADDRESS_OF_OBJECT = "param[name=movie], param[name=src], param[name=url]"


def reveal(html: str, base: str, page: str = "") -> str:
    """The same markup with its real images in place, without trackers, and frames as links; shown on `page`."""
    lowered = html.lower()
    has_places = "#" in html and ("id=" in lowered or "name=" in lowered)
    if not has_places and not any(word in lowered for word in _WORTH_A_LOOK):
        return html
    tree = parse_html(html, is_fragment=True)
    if has_places:
        keep_anchors(tree, base, page)
    for node in tree.css("img, source, video, audio"):
        _reveal_source(node, base)
    for node in tree.css("noscript"):
        _settle_fallback(node)
    for node in reversed(tree.css("iframe, embed, object")):  # what is inside another one first
        _frame_to_link(tree, node, base)
    return tree.html or ""


def _attribute(node: "LexborNode", name: str) -> str:
    return node.attributes.get(name) or ""


def _reveal_source(node: "LexborNode", base: str) -> None:
    attributes = node.attributes
    srcset = next((value for name in _LAZY_SETS if (value := attributes.get(name))), None) or attributes.get("srcset")
    current = attributes.get("src") or ""
    source = _real_source(attributes, current, srcset=srcset, base=base)
    source = http_url(source, base) or source
    if node.tag == "img" and is_tracker(source, attributes):
        node.decompose()
        return
    if source != current:
        node.attrs["src"] = source
    if srcset and srcset != attributes.get("srcset"):
        node.attrs["srcset"] = srcset


def _real_source(attributes: Mapping[str, str | None], current: str, *, srcset: str | None, base: str) -> str:
    for name in _LAZY_SOURCES:
        lazy = attributes.get(name) or ""
        if lazy and not lazy.startswith(("{", "[", "data:")) and " " not in lazy.strip():
            return lazy
    address = http_url(current, base)
    if srcset and (address is None or is_placeholder(address)):
        return largest_of(srcset, base) or current
    return current


def is_placeholder(address: str) -> bool:
    """Whether an address stands where the picture will be."""
    address = address[:MAX_ADDRESS].lower()
    return address.startswith(("data:", "about:")) or any(map(_is_placeholder, address.split("/")))


def _is_placeholder(name: str) -> bool:
    """One part of an address: a word of those that say so, and after it the end of a picture's name."""
    places = [place for word in _PLACEHOLDERS if (place := name.find(word)) >= 0]
    return bool(places) and _PICTURE_FILE.search(name, min(places)) is not None


def _settle_fallback(noscript: "LexborNode") -> None:
    """A noscript image stands for the placeholder before it, unless that one shows the picture already."""
    if noscript.css_first("img") is None:
        noscript.decompose()
        return
    before = _element_before(noscript)
    if before is not None and before.tag == "img":
        source = _attribute(before, "src")
        if source and not is_placeholder(source):
            noscript.decompose()
            return
        before.decompose()
    noscript.unwrap()


def _element_before(node: "LexborNode") -> "LexborNode | None":
    before = node.prev
    while before is not None and not before.is_element_node and not (before.text_content or "").strip():
        before = before.prev
    return before if before is not None and before.is_element_node else None


def _frame_to_link(tree: "LexborHTMLParser", frame: "LexborNode", base: str) -> None:
    source = next((text for name in ("src", "data-src", "data") if (text := _attribute(frame, name))), "")
    source = source or next((_attribute(node, "value") for node in frame.css(_ADDRESS_OF_OBJECT)), "")
    known = link_for(source, base, title=_attribute(frame, "title").strip())
    if known is None or is_tracker(known[0], frame.attributes):
        frame.unwrap() if frame.tag == "object" else frame.decompose()
        return
    address, words = known
    link = tree.create_node("a")
    link.attrs["href"] = address
    link.insert_child(words)
    frame.replace_with(link)
