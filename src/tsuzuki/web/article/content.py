"""An article's content: its sanitised markup, prepared for our page.

The policy lets a page load nothing from elsewhere: no third party learns what people read. So pictures and recordings
come through this server; a page without players has links instead.
"""

import re
from collections.abc import Callable, Iterable
from html import escape
from typing import TYPE_CHECKING

import msgspec
from markupsafe import Markup

from tsuzuki.connectors.html.lexbor import parse_html
from tsuzuki.connectors.html.sanitiser import SafeHtml, flattened
from tsuzuki.images.media import MediaLink, MediaLinks
from tsuzuki.images.policy import Kind
from tsuzuki.inbox.pictures import add_captions, duration_of, file_title, files_beside
from tsuzuki.model.errors import SourceError
from tsuzuki.model.harvest import Enclosure
from tsuzuki.model.requests import Parsers
from tsuzuki.web.labels import label_of
from tsuzuki.web.links import Picture
from tsuzuki.web.texts import gettext as _

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

_KINDS: dict[str, Kind] = {"audio": "audio", "video": "video"}
_ENDINGS: dict[str, Kind] = {
    "aac": "audio",
    "flac": "audio",
    "m4a": "audio",
    "m4b": "audio",
    "mp3": "audio",
    "oga": "audio",
    "ogg": "audio",
    "opus": "audio",
    "wav": "audio",
    "m4v": "video",
    "mov": "video",
    "mp4": "video",
    "ogv": "video",
    "webm": "video",
}
_UNSAID = frozenset({"", "application/octet-stream", "binary/octet-stream"})


def recording_kind(media_type: str | None, url: str) -> Kind | None:
    """Whether a file is a sound or a film by what its feed says, else by its name; None for anything else."""
    said = (media_type or "").partition(";")[0].strip().lower()
    if said not in _UNSAID:
        return _KINDS.get(said.partition("/")[0])
    return _ENDINGS.get(url.partition("?")[0].rpartition(".")[2].lower())


class Players:
    """Makes players, which load nothing before somebody starts them."""

    def __init__(self, links: MediaLinks) -> None:
        self._links = links

    def player(self, kind: Kind | None, address: str, name: str) -> Markup | None:
        """A player of what is at this address; None where there is nothing to play."""
        if kind is None or not address.startswith(("http://", "https://")):
            return None
        source = self._links.url(MediaLink(kind, address))
        words = escape(name.strip() or label_of("medium", kind), quote=True)
        known_as = escape(address, quote=True)
        # what a browser cannot play it says itself; the link beside leads to the file wherever this player fails
        return Markup(  # noqa: S704  every value is escaped
            f'<{kind} controls preload="none" tabindex="0" src="{source}" aria-label="{words}" data-plays="{known_as}">'
            f"</{kind}>"
        )

    def markup(self, kind: str, address: str, name: str) -> str | None:
        """A player within an article, with a link to the original; None if it cannot be played."""
        player = self.player(_KINDS.get(kind), address, name)
        if player is None:
            return None
        link = f'<a href="{escape(address, quote=True)}">{escape(_("Open original file"))}</a>'
        return f'<span class="player" data-player>{player}<span class="player-line">{link}</span></span>'


_MEGABYTE = 1_000_000


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


def media_of(enclosures: Iterable[Enclosure], text: str, players: Players) -> list[Medium]:
    """Recordings and files, without those that the text plays already. Of one film in several sizes the first plays."""
    films: set[int] = set()
    media = []
    for one in files_beside(enclosures, text):
        kind = recording_kind(one.media_type, one.url)
        is_again = kind == "video" and one.duration_seconds in films
        media.append(_medium(one, kind, None if is_again else players))
        if kind == "video" and one.duration_seconds:
            films.add(one.duration_seconds)
    return media


def _medium(one: Enclosure, kind: Kind | None, players: Players | None) -> Medium:
    names = {"audio": ("audio", "headphones"), "video": ("video", "clapperboard")}
    name, icon = names.get(kind or "", ("file", "file-text"))
    size = None if not one.length or one.length < _MEGABYTE // 10 else f"{one.length / _MEGABYTE:.1f}"
    title = file_title(one)
    player = None if players is None else players.player(kind, one.url, title)
    return Medium(label_of("medium", name), icon, one.url, title, duration_of(one.duration_seconds), size, player)


_OWN = re.compile(r"/(?!/)")
_MOST_TABLES = 100
_LINK = re.compile(r'<a(?! href="#)((?: [a-z]+="[^"]*+")*+)>')
_REL = re.compile(r' rel="[^"]*+"')
LONGEST_HERE = 32_768
"""Characters of an article that are prepared in one go: a few milliseconds, whatever they are."""
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
    """Where an article's images and recordings come from."""

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
    tree = parse_html(flattened(SafeHtml(content)), is_fragment=True)
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


def _without_layout(tree: "LexborHTMLParser") -> None:
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


def _picture(node: "LexborNode", picture: Picture, labels: Labels) -> None:
    source = node.attributes.get("src") or ""
    brought = source if _OWN.match(source) or source.startswith("data:image/") else picture(source)
    if brought is None:
        _replace(node, _link(source, node.attributes.get("alt") or "", labels))
        return
    node.attrs["src"] = brought
    for name in ("srcset", "sizes"):
        if name in node.attributes:
            del node.attrs[name]


def _first_source(node: "LexborNode") -> str:
    found = node.css_first("source")
    return (found.attributes.get("src") or "") if found is not None else ""


def _link(address: str, words: str, labels: Labels) -> str:
    label = escape(words.strip() or labels.picture)
    if not address.startswith(("http://", "https://")):
        return f"<span>{label}</span>"
    return f'<a href="{escape(address, quote=True)}">{label}</a>'


def _replace(node: "LexborNode", markup: str) -> None:
    fresh = parse_html(markup, is_fragment=True).root
    if fresh is None:
        node.decompose()
    else:
        node.replace_with(fresh)


def _lowered(html: str) -> str:
    """The page's title is its only h1."""
    return re.sub(r"<(/?)h1\b", r"<\1h2", html)


def _elsewhere(html: str) -> str:
    """Links to other sites open a new page and send no referrer. By text: a node for each takes ten times as long."""
    return _LINK.sub(
        lambda link: f'<a{_REL.sub("", link[1])} target="_blank" rel="noopener noreferrer nofollow">',
        html,
    )
