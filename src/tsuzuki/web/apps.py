"""`/apps`: which reader apps work with this server, and what to enter in each; docs/apps.md is made of it."""

from typing import Literal

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.http.routing import Resource, page
from tsuzuki.web.site import APPS, DEVICE_PASSWORDS, Site
from tsuzuki.web.texts import N_


class Way(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of account in an app: what it is called there, and the address that the app wants."""

    protocol: str
    account: str
    path: str = ""
    """Of the address, after the server's; empty where the app adds the rest by itself."""
    note: str = ""
    library: str = ""
    """The one that the app calls servers with, if it was tried with this server."""
    known_from: Literal["source", "notes", ""] = ""
    """Where the calls were looked up that our tests replay; empty where they are not known."""


class ReaderApp(msgspec.Struct, frozen=True):
    """An app, where it runs, and its kinds of accounts, the best first."""

    name: str
    systems: str
    ways: tuple[Way, ...]

    @property
    def anchor(self) -> str:
        """Names its place on the page."""
        return self.name.partition(",")[0].lower().replace(" ", "-")


GREADER = "/api/greader.php"
FEVER = "/fever/"
_ADDS = N_("Enter only the address of this server: the app adds the rest.")
_KEY = N_("It asks for an API key: that is the device password. It needs no username.")
_IN_BROWSER = N_(
    "It runs in a browser: the operator must allow its address in TSUZUKI_CORS_ALLOWED_ORIGINS. The API key is the "
    "device password."
)


def _greader(
    known_from: Literal["source", "notes", ""] = "", path: str = GREADER, note: str = "", library: str = ""
) -> Way:
    return Way(protocol="greader", account="FreshRSS", path=path, note=note, library=library, known_from=known_from)


def _miniflux(
    known_from: Literal["source", "notes", ""] = "", note: str = "", path: str = "/miniflux", library: str = ""
) -> Way:
    return Way(
        protocol="miniflux",
        account="Miniflux",
        path=path,
        note=note or _KEY,
        library=library,
        known_from=known_from,
    )


def _generic(known_from: Literal["source", "notes", ""]) -> Way:
    return Way(protocol="greader", account="Google Reader API", note=_ADDS, known_from=known_from)


def _komga(note: str = "") -> Way:
    return Way(protocol="komga", account="Komga", path="/komga", note=note)


def _koreader(account: str, note: str = "") -> Way:
    return Way(protocol="koreader", account=account, path="/koreader", note=note)


def _fever(
    known_from: Literal["source", "notes", ""] = "", path: str = FEVER, note: str = "", library: str = ""
) -> Way:
    return Way(protocol="fever", account="Fever", path=path, note=note, library=library, known_from=known_from)


def _opds(note: str = "", library: str = "", path: str = "/opds/v1.2/catalog") -> Way:
    return Way(protocol="opds", account="OPDS", path=path, note=note, library=library)


def _syncyomi() -> Way:
    note = N_("In its settings for synchronisation. The API key is the device password.")
    return Way(protocol="syncyomi", account="SyncYomi", path="/syncyomi", note=note)


READER_APPS = (
    ReaderApp("Cantook", "iOS, Android", (_opds(N_("Also shows how far you read."), path="/opds/v2/catalog"),)),
    ReaderApp("Capy Reader", "Android", (_greader("source", "", _ADDS), _miniflux("source", path="/miniflux/v1/"))),
    ReaderApp("Chunky", "iOS", (_opds(),)),
    ReaderApp("EasyRSS", "Android", (_generic("notes"),)),
    ReaderApp(
        "elfeed-protocol",
        "Emacs",
        (_fever("source", note=N_("As fever+https://you@…, with :api-url in its settings.")),),
    ),
    ReaderApp("FeedFlow", "Android, iOS, macOS, Windows, Linux", (_greader("source"),)),
    ReaderApp("FeedMe", "Android", (_greader("notes"), _fever("notes"))),
    ReaderApp("Fiery Feeds", "iOS, macOS", (_greader(), _fever())),
    ReaderApp("FluentFlame Reader", "Windows, macOS, Linux", (_generic("notes"), _miniflux("source"), _fever("notes"))),
    ReaderApp("Fluent Reader", "Windows, macOS, Linux", (_generic("source"), _fever("source"))),
    ReaderApp("Fluent Reader Lite", "iOS, Android", (_generic("notes"), _fever("notes"))),
    ReaderApp("Flux News", "Android, iOS", (_miniflux("source"),)),
    ReaderApp("FocusReader", "Android", (_greader(), _fever())),
    ReaderApp("Foliate", "Linux", (_opds(N_("Downloads only.")),)),
    ReaderApp("KMReader", "iOS, macOS", (_komga(),)),
    ReaderApp("Komelia", "Android, Windows, macOS, Linux", (_komga(),)),
    ReaderApp(
        "KOReader",
        "e-readers, Android, Linux",
        (
            _opds(N_("Streams pages, or downloads chapters.")),
            _koreader("Progress sync, custom sync server", N_("Both ways of matching documents work.")),
        ),
    ),
    ReaderApp("KyBook", "iOS", (_opds(),)),
    ReaderApp("Librera", "Android", (_opds(N_("Downloads only.")),)),
    ReaderApp("lire", "iOS, macOS", (_greader(), _fever())),
    ReaderApp(
        "Mihon, TachiyomiSY, Komikku, J2K, Yōkai",
        "Android",
        (
            _komga(
                N_(
                    "Enter it in the settings of the extension Komga. Then the tracker Komga works too: what you read "
                    "there is read here."
                )
            ),
        ),
    ),
    ReaderApp("Moon+ Reader", "Android", (_opds(N_("Downloads only.")),)),
    ReaderApp("Miniflutt, miniflux-tui", "Android, terminal", (_miniflux(),)),
    ReaderApp("NetNewsWire", "iOS, macOS", (_greader("source"),)),
    ReaderApp(
        "Newsboat",
        "terminal",
        (
            Way(
                protocol="greader",
                account='urls-source "freshrss"',
                path=GREADER,
                note=N_("In its config: freshrss-url, freshrss-login and freshrss-password. Needs version 2.24."),
                known_from="source",
            ),
            Way(
                protocol="miniflux",
                account='urls-source "miniflux"',
                path="/miniflux",
                note=N_("In its config: miniflux-url, miniflux-login and miniflux-password."),
                library="newsboat 2.21",
                known_from="source",
            ),
        ),
    ),
    ReaderApp(
        "NewsFlash",
        "Linux",
        (
            _greader("notes", "", _ADDS, library="greader_api 0.7.0"),
            _miniflux("notes", path="/miniflux/", library="miniflux_api 0.9.0"),
            _fever("notes", library="fever_api 0.6.0"),
        ),
    ),
    ReaderApp("NextFlux", "browser", (_miniflux("source", _IN_BROWSER),)),
    ReaderApp("Panels", "iOS, macOS", (_opds(N_("Streams pages, or downloads chapters.")),)),
    ReaderApp("Paperback", "iOS", (_komga(N_("In the settings of its Komga extension.")),)),
    ReaderApp("PocketBook", "e-readers, Android, iOS", (_opds(N_("Downloads only.")),)),
    ReaderApp("Readest", "Android, iOS, Windows, macOS, Linux", (_koreader("KOReader Sync"),)),
    ReaderApp("Raven Reader", "Windows, macOS, Linux", (_greader("source"), _fever("source"))),
    ReaderApp("ReactFlux", "browser", (_miniflux("source", _IN_BROWSER),)),
    ReaderApp("ReadKit", "macOS, iOS", (_greader(), _fever())),
    ReaderApp("Readrops", "Android", (_greader("source", "", _ADDS), _fever("source", "", _ADDS))),
    ReaderApp("Read You", "Android", (_greader("source", "/api/greader.php/"), _fever("source"))),
    ReaderApp("Reeder Classic", "iOS, macOS", (_greader("notes"), _fever("notes"))),
    ReaderApp("Reminiflux", "browser", (_miniflux("source", _IN_BROWSER),)),
    ReaderApp("RSS Guard", "Windows, macOS, Linux", (_greader("source", "", _ADDS),)),
    ReaderApp("Suwayomi", "server", (_syncyomi(),)),
    ReaderApp("TachiyomiSY, Komikku", "Android", (_syncyomi(),)),
    ReaderApp(
        "Twine",
        "Android, iOS, macOS, Windows, Linux",
        (_greader("source", "/api/greader.php/"), _miniflux("source", path="/miniflux/")),
    ),
    ReaderApp(
        "Unread", "iOS, macOS", (_greader(note=N_("Needs version 5.")), _fever("notes", note=N_("Before version 5.")))
    ),
    ReaderApp("Vienna", "macOS", (_generic("source"),)),
)

ABILITIES = {
    "greader": N_("Read, mark and save; add, rename, move and unfollow feeds; change groups."),
    "miniflux": N_("Read, mark and save; add, rename, move and unfollow feeds; change groups."),
    "opds": N_("Read comics page by page or download them as CBZ; download saved articles as EPUB."),
    "fever": N_("Read, mark and save. Feeds and groups are changed on these pages: Fever has no way to do that."),
    "komga": N_("Read comics as comics. What you read is read here and in other apps, and the other way round."),
    "koreader": N_("Go on at your page on another device: in chapters from here, and in any other file."),
    "syncyomi": N_("Share the library between phones. It is stored here as it is, and not joined to this library."),
}
"""What apps of a protocol can do, the protocols with which they can do most first."""


def app_names(protocol: str) -> str:
    """The apps that speak it."""
    return ", ".join(app.name for app in READER_APPS if any(way.protocol == protocol for way in app.ways))


def spoken_apps(spoken: set[str]) -> list[ReaderApp]:
    """The apps that speak one of these protocols, with their accounts for these."""
    narrowed = (
        msgspec.structs.replace(app, ways=tuple(way for way in app.ways if way.protocol in spoken))
        for app in READER_APPS
    )
    return [app for app in narrowed if app.ways]


def apps_page(site: Site) -> Resource:
    """Nothing is on it that this server does not answer."""

    async def show(request: Request, caller: Caller) -> Response:
        titles = {one.name: one.title for one in site.accounts.tokens.protocols}
        return site.show(
            await site.frame(request, caller, "settings"),
            "apps.html",
            apps=spoken_apps(set(titles)),
            titles=titles,
            abilities={name: text for name, text in ABILITIES.items() if name in titles},
            here=site.address(request),
            passwords=DEVICE_PASSWORDS,
        )

    return page(APPS, site.signed_in(show))
