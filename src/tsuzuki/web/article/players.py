"""Players for what an article brings to listen to or to watch: the browser's own, fed by this server."""

from html import escape

from markupsafe import Markup

from tsuzuki.catalogue.media.links import Link, MediaLinks
from tsuzuki.catalogue.media.policy import Kind
from tsuzuki.web.labels import label_of
from tsuzuki.web.site import Site
from tsuzuki.web.texts import gettext as _

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
        source = self._links.url(Link(kind, address))
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


def players_of(site: Site) -> Players:
    """By way of this server, by signed addresses."""
    return Players(site.media_links)
