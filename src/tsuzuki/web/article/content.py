"""What is shown of an article: its sanitised markup, prepared for our page and nothing but our page.

The policy lets a page load nothing from elsewhere: no third party hears what somebody reads. So pictures and recordings
come through this server; a page without players has links instead.
"""

import re
from collections.abc import Callable
from html import escape

import msgspec
from markupsafe import Markup
from selectolax.lexbor import LexborHTMLParser, LexborNode

from tsuzuki.connectors.html.safe import SafeHtml, flattened
from tsuzuki.model.errors import SourceError
from tsuzuki.model.fetching import Parsers
from tsuzuki.web.article.captions import add_captions
from tsuzuki.web.article.players import Players
from tsuzuki.web.labels import label_of
from tsuzuki.web.pictures import Picture
from tsuzuki.web.texts import gettext as _

_OWN = re.compile(r"/(?!/)")
_MOST_TABLES = 100
_LINK = re.compile(r'<a(?! href="#)((?: [a-z]+="[^"]*+")*+)>')
_REL = re.compile(r' rel="[^"]*+"')
LONGEST_HERE = 32_768
"""Characters of an article that are prepared at once: a few milliseconds, whatever it holds."""
MOST_SHOWN = 2_000
"""Pictures and recordings of one article; the rest are links."""

Player = Callable[[str, str], str | None]
"""The markup of a player, by kind and address; None where there is none."""


class Labels(msgspec.Struct, frozen=True):
    """What stands for things that are not shown, in the reader's language."""

    picture: str
    audio: str
    video: str


class LocalMedia(msgspec.Struct, frozen=True):
    """What this server brings of what an article shows: addresses of pictures, and players by kind and address."""

    pictures: dict[str, str]
    players: dict[str, str]


class ArticleAddresses(msgspec.Struct, frozen=True):
    """What an article shows from elsewhere."""

    pictures: list[str]
    recordings: list[tuple[str, str]]
    """Kind and address."""


async def prepare(
    parsers: Parsers, content: SafeHtml, picture: Picture, players: Players | None = None, *, title: str = ""
) -> Markup:
    """The markup as the page shows it: links open elsewhere, headings stand below the page's, nothing is fetched.

    What is long is prepared in a parser process, which never sees the key that signs addresses.
    """
    labels = Labels(_("Picture"), _("Audio"), _("Video"))

    def player(kind: str, address: str) -> str | None:
        return None if players is None else players.markup(kind, address, label_of("medium", kind))

    if len(content) <= LONGEST_HERE:
        return _marked_safe(_arranged(content, title, labels, picture=picture, player=player))
    try:
        wanted = await parsers.run(addresses_in, (content,))
        pictures = {each: url for each in wanted.pictures if (url := picture(each)) is not None}
        made = {f"{kind} {each}": shown for kind, each in wanted.recordings if (shown := player(kind, each))}
        return _marked_safe(await parsers.run(arrange, (content, title, labels, LocalMedia(pictures, made))))
    except SourceError:
        return Markup("<p>{}</p>").format(_("This article is too large to show here. Open the original."))


def addresses_in(content: str) -> ArticleAddresses:
    """What `arrange` needs to know the places of; of what is too much to be shown, the first."""
    pictures: dict[str, None] = {}
    recordings: dict[tuple[str, str], None] = {}

    def picture(address: str) -> str | None:
        return pictures.setdefault(address)

    def player(kind: str, address: str) -> str | None:
        return recordings.setdefault((kind, address))

    _arranged(content, "", Labels("", "", ""), picture=picture, player=player)
    return ArticleAddresses(list(pictures)[:MOST_SHOWN], list(recordings)[:MOST_SHOWN])


def arrange(content: str, title: str, labels: Labels, brought: LocalMedia) -> str:
    """The markup with pictures and players that were made for it; links instead of all others."""
    return _arranged(
        content,
        title,
        labels,
        picture=brought.pictures.get,
        player=lambda kind, address: brought.players.get(f"{kind} {address}"),
    )


def _marked_safe(html: str) -> Markup:
    return Markup(html)  # noqa: S704  SafeHtml went through the sanitiser (I7); what is put in is escaped


def _arranged(content: str, title: str, labels: Labels, *, picture: Picture, player: Player) -> str:
    tree = LexborHTMLParser(flattened(SafeHtml(content)), is_fragment=True)
    for node in tree.css("picture > source"):
        node.decompose()
    _without_layout(tree)
    add_captions(tree, title)
    for node in tree.css("img"):
        _picture(node, picture, labels)
    for node in tree.css("audio, video"):
        kind, source = str(node.tag), node.attributes.get("src") or _first_source(node)
        words = labels.audio if kind == "audio" else labels.video
        _replace(node, player(kind, source) or _link(source, words, labels))
    return _elsewhere(_lowered(tree.html or ""))


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


def _picture(node: LexborNode, picture: Picture, labels: Labels) -> None:
    source = node.attributes.get("src") or ""
    brought = source if _OWN.match(source) or source.startswith("data:image/") else picture(source)
    if brought is None:
        _replace(node, _link(source, node.attributes.get("alt") or "", labels))
        return
    node.attrs["src"] = brought
    for name in ("srcset", "sizes"):
        if name in node.attributes:
            del node.attrs[name]


def _first_source(node: LexborNode) -> str:
    found = node.css_first("source")
    return (found.attributes.get("src") or "") if found is not None else ""


def _link(address: str, words: str, labels: Labels) -> str:
    label = escape(words.strip() or labels.picture)
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
