"""An article's content: its sanitised markup, prepared for our page.

The policy lets a page load nothing from elsewhere: no third party hears what somebody reads. So pictures and recordings
come through this server; a page without players has links instead.
"""

import re
from collections.abc import Callable, Iterable
from html import escape
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import msgspec
from markupsafe import Markup

from tsuzuki.connectors.html.lexbor import parse_html
from tsuzuki.connectors.html.sanitiser import SafeHtml, flattened
from tsuzuki.images.media import MediaLink, MediaLinks
from tsuzuki.images.policy import Kind
from tsuzuki.inbox.entries import Entry
from tsuzuki.model.errors import SourceError
from tsuzuki.model.harvest import Enclosure
from tsuzuki.model.requests import Parsers
from tsuzuki.model.titles import unescaped
from tsuzuki.web.labels import label_of
from tsuzuki.web.links import Picture
from tsuzuki.web.texts import gettext as _

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

_AROUND = frozenset({"a", "b", "center", "em", "i", "p", "picture", "span", "strong"})
"""Elements that are often there only to hold one picture."""
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
    """The picture, or the outermost element that holds nothing else."""
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
    """Makes players. Nothing is loaded before somebody wants to hear it."""

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
        """The same within an article, with the way to the original; None where there is nothing to play."""
        player = self.player(_KINDS.get(kind), address, name)
        if player is None:
            return None
        link = f'<a href="{escape(address, quote=True)}">{escape(_("Open original file"))}</a>'
        return f'<span class="player" data-player>{player}<span class="player-line">{link}</span></span>'


MOST_PICTURES = 50
LOOKED_AT = 100_000
"""Characters of an article in which pictures and recordings are looked for that came with it, too."""
_MEGABYTE = 1_000_000
_SOURCE = re.compile(r'<(?:img|audio|video|source)(?: [a-z-]++="[^"]*+")*? src="([^"]*+)"')
_IMAGE = re.compile(r'<img(?: [a-z-]++="[^"]*+")*? src="([^"]*+)"')
_PICTURE_FILE = re.compile(r"\.(?:avif|gif|jpe?g|png|webp)\Z", re.IGNORECASE)
_SIZE = re.compile(r"-(?:\d{2,5}x\d{2,5}|scaled|thumb|small|large|medium)\Z|_[a-z]\Z")
_LONG_NAME = 9
"""Letters of a file's name that make it unlikely to be another one's."""


class AttachedPicture(msgspec.Struct, frozen=True):
    """A picture above the text."""

    url: str
    caption: str


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


def pictures_in(item: Entry, text: str, picture: Picture) -> list[AttachedPicture]:
    """Pictures that came with an item and are not in its text; its thumbnail only where there is no other."""
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


def media_of(enclosures: Iterable[Enclosure], text: str, players: Players) -> list[Medium]:
    """Recordings and files, without those that the text plays already. Of one film in several sizes the first plays."""
    played = {unescaped(source) for source in _SOURCE.findall(text[:LOOKED_AT])}
    films: set[int] = set()
    media = []
    for one in enclosures:
        if not is_picture(one) and one.url not in played:
            kind = recording_kind(one.media_type, one.url)
            is_again = kind == "video" and one.duration_seconds in films
            media.append(_medium(one, kind, None if is_again else players))
            if kind == "video" and one.duration_seconds:
                films.add(one.duration_seconds)
    return media


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
    # without a path that tells it from others, a picture is what its query says
    whole = place if len(name) > 2 else f"{place}?{parts.query}"
    return {whole, name} if len(name) >= _LONG_NAME and not name.endswith("default") else {whole}


def _medium(one: Enclosure, kind: Kind | None, players: Players | None) -> Medium:
    names = {"audio": ("audio", "headphones"), "video": ("video", "clapperboard")}
    name, icon = names.get(kind or "", ("file", "file-text"))
    size = None if not one.length or one.length < _MEGABYTE // 10 else f"{one.length / _MEGABYTE:.1f}"
    title = one.title or _file_name(one.url)
    player = None if players is None else players.player(kind, one.url, title)
    return Medium(label_of("medium", name), icon, one.url, title, duration_of(one.duration_seconds), size, player)


def duration_of(seconds: int | None) -> str | None:
    """`4:05` or `1:02:03`; None where it is not known."""
    if not seconds or seconds < 0:
        return None
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _file_name(url: str) -> str:
    parts = [part for part in unquote(url.partition("?")[0]).split("/") if part]
    return parts[-1][:100] if parts else url[:100]


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
    """Links that lead away open another page and tell it nothing. By text: a node for each takes ten times as long."""
    return _LINK.sub(
        lambda link: f'<a{_REL.sub("", link[1])} target="_blank" rel="noopener noreferrer nofollow">',
        html,
    )
