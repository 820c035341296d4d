"""Every setting there is: its type, its default, how it is read and what it is for.

A setting is one line of the Struct. Its `Variable` carries the text that docs/settings.md, .env.example and
`tsuzuki settings` show, so that none of them can leave one out.
"""

from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Literal
from urllib.parse import unquote, urlsplit

import msgspec

from tsuzuki.model.secrets import MASKED, mask_text
from tsuzuki.model.times import DAY, SECOND, Millis
from tsuzuki.settings import kinds
from tsuzuki.settings.kinds import Network, SettingType

PREFIX = "TSUZUKI_"

_NONE = Millis(0)
_LogLevel = Literal["debug", "info", "warning", "error"]
_LogFormat = Literal["auto", "text", "json"]


class Variable(msgspec.Struct, frozen=True):
    """How one setting is read, and what people are told about it."""

    group: str
    kind: SettingType
    default: str
    """As one would write it; empty when there is none."""
    says: str
    secret: bool = False

    def show(self, text: str) -> str:
        """The value as anyone may see it."""
        return MASKED if self.secret and text else mask_text(text)


_server = partial(Variable, "Server")
_data = partial(Variable, "Data")
_pull = partial(Variable, "Calling sources")
_account = partial(Variable, "Signing in")


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What the operator decided. Durations are milliseconds; what is not set is None or empty."""

    data_dir: Annotated[
        Path,
        _data(
            kinds.FOLDER,
            "",
            "Where everything lives that is not in a database server. Without it: `data/` beside a checkout, "
            "else the user's data folder (`$XDG_DATA_HOME/tsuzuki` or `~/.local/share/tsuzuki`).",
        ),
    ]
    database_url: Annotated[
        str,
        _data(
            kinds.DATABASE_URL,
            "sqlite:///tsuzuki.db",
            "The database. `sqlite:///name` is a file in the data folder, `sqlite:////path` a file anywhere; "
            "`postgresql://...` a PostgreSQL server.",
        ),
    ]
    database_min_conns: Annotated[
        int, _data(kinds.number(1, 100), "2", "Connections kept open to PostgreSQL; on SQLite the reading threads.")
    ]
    database_max_conns: Annotated[int, _data(kinds.number(1, 1000), "10", "The most connections to PostgreSQL.")]
    image_cache_size: Annotated[
        int,
        _data(
            kinds.size(16 * 1024**2),
            "2G",
            "The most that cached images may take on disk; what was not looked at for longest goes first. Chapters "
            "that a reader keeps do not count and never go.",
        ),
    ]
    keep_read: Annotated[
        Millis,
        _data(
            kinds.span(DAY),
            "365d",
            "How long an article stays after it was read, where neither its shelf nor its feed says otherwise; `0` "
            "keeps all for ever. What is unread, saved or bookmarked never goes. See docs/retention.md.",
        ),
    ]
    keep_jobs: Annotated[
        Millis,
        _data(
            kinds.span(Millis(8 * DAY)),
            "365d",
            "How long crawl jobs that said something stay; `0` keeps them for ever. None goes before its log, or while "
            "it is its source's last.",
        ),
    ]
    keep_audit: Annotated[
        Millis, _data(kinds.span(Millis(30 * DAY)), "730d", "How long the audit log reaches back; `0` is for ever.")
    ]
    prune_hours: Annotated[
        tuple[int, int],
        _data(kinds.HOURS, "2-6", "When what is older is removed: full hours by the clock of this machine."),
    ]
    secret_key: Annotated[
        tuple[str, ...],
        Variable(
            "Data",
            kinds.SECRET_KEYS,
            "",
            "What passwords, tokens and cookies of sources and channels are encrypted with in the database, such as "
            "`openssl rand -hex 32` makes. Without it a key is made in `secret.key` in the data folder. Processes on "
            "several machines need the same. Of several keys the first encrypts and all decrypt: put a new one in "
            "front, start, and leave the old one out at the next start.",
            secret=True,
        ),
    ]
    redis_url: Annotated[
        str | None,
        _data(
            kinds.REDIS_URL,
            "",
            "A Redis or Valkey that several processes share for pace, wake-ups and caches. Nothing is lost with it.",
        ),
    ]

    host: Annotated[str, _server(kinds.TEXT, "127.0.0.1", "The address to listen on; `0.0.0.0` for all of IPv4.")]
    port: Annotated[int, _server(kinds.PORT, "8080", "The port to listen on.")]
    public_url: Annotated[
        str | None,
        _server(
            kinds.ORIGIN,
            "",
            "Where people reach this server, such as `https://reader.example.org`. Messages on channels, reminders of "
            "invoices and invitations link there, and a provider sends people back there. Without it messages name "
            "no page of ours. Where it is https, browsers are told to use nothing else for a year (HSTS).",
        ),
    ]
    trusted_proxies: Annotated[
        tuple[Network, ...],
        _server(
            kinds.NETWORKS,
            "",
            "Reverse proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` are believed. Without any, nobody's are.",
        ),
    ]
    cors_allowed_origins: Annotated[
        tuple[str, ...],
        _server(kinds.ORIGINS, "", "Other sites whose pages may call the API in a reader's browser."),
    ]
    log_level: Annotated[
        _LogLevel, _server(kinds.one_of("debug", "info", "warning", "error"), "info", "The least that is logged.")
    ]
    log_format: Annotated[
        _LogFormat,
        _server(kinds.one_of("auto", "text", "json"), "auto", "`auto` is text on a terminal and JSON elsewhere."),
    ]

    password: Annotated[
        str | None,
        _account(
            kinds.TEXT,
            "",
            "The password of the first administrator, `admin`. Without it the first visit sets one up with a code "
            "that is printed in the log.",
            secret=True,
        ),
    ]
    allow_empty_password: Annotated[
        bool,
        _account(
            kinds.SWITCH, "off", "Lets everyone in without a password. Only with a host that is this machine alone."
        ),
    ]
    login_limit: Annotated[
        int,
        _account(
            kinds.number(1, 100_000),
            "10",
            "Failed sign-ins allowed within the window, from one address for one name. An address has three times as "
            "many for all names, and a name ten times as many from all strangers; a browser that its owner has signed "
            "in with before has its own, whatever strangers do.",
        ),
    ]
    login_window: Annotated[Millis, _account(kinds.duration(SECOND), "60s", "The window that they are counted in.")]
    login_block: Annotated[
        Millis, _account(kinds.duration(SECOND), "300s", "How long no further sign-in is tried after that.")
    ]
    oidc_issuer: Annotated[
        str | None, _account(kinds.HTTP_URL, "", "An OpenID Connect provider to sign in with; needs the next three.")
    ]
    oidc_client_id: Annotated[str | None, _account(kinds.TEXT, "", "Our name at that provider.")]
    oidc_client_secret: Annotated[str | None, _account(kinds.TEXT, "", "Our password at that provider.", secret=True)]
    oidc_redirect_uri: Annotated[
        str | None,
        _account(
            kinds.HTTP_URL,
            "",
            "Where the provider sends people back to, as registered there. Without it "
            "`/api/v1/oidc/callback` at `TSUZUKI_PUBLIC_URL`.",
        ),
    ]
    oidc_allowed_user: Annotated[
        str | None, _account(kinds.TEXT, "", "The only e-mail address or subject that may sign in that way.")
    ]

    contact_url: Annotated[
        str | None,
        _pull(
            kinds.CONTACT, "", "Who runs this server; sent to sources in the User-Agent. The project's page when empty."
        ),
    ]
    allow_private_networks: Annotated[
        tuple[Network, ...],
        _pull(
            kinds.NETWORKS,
            "",
            "Private networks that may be called all the same. Sources on loopback may then use http.",
        ),
    ]
    pull_interval: Annotated[Millis, _pull(kinds.duration(SECOND), "1800s", "The pause between two calls of a feed.")]
    pull_timeout: Annotated[Millis, _pull(kinds.duration(SECOND), "30s", "The longest that one call may take.")]
    pull_concurrency: Annotated[int, _pull(kinds.number(1, 1000), "10", "Calls at the same time.")]
    pull_max_backoff: Annotated[
        Millis, _pull(kinds.duration(SECOND), "172800s", "The longest pause that failures or Retry-After can cause.")
    ]
    manga_list_ttl: Annotated[
        Millis, _pull(kinds.duration(_NONE), "600s", "How long a listing of a source's series is fresh.")
    ]
    manga_detail_ttl: Annotated[
        Millis, _pull(kinds.duration(_NONE), "3600s", "How long the details of a series are fresh.")
    ]
    chapter_list_ttl: Annotated[
        Millis, _pull(kinds.duration(_NONE), "600s", "How long the chapter list of a series is fresh.")
    ]
    disable_threshold: Annotated[
        int, _pull(kinds.number(1, 1000), "5", "Failed crawls in a row after which a source is disabled.")
    ]
    flaresolverr_url: Annotated[
        str | None,
        _pull(
            kinds.HTTP_URL,
            "",
            "A FlareSolverr for sources that want to see a browser. Not used yet: no kind of source asks for it.",
        ),
    ]

    task_lease: Annotated[
        Millis,
        Variable(
            "Work",
            kinds.duration(SECOND),
            "30s",
            "How long a task belongs to a worker that says nothing; it beats three times within.",
        ),
    ]
    billing: Annotated[
        bool, Variable("Work", kinds.SWITCH, "off", "Plans, invoices and payments for the shelves that tenants rent.")
    ]
    stripe: Annotated[
        bool,
        Variable(
            "Work",
            kinds.SWITCH,
            "off",
            "Invoices are paid through Stripe too, which tells us at /api/v1/webhooks/stripe.",
        ),
    ]
    stripe_webhook_secret: Annotated[
        str | None,
        Variable(
            "Work",
            kinds.TEXT,
            "",
            "The signing secret of that webhook (`whsec_...`). With billing and Stripe on, nothing starts without it.",
            secret=True,
        ),
    ]

    def secrets(self) -> frozenset[str]:
        """Everything that must not be seen in a log, wherever it turns up."""
        whole = {str(getattr(self, name)) for name, variable in _fields().items() if variable.secret}
        urls = (self.database_url, self.redis_url, self.flaresolverr_url)
        within = {urlsplit(url).password for url in urls if url}
        spelt = {unquote(password) for password in within if password}
        return frozenset(text for text in (*whole, *within, *spelt) if text and text != "None")

    def __repr__(self) -> str:
        """No secret: a traceback or a log line may hold this."""
        shown = (f"{name}={variable.show(str(getattr(self, name)))}" for name, variable in _fields().items())
        return f"Settings({', '.join(shown)})"


@cache
def _fields() -> Mapping[str, Variable]:
    """By the name of the field."""
    found = {field.name: field.type.__metadata__[0] for field in msgspec.structs.fields(Settings)}
    return MappingProxyType(found)


def variables() -> dict[str, Variable]:
    """Every variable by its name, in the order of the documentation."""
    return {PREFIX + field.upper(): variable for field, variable in _fields().items()}
