"""Pictures, captions and files of an article, as pages and apps show them (R104)."""

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import msgspec

from tsuzuki.connectors.html.lexbor import parse_html
from tsuzuki.connectors.html.sanitiser import SafeHtml, flattened
from tsuzuki.inbox.entries import Entry
from tsuzuki.model.harvest import Enclosure
from tsuzuki.model.titles import unescaped

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

_AROUND = frozenset({"a", "b", "center", "em", "i", "p", "picture", "span", "strong"})
"""Elements that often only wrap one picture."""
_FILE = re.compile(
    r"[\w%+.-]*\.(?:avif|gif|jpe?g|png|svg|webp)|(?:img|image|dsc|screen ?shot)?[\s_-]*\d*", re.IGNORECASE
)
MOST_CAPTIONS = 200


def add_captions(tree: "LexborHTMLParser", title: str) -> None:
    """A figure with a caption around each picture that has a text to hover, unless the page says that already."""
    for image in tree.css("img[title]")[:MOST_CAPTIONS]:
        caption = " ".join((image.attributes.get("title") or "").split())
        del image.attrs["title"]
        is_new = caption.casefold() not in title.casefold()
        if is_new and not _says_nothing(caption, image.attributes.get("src") or ""):
            _caption(tree, image, caption)


def has_captions(html: str) -> bool:
    """Whether pictures in it may have texts to hover."""
    return "<img" in html and ' title="' in html


def captioned(html: str, title: str) -> str:
    """The markup with captions, for whoever shows it as it is."""
    if not has_captions(html):
        return html
    tree = parse_html(flattened(SafeHtml(html)), is_fragment=True)
    add_captions(tree, title)
    return tree.html or ""


def all_captioned(articles: list[tuple[str, str]]) -> list[str]:
    """The captioned markup of many articles, given markup and title of each."""
    return [captioned(html, title) for html, title in articles]


def _says_nothing(caption: str, address: str) -> bool:
    """Whether it is only what the file is called."""
    name = address.partition("?")[0].rpartition("/")[2].rpartition(".")[0]
    return _FILE.fullmatch(caption[:200]) is not None or caption.replace(" ", "-").lower() == name.lower()


def _caption(tree: "LexborHTMLParser", image: "LexborNode", caption: str) -> None:
    held = _held(image)
    around = held.parent
    if around is not None and around.tag == "figure":
        if around.css_first("figcaption") is None:
            around.insert_child(_text(tree, "figcaption", caption))
        return
    if held.next is not None and caption in (held.next.text_content or ""):
        return
    if around is not None and around.tag in _AROUND:  # words stand beside it: a figure would tear them apart
        words = _text(tree, "small", caption)
        words.attrs["class"] = "caption"
        held.insert_after(words)
        return
    figure = tree.create_node("figure")
    figure.insert_child(_without_paragraph(held, image))
    figure.insert_child(_text(tree, "figcaption", caption))
    held.replace_with(figure)  # with copies: what is put in is not the node that it was made of


def _held(image: "LexborNode") -> "LexborNode":
    """The picture, or the outermost element that has nothing else in it."""
    held = image
    while held.parent is not None and held.parent.tag in _AROUND and _is_alone(held):
        held = held.parent
    return held


def _is_alone(node: "LexborNode") -> bool:
    for side in ("prev", "next"):
        other = getattr(node, side)
        while other is not None:
            if other.is_element_node or (other.text_content or "").strip():
                return False
            other = getattr(other, side)
    return True


def _without_paragraph(held: "LexborNode", image: "LexborNode") -> "LexborNode":
    """What goes into the figure: the picture with its link, without what was only there to set it apart."""
    link = image.parent
    return link if link is not None and link.tag == "a" else image if held.tag != "picture" else held


def _text(tree: "LexborHTMLParser", tag: str, words: str) -> "LexborNode":
    node = tree.create_node(tag)
    node.insert_child(words)
    return node


MOST_PICTURES = 50
LOOKED_AT = 100_000
"""Characters of an article in which pictures and recordings are looked for that came with it, too."""
# For sanitised markup, whose attributes always look like this, so that no parser is needed.
_SOURCE = re.compile(r'<(?:img|audio|video|source)(?: [a-z-]++="[^"]*+")*? src="([^"]*+)"')
_IMAGE = re.compile(r'<img(?: [a-z-]++="[^"]*+")*? src="([^"]*+)"')
_PICTURE_FILE = re.compile(r"\.(?:avif|gif|jpe?g|png|webp)\Z", re.IGNORECASE)
# As WordPress and Flickr name smaller copies.
_SIZE = re.compile(r"-(?:\d{2,5}x\d{2,5}|scaled|thumb|small|large|medium)\Z|_[a-z]\Z")
_LONG_NAME = 9
"""Letters of a file's name that make it unlikely to be another one's."""


class AttachedPicture(msgspec.Struct, frozen=True):
    """A picture above the text."""

    url: str
    caption: str


def pictures_in(item: Entry, text: str, picture: Callable[[str], str | None]) -> list[AttachedPicture]:
    """Pictures that came with an item and are not in its text; its thumbnail only where there is no other.

    `picture` says where each is brought from; None where it is not.
    """
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


def files_beside(enclosures: Iterable[Enclosure], text: str) -> list[Enclosure]:
    """Recordings and files that came with an item, without those that the text plays already."""
    played = {unescaped(source) for source in _SOURCE.findall(text[:LOOKED_AT])}
    return [one for one in enclosures if not is_picture(one) and one.url not in played]


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
    # without a distinct path, a picture is known by its query
    whole = place if len(name) > 2 else f"{place}?{parts.query}"
    return {whole, name} if len(name) >= _LONG_NAME and not name.endswith("default") else {whole}


def duration_of(seconds: int | None) -> str | None:
    """`4:05` or `1:02:03`; None where it is not known."""
    if not seconds or seconds < 0:
        return None
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def file_title(one: Enclosure) -> str:
    """What it is called, else what its file is."""
    parts = [part for part in unquote(one.url.partition("?")[0]).split("/") if part]
    return one.title or (parts[-1][:100] if parts else one.url[:100])
