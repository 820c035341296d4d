"""`/apps`: which reader apps work with this server, and what to enter in each; docs/apps.md is made of it."""

import re
from functools import partial
from typing import Literal

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.http.routing import Resource, page
from tsuzuki.web.site import APPS, DEVICE_PASSWORDS, Site
from tsuzuki.web.texts import N_

Menu = tuple[str, ...]
Fields = tuple[str, str, str]


class Way(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of account in an app: where it is made, and what goes into which field."""

    protocol: str
    account: str
    path: str = ""
    """What follows the server's address; empty where the app adds it."""
    menu: Menu = ()
    """What to tap, as the app says it in English; empty where its menus are not known."""
    fields: Fields = ("", "", "")
    """What the app calls those for the address, the username and the password; empty where that is not known."""
    has_key: bool = False
    """Whether it asks for a key alone, without a username."""
    note: str = ""
    library: str = ""
    """The one that the app calls servers with, if it was tried with this server."""
    known_from: Literal["source", "notes", ""] = ""
    """Where the calls were looked up that our tests replay; empty where they are not known."""

    @property
    def labels(self) -> Fields:
        """What its fields are called, or what such fields are called mostly; no username where there is a key alone."""
        return self.fields if any(self.fields) else _KEY if self.has_key else _NAMES


class ReaderApp(msgspec.Struct, frozen=True):
    """An app, where it runs, and its kinds of accounts, the best first."""

    name: str
    systems: str
    ways: tuple[Way, ...]

    @property
    def anchor(self) -> str:
        """Names its place on the page, and in docs/apps.md as its heading does."""
        return re.sub(r"[^\w -]", "", self.name.lower()).replace(" ", "-")


GREADER = "/api/greader.php"
FEVER = "/fever/"
# Where it is not known what an app calls its fields.
_NAMES: Fields = (N_("Server address"), N_("Username"), N_("Password"))
_KEY: Fields = (N_("Server address"), "", N_("API key"))
_USUAL: Fields = ("Server URL", "Username", "Password")
_ENDPOINT: Fields = ("Endpoint", "Username", "Password")
_ADDS = N_("Enter only the address of this server: the app adds the rest.")
_DOWNLOADS = N_("Downloads chapters; it does not stream pages.")
_IN_BROWSER = N_("It runs in a browser: the operator must allow its address in TSUZUKI_CORS_ALLOWED_ORIGINS.")
_FLUENT = N_("Groups come only with Import groups. Its own sources that the server has too are deleted.")
_FLUENT_GREADER = N_(
    "Enter only the address of this server: the app adds the rest. Groups come only with Import groups. Its own "
    "sources that the server has too are deleted."
)
_TWINE = N_("Signing in deletes the feeds, articles and bookmarks that the app has.")
_TRACKER = N_(
    "No slash at the end of the address. The tracker Komga needs no sign-in: it is bound when you add a series to the "
    "app's library, and what you read there is read here. Chapters without a number are not synchronised."
)
_OWN_LOGIN = N_("Or choose API Key: that is the device password, too.")


_greader = partial(Way, protocol="greader", account="FreshRSS", path=GREADER)
_bare_greader = partial(Way, protocol="greader", account="Google Reader API", note=_ADDS)
_miniflux = partial(Way, protocol="miniflux", account="Miniflux", path="/miniflux", has_key=True)
_fever = partial(Way, protocol="fever", account="Fever", path=FEVER)
_opds = partial(Way, protocol="opds", account="OPDS", path="/opds/v1.2/catalog")
_komga = partial(Way, protocol="komga", account="Komga", path="/komga")
_koreader = partial(Way, protocol="koreader", path="/koreader")
_syncyomi = partial(Way, protocol="syncyomi", account="SyncYomi", path="/syncyomi", has_key=True)

_KOMGA_EXTENSION = _komga(
    note=_TRACKER, menu=("Browse", "Extensions", "Komga", "Settings"), fields=("Address", "Username", "Password")
)

READER_APPS = (
    ReaderApp(
        "Cantook",
        "iOS, Android",
        (_opds(note=N_("It also shows and sends how far you have read."), path="/opds/v2/catalog"),),
    ),
    ReaderApp(
        "Capy Reader",
        "Android",
        (
            _greader(
                known_from="source",
                path="",
                note=_ADDS,
                menu=("Add Account", "FreshRSS"),
                fields=("Server", "Username", "API Password"),
            ),
            _miniflux(
                known_from="source",
                path="/miniflux/v1/",
                menu=("Add Account", "Miniflux"),
                fields=("Server", "Username", "Password"),
                note=N_("Use API Token instead works too: the token is the device password."),
                has_key=False,
            ),
        ),
    ),
    ReaderApp(
        "Chunky",
        "iOS",
        (_opds(note=N_("Komga's guide says that it stopped working with Komga 1.4. Not tried with this server.")),),
    ),
    ReaderApp("EasyRSS", "Android", (_bare_greader(known_from="notes"),)),
    ReaderApp(
        "elfeed-protocol",
        "Emacs",
        (
            _fever(
                known_from="source",
                note=N_(
                    "In elfeed-protocol-feeds. elfeed-protocol-enabled-protocols must name fever. One update brings at "
                    "most 50 articles."
                ),
                fields=(":api-url", "fever+https://…@", ":password"),
            ),
        ),
    ),
    ReaderApp(
        "FeedFlow",
        "Android, iOS, macOS, Windows, Linux",
        (_greader(known_from="source", menu=("Settings", "Accounts", "FreshRSS"), fields=_USUAL),),
    ),
    ReaderApp("FeedMe", "Android", (_greader(known_from="notes"), _fever(known_from="notes"))),
    ReaderApp("Fiery Feeds", "iOS, macOS", (_greader(), _fever())),
    ReaderApp("Fleuron", "Android", (_miniflux(known_from="source", path="/miniflux/", fields=("API", "", "Token")),)),
    ReaderApp(
        "FluentFlame Reader",
        "Windows, macOS, Linux",
        (_bare_greader(known_from="source"), _miniflux(known_from="source"), _fever(known_from="source")),
    ),
    ReaderApp(
        "Fluent Reader",
        "Windows, macOS, Linux",
        (
            _bare_greader(
                known_from="source",
                note=_FLUENT_GREADER,
                menu=("Settings", "Service", "Google Reader API (Beta)"),
                fields=_ENDPOINT,
            ),
            _fever(known_from="source", note=_FLUENT, menu=("Settings", "Service", "Fever API"), fields=_ENDPOINT),
        ),
    ),
    ReaderApp(
        "Fluent Reader Lite",
        "iOS, Android",
        (_bare_greader(known_from="source", fields=_ENDPOINT), _fever(known_from="source", fields=_ENDPOINT)),
    ),
    ReaderApp(
        "FluxJS",
        "browser",
        (_miniflux(known_from="source", note=_IN_BROWSER, fields=("Miniflux server Url", "", "Api Key")),),
    ),
    ReaderApp(
        "Flux News",
        "Android, iOS",
        (
            _miniflux(
                known_from="source", path="/miniflux/", menu=("Miniflux Settings",), fields=("URL", "", "API Key")
            ),
        ),
    ),
    ReaderApp("FocusReader", "Android", (_greader(), _fever())),
    ReaderApp("Foliate", "Linux", (_opds(note=_DOWNLOADS, menu=("Add Catalog…",)),)),
    ReaderApp(
        "Home Assistant",
        "server",
        (
            _miniflux(
                known_from="source",
                note=N_(
                    "In the integration miniflux-ha, which you install first. It looks every few minutes: this server "
                    "sends none of the webhooks that Miniflux sends."
                ),
                menu=("Settings", "Devices & Services", "Add Integration", "Miniflux"),
                fields=("Server URL", "", "API key"),
            ),
        ),
    ),
    ReaderApp("KMReader", "iOS, macOS", (_komga(note=_OWN_LOGIN, fields=_USUAL),)),
    ReaderApp(
        "Komelia",
        "Android, Windows, macOS, Linux",
        (_komga(menu=("Komga Login",), fields=_USUAL, note=N_("No slash at the end of the address.")),),
    ),
    ReaderApp(
        "KOReader",
        "e-readers, Android, Linux",
        (
            _opds(
                note=N_("In the file browser. A chapter offers both: stream its pages, or download it."),
                menu=("Search", "OPDS catalog", "Add OPDS catalog"),
                fields=("Catalog URL", "Username", "Password"),
            ),
            _koreader(
                account="Progress sync",
                menu=("Tools", "Progress sync", "Custom sync server"),
                note=N_("With a book open. Then log in there; do not register. Both ways of matching documents work."),
            ),
            _miniflux(
                known_from="source",
                note=N_("For articles, in the plugin Miniflux, which you install first."),
                menu=("Miniflux", "Settings", "Server Settings"),
                fields=("Server address", "", "API Token"),
            ),
        ),
    ),
    ReaderApp("KyBook", "iOS", (_opds(note=_DOWNLOADS),)),
    ReaderApp("Librera", "Android", (_opds(note=_DOWNLOADS),)),
    ReaderApp("Liferea", "Linux", (_greader(known_from="source", account="Google Reader API"),)),
    ReaderApp("lire", "iOS, macOS", (_greader(), _fever())),
    ReaderApp(
        "Microflux",
        "Android",
        (
            _miniflux(
                known_from="source",
                has_key=False,
                note=N_(
                    "It pages by when articles were published, the server by when they arrived: it may miss old ones."
                ),
                fields=("URL", "Username", "Password"),
            ),
        ),
    ),
    ReaderApp("Mihon, J2K, Yōkai", "Android", (_KOMGA_EXTENSION,)),
    ReaderApp("Miniflutt", "Android", (_miniflux(known_from="source", fields=("Server URL", "", "API Key")),)),
    ReaderApp(
        "miniflux-ai",
        "server",
        (
            _miniflux(
                known_from="source",
                note=N_(
                    "It does not work with this server: it asks for 10,000 articles at once and writes into them, but "
                    "articles are kept as they were published."
                ),
                fields=("base_url", "", "api_key"),
            ),
        ),
    ),
    ReaderApp("miniflux-digest", "server", (_miniflux(known_from="source", fields=("host", "", "api_token")),)),
    ReaderApp(
        "miniflux-mcp",
        "server",
        (
            _miniflux(
                known_from="source",
                note=N_("Users and API keys are not managed through it."),
                fields=("MINIFLUX_URL", "", "MINIFLUX_API_KEY"),
            ),
        ),
    ),
    ReaderApp("miniflux-tui", "terminal", (_miniflux(known_from="source", library="miniflux 1.1.6"),)),
    ReaderApp("Moon+ Reader", "Android", (_opds(note=_DOWNLOADS),)),
    ReaderApp(
        "n8n",
        "server",
        (
            _miniflux(
                known_from="source",
                note=N_("In the node Miniflux, which you install first."),
                fields=("Application URL", "", "API Token"),
            ),
        ),
    ),
    ReaderApp(
        "NetNewsWire",
        "iOS, macOS",
        (
            _greader(
                known_from="source",
                menu=("Settings", "Add Account", "FreshRSS"),
                fields=("API URL", "Username", "Password"),
            ),
        ),
    ),
    ReaderApp(
        "Newsboat",
        "terminal",
        (
            _greader(
                known_from="source",
                note=N_("In its file config. Needs version 2.24."),
                account='urls-source "freshrss"',
                fields=("freshrss-url", "freshrss-login", "freshrss-password"),
            ),
            _miniflux(
                account='urls-source "miniflux"',
                has_key=False,
                fields=("miniflux-url", "miniflux-login", "miniflux-password"),
                note=N_("In its file config."),
                library="newsboat 2.21",
                known_from="source",
            ),
        ),
    ),
    ReaderApp(
        "NewsFlash",
        "Linux",
        (
            _greader(known_from="notes", path="", note=_ADDS, library="greader_api 0.7.0"),
            _miniflux(known_from="notes", path="/miniflux/", library="miniflux_api 0.9.0"),
            _fever(known_from="notes", library="fever_api 0.6.0"),
        ),
    ),
    ReaderApp(
        "NextFlux",
        "browser",
        (_miniflux(known_from="source", note=_IN_BROWSER, fields=("Server URL", "", "API Token")),),
    ),
    ReaderApp(
        "Obsidian",
        "Windows, macOS, Linux",
        (
            _miniflux(
                known_from="source",
                note=N_("In the plugin Miniflux RSS View, which you install first."),
                fields=("Miniflux server URL", "", "API key"),
            ),
        ),
    ),
    ReaderApp(
        "Panels", "iOS, macOS", (_opds(note=N_("Streams pages, or downloads chapters. Search works from version 3.")),)
    ),
    ReaderApp(
        "Paperback", "iOS", (_komga(note=N_("In the settings of its Komga extension, which you install first.")),)
    ),
    ReaderApp(
        "PocketBook",
        "e-readers, Android, iOS",
        (_opds(note=N_("For saved articles as EPUB: Komga's guide says that it does not show CBZ.")),),
    ),
    ReaderApp(
        "Raven Reader",
        "Windows, macOS, Linux",
        (
            _greader(known_from="source", account="Self-hosted (Google Reader API)", fields=_ENDPOINT),
            _fever(known_from="source", fields=_ENDPOINT),
        ),
    ),
    ReaderApp(
        "Raycast",
        "macOS",
        (
            _miniflux(
                known_from="source",
                note=N_(
                    "In the extension Miniflux, which you install first. Its links to Miniflux's own pages lead "
                    "nowhere here."
                ),
                fields=("Miniflux URL", "", "API Key"),
            ),
        ),
    ),
    ReaderApp(
        "ReactFlux",
        "browser",
        (_miniflux(known_from="source", note=_IN_BROWSER, fields=("Server address", "", "API Token")),),
    ),
    ReaderApp("Readest", "Android, iOS, Windows, macOS, Linux", (_koreader(account="KOReader Sync"),)),
    ReaderApp("ReadKit", "macOS, iOS", (_greader(), _fever())),
    ReaderApp(
        "Readrops",
        "Android",
        (
            _greader(
                known_from="source",
                path="",
                note=_ADDS,
                menu=("New account", "FreshRSS"),
                fields=("Account url", "Login", "Password"),
            ),
            _fever(
                known_from="source",
                path="",
                note=_ADDS,
                menu=("New account", "Fever"),
                fields=("Account url", "Login", "Password"),
            ),
        ),
    ),
    ReaderApp(
        "Read You",
        "Android",
        (
            _greader(
                known_from="source",
                path="/api/greader.php/",
                menu=("Settings", "Accounts", "Add accounts", "FreshRSS"),
                fields=_USUAL,
            ),
            _fever(
                known_from="source",
                note=N_("The app calls this kind of account deprecated."),
                menu=("Settings", "Accounts", "Add accounts", "Fever"),
                fields=_USUAL,
            ),
        ),
    ),
    ReaderApp("Reeder Classic", "iOS, macOS", (_greader(known_from="notes"), _fever(known_from="notes"))),
    ReaderApp(
        "Reminiflux", "browser", (_miniflux(known_from="source", note=_IN_BROWSER, fields=("Host", "", "API key")),)
    ),
    ReaderApp(
        "RSS Guard",
        "Windows, macOS, Linux",
        (
            _greader(
                known_from="source",
                path="",
                note=N_(
                    "Enter only the address of this server: the app adds the rest. Test setup says whether it works."
                ),
                menu=("Accounts", "Add account", "Google Reader API", "FreshRSS"),
                fields=("URL", "Username", "Password"),
            ),
        ),
    ),
    ReaderApp(
        "Suwayomi",
        "server",
        (
            _syncyomi(
                menu=("Settings", "Server", "SyncYomi"),
                fields=("SyncYomi host", "", "SyncYomi API key"),
                note=N_("Switch SyncYomi enabled on."),
            ),
        ),
    ),
    ReaderApp(
        "TachiyomiSY, Komikku",
        "Android",
        (
            _KOMGA_EXTENSION,
            _syncyomi(
                menu=("Settings", "Data and storage", "Service", "SyncYomi"),
                fields=("Host", "", "API key"),
                note=N_("Then Sync now. Do the same on each phone."),
            ),
        ),
    ),
    ReaderApp(
        "Twine",
        "Android, iOS, macOS, Windows, Linux",
        (
            _greader(
                known_from="source",
                path="/api/greader.php/",
                note=_TWINE,
                menu=("Settings", "FreshRSS (GReader)"),
                fields=_USUAL,
            ),
            _miniflux(
                known_from="source",
                path="/miniflux/",
                note=_TWINE,
                menu=("Settings", "Miniflux"),
                fields=("Server URL", "", "API Key"),
            ),
        ),
    ),
    ReaderApp(
        "Unread",
        "iOS, macOS",
        (_greader(note=N_("Needs version 5.")), _fever(known_from="notes", note=N_("Before version 5."))),
    ),
    ReaderApp(
        "Vienna",
        "macOS",
        (
            _bare_greader(
                known_from="source",
                menu=("Settings", "Syncing", "Sync with an Open Reader server"),
                account="Open Reader",
            ),
        ),
    ),
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
    return ", ".join(app.name for app in spoken_apps({protocol}))


def spoken_apps(spoken: set[str]) -> list[ReaderApp]:
    """The apps that speak one of these protocols, with their accounts for these."""
    narrowed = (
        msgspec.structs.replace(app, ways=tuple(way for way in app.ways if way.protocol in spoken))
        for app in READER_APPS
    )
    return [app for app in narrowed if app.ways]


def apps_page(site: Site) -> Resource:
    """The page of apps. It lists only protocols that this server speaks."""

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
