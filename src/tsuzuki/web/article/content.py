"""What is shown of an article: its sanitised markup, prepared for our page and nothing but our page.

The policy lets a page load nothing from elsewhere: no third party hears what somebody reads. So pictures and recordings
come through this server; a page without players has links instead.
"""

import re
from html import escape

from markupsafe import Markup
from selectolax.lexbor import LexborHTMLParser, LexborNode

from tsuzuki.connectors.html.safe import SafeHtml, flattened
from tsuzuki.web.article.captions import add_captions
from tsuzuki.web.article.players import Players
from tsuzuki.web.messages import say
from tsuzuki.web.pictures import Picture

_OWN = re.compile(r"/(?!/)")
_MOST_TABLES = 100
_MOST_PICTURES = 500
_MOST_PLAYERS = 50
_LINK = re.compile(r'<a(?! href="#)((?: [a-z]+="[^"]*+")*+)>')
_REL = re.compile(r' rel="[^"]*+"')
_MEDIA = {"audio": "article.audio", "video": "article.video"}


def prepare(content: SafeHtml, picture: Picture, players: Players | None = None, *, title: str = "") -> Markup:
    """The markup as the page shows it: links open elsewhere, headings stand below the page's, nothing is fetched."""
    tree = LexborHTMLParser(flattened(content), is_fragment=True)
    for node in tree.css("picture > source"):
        node.decompose()
    _without_layout(tree)
    add_captions(tree, title)
    for node in [*tree.css("img")[_MOST_PICTURES:], *tree.css("audio, video")[_MOST_PLAYERS:]]:
        node.decompose()
    for node in tree.css("img"):
        _picture(node, picture)
    for node in tree.css("audio, video"):
        source = node.attributes.get("src") or _first_source(node)
        words = say(_MEDIA[str(node.tag)])
        played = None if players is None else players.markup(str(node.tag), source, words)
        _replace(node, played or _link(source, words))
    return Markup(_elsewhere(_lowered(tree.html or "")))  # noqa: S704  SafeHtml went through the sanitiser (I7); what is put in is escaped


def _without_layout(tree: LexborHTMLParser) -> None:
    """Tables of one row, which only set things side by side, as their cells one below the other: phones are narrow."""
    for table in tree.css("table")[:_MOST_TABLES]:
        if [node.tag for node in table.css("table, th, caption, tr")] == ["table", "tr"]:
            rows = tree.create_node("div")
            for cell in table.css("td"):
                block = tree.create_node("div")
                for child in cell.iter(include_text=True):
                    block.insert_child(child)
                rows.insert_child(block)
            table.replace_with(rows)


def _picture(node: LexborNode, picture: Picture) -> None:
    source = node.attributes.get("src") or ""
    brought = source if _OWN.match(source) or source.startswith("data:image/") else picture(source)
    if brought is None:
        _replace(node, _link(source, node.attributes.get("alt") or say("article.picture")))
        return
    node.attrs["src"] = brought
    for name in ("srcset", "sizes"):
        if name in node.attributes:
            del node.attrs[name]


def _first_source(node: LexborNode) -> str:
    found = node.css_first("source")
    return (found.attributes.get("src") or "") if found is not None else ""


def _link(address: str, words: str) -> str:
    label = escape(words.strip()) or escape(say("article.picture"))
    if not address.startswith(("http://", "https://")):
        return f"<span>{label}</span>"
    return f'<a href="{escape(address, quote=True)}">{label}</a>'


def _replace(node: LexborNode, markup: str) -> None:
    fresh = LexborHTMLParser(markup, is_fragment=True).root
    if fresh is None:
        node.decompose()
    else:
        node.replace_with(fresh)


def _lowered(html: str) -> str:
    """The page's title is its only h1."""
    return re.sub(r"<(/?)h1\b", r"<\1h2", html)


def _elsewhere(html: str) -> str:
    """Links that lead away open another page and tell it nothing. By text: a node for each takes ten times as long."""
    return _LINK.sub(
        lambda link: f'<a{_REL.sub("", link[1])} target="_blank" rel="noopener noreferrer nofollow">',
        html,
    )
