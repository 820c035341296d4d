"""What a page's scripts would have shown, shown without them: lazy images, noscript fallbacks, frames as links.

This step makes nothing safe; the sanitiser comes after it and sees everything it wrote.
"""

import re
from collections.abc import Mapping

from selectolax.lexbor import LexborHTMLParser, LexborNode

from tsuzuki.connectors.html.addresses import MAX_ADDRESS, http_url, largest_of
from tsuzuki.connectors.html.anchors import keep_anchors
from tsuzuki.connectors.html.embeds import link_for
from tsuzuki.connectors.html.trackers import is_tracker

_WORTH_A_LOOK = ("<img", "<iframe", "<noscript", "<embed", "<object", "srcset", "data-")
_LAZY_SOURCES = (
    "data-src",
    "data-lazy-src",
    "data-original",
    "data-lazy",
    "data-original-src",
    "data-hi-res-src",
    "data-actualsrc",
    "data-echo",
    "data-url",
    "data-image",
)
_LAZY_SETS = ("data-srcset", "data-lazy-srcset", "data-original-set")
_STAND_INS = ("placeholder", "spacer", "blank", "transparent", "loading", "lazy", "grey", "gray", "1x1", "pixel")
_PICTURE_FILE = re.compile(r"\.(?:gif|png|svg|jpe?g)")
_ADDRESS_OF_OBJECT = "param[name=movie], param[name=src], param[name=url]"


def reveal(html: str, base: str, page: str = "") -> str:
    """The same markup with its real images in place, without trackers, and frames as links; shown on `page`."""
    lowered = html.lower()
    has_places = "#" in html and ("id=" in lowered or "name=" in lowered)
    if not has_places and not any(word in lowered for word in _WORTH_A_LOOK):
        return html
    tree = LexborHTMLParser(html, is_fragment=True)
    if has_places:
        keep_anchors(tree, {each.partition("#")[0] for each in (base, page)})
    for node in tree.css("img, source, video, audio"):
        _reveal_source(node, base)
    for node in tree.css("noscript"):
        _settle_fallback(node)
    for node in reversed(tree.css("iframe, embed, object")):  # what is inside another one first
        _frame_to_link(tree, node, base)
    return tree.html or ""


def _attribute(node: LexborNode, name: str) -> str:
    return node.attributes.get(name) or ""


def _reveal_source(node: LexborNode, base: str) -> None:
    attributes = node.attributes
    srcset = next((value for name in _LAZY_SETS if (value := attributes.get(name))), None) or attributes.get("srcset")
    current = attributes.get("src") or ""
    source = _real_source(attributes, current, srcset=srcset, base=base)
    source = http_url(source, base) or source
    if node.tag == "img" and _is_tracker(attributes, source):
        node.decompose()
        return
    if source != current:
        node.attrs["src"] = source
    if srcset and srcset != attributes.get("srcset"):
        node.attrs["srcset"] = srcset


def _real_source(attributes: Mapping[str, str | None], current: str, *, srcset: str | None, base: str) -> str:
    for name in _LAZY_SOURCES:
        lazy = attributes.get(name)
        if lazy and _looks_like_address(lazy):
            return lazy
    address = http_url(current, base)
    if srcset and (address is None or is_placeholder(address)):
        return largest_of(srcset, base) or current
    return current


def is_placeholder(address: str) -> bool:
    """Whether an address stands where the picture will be."""
    address = address[:MAX_ADDRESS].lower()
    return address.startswith(("data:", "about:")) or any(map(_is_stand_in, address.split("/")))


def _is_stand_in(name: str) -> bool:
    """One part of an address: a word of those that say so, and after it the end of a picture's name."""
    places = [place for word in _STAND_INS if (place := name.find(word)) >= 0]
    return bool(places) and _PICTURE_FILE.search(name, min(places)) is not None


def _looks_like_address(text: str) -> bool:
    return not text.startswith(("{", "[", "data:")) and " " not in text.strip()


def _settle_fallback(noscript: LexborNode) -> None:
    """A noscript image stands for the placeholder before it, unless that one shows the picture already."""
    if noscript.css_first("img") is None:
        noscript.decompose()
        return
    before = _element_before(noscript)
    if before is not None and before.tag == "img":
        if _is_shown(before):
            noscript.decompose()
            return
        before.decompose()
    noscript.unwrap()


def _element_before(node: LexborNode) -> LexborNode | None:
    before = node.prev
    while before is not None and not before.is_element_node and not (before.text_content or "").strip():
        before = before.prev
    return before if before is not None and before.is_element_node else None


def _is_shown(image: LexborNode) -> bool:
    source = _attribute(image, "src")
    return bool(source) and not is_placeholder(source)


def _is_tracker(attributes: Mapping[str, str | None], address: str) -> bool:
    return is_tracker(
        address,
        width=attributes.get("width") or "",
        height=attributes.get("height") or "",
        style=attributes.get("style") or "",
    )


def _frame_to_link(tree: LexborHTMLParser, frame: LexborNode, base: str) -> None:
    source = next((text for name in ("src", "data-src", "data") if (text := _attribute(frame, name))), "")
    source = source or next((_attribute(node, "value") for node in frame.css(_ADDRESS_OF_OBJECT)), "")
    known = link_for(source, base, title=_attribute(frame, "title").strip())
    if known is None or _is_tracker(frame.attributes, known[0]):
        frame.unwrap() if frame.tag == "object" else frame.decompose()
        return
    address, words = known
    link = tree.create_node("a")
    link.attrs["href"] = address
    link.insert_child(words)
    frame.replace_with(link)
