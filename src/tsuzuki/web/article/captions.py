"""Hover texts of pictures, which nobody sees on a phone, as captions below them (R104)."""

import re

from selectolax.lexbor import LexborHTMLParser, LexborNode

_AROUND = frozenset({"a", "b", "center", "em", "i", "p", "picture", "span", "strong"})
"""Elements that are often there only to hold one picture."""
_FILE = re.compile(
    r"[\w%+.-]*\.(?:avif|gif|jpe?g|png|svg|webp)|(?:img|image|dsc|screen ?shot)?[\s_-]*\d*", re.IGNORECASE
)
MOST_CAPTIONS = 200


def add_captions(tree: LexborHTMLParser, title: str) -> None:
    """A figure with a caption around each picture that has a text to hover, unless the page says that already."""
    for image in tree.css("img[title]")[:MOST_CAPTIONS]:
        caption = " ".join((image.attributes.get("title") or "").split())
        del image.attrs["title"]
        is_new = caption.casefold() not in title.casefold()
        if is_new and not _says_nothing(caption, image.attributes.get("src") or ""):
            _caption(tree, image, caption)


def _says_nothing(caption: str, address: str) -> bool:
    """Whether it is only what the file is called."""
    name = address.partition("?")[0].rpartition("/")[2].rpartition(".")[0]
    return _FILE.fullmatch(caption[:200]) is not None or caption.replace(" ", "-").lower() == name.lower()


def _caption(tree: LexborHTMLParser, image: LexborNode, caption: str) -> None:
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


def _held(image: LexborNode) -> LexborNode:
    """The picture, or the outermost element that holds nothing else."""
    held = image
    while held.parent is not None and held.parent.tag in _AROUND and _is_alone(held):
        held = held.parent
    return held


def _is_alone(node: LexborNode) -> bool:
    for side in ("prev", "next"):
        other = getattr(node, side)
        while other is not None:
            if other.is_element_node or (other.text_content or "").strip():
                return False
            other = getattr(other, side)
    return True


def _without_paragraph(held: LexborNode, image: LexborNode) -> LexborNode:
    """What goes into the figure: the picture with its link, without what was only there to set it apart."""
    link = image.parent
    return link if link is not None and link.tag == "a" else image if held.tag != "picture" else held


def _text(tree: LexborHTMLParser, tag: str, words: str) -> LexborNode:
    node = tree.create_node(tag)
    node.insert_child(words)
    return node
