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
    """How one setting is read, and its documentation."""

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
_pull = partial(Variable, "Fetching")
_account = partial(Variable, "Sign-in")


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What the operator decided. Durations are milliseconds; what is not set is None or empty."""

    data_dir: Annotated[
        Path,
        _data(
            kinds.FOLDER,
            "",
            "The folder for everything that is not in a database server. Default: `data/` in a checkout, otherwise "
            "the user's data folder (`$XDG_DATA_HOME/tsuzuki` or `~/.local/share/tsuzuki`).",
        ),
    ]
    database_url: Annotated[
        str,
        _data(
            kinds.DATABASE_URL,
            "sqlite:///tsuzuki.db",
            "The database: `sqlite:///name` is a file in the data folder, `sqlite:////path` a file anywhere, "
            "`postgresql://...` a PostgreSQL server.",
        ),
    ]
    database_read_url: Annotated[
        str | None,
        _data(
            kinds.POSTGRES_URL,
            "",
            "A replica of the PostgreSQL database, which answers lists and search while it has everything that is "
            "committed. See docs/operating.md.",
        ),
    ]
    database_min_conns: Annotated[
        int, _data(kinds.number(1, 100), "2", "Minimum connections to PostgreSQL. On SQLite: number of reader threads.")
    ]
    database_max_conns: Annotated[int, _data(kinds.number(1, 1000), "10", "Maximum connections to PostgreSQL.")]
    image_cache_size: Annotated[
        int,
        _data(
            kinds.size(16 * 1024**2),
            "2G",
            "Maximum disk space for cached images; the least recently used are removed first. Downloaded chapters do "
            "not count and are never removed.",
        ),
    ]
    export_folder: Annotated[
        Path | None,
        _data(
            kinds.PATH,
            "",
            "A folder that always has every downloaded chapter as a CBZ file, in one folder for each series, for "
            "Komga, Kavita or a synchronising program. Files that Tsuzuki did not write there are left alone.",
        ),
    ]
    files_url: Annotated[
        str | None,
        Variable(
            "Data",
            kinds.FILES_URL,
            "",
            "An S3-compatible store for images, downloaded chapters, archived logs, uploads and backups of apps, which "
            "processes on several machines share: `s3://bucket/prefix?endpoint=https://host&region=name`. Credentials "
            "are written as `s3://key:secret@bucket/...`, or come from the usual `AWS_*` variables. Default: "
            "folders in the data folder. See docs/operating.md.",
            secret=True,
        ),
    ]
    keep_read: Annotated[
        Millis,
        _data(
            kinds.span(DAY),
            "365d",
            "How long to keep articles after they are read, unless their shelf or feed has its own setting; `0` keeps "
            "them for ever. Unread, saved and bookmarked articles are never deleted. See docs/retention.md.",
        ),
    ]
    keep_jobs: Annotated[
        Millis,
        _data(
            kinds.span(Millis(8 * DAY)),
            "365d",
            "How long to keep crawl jobs that failed, found something or have a log; `0` keeps them for ever. A job is "
            "never deleted before its log is archived, nor while it is the last of its source.",
        ),
    ]
    keep_audit: Annotated[
        Millis, _data(kinds.span(Millis(30 * DAY)), "730d", "How long to keep the audit log; `0` keeps it for ever.")
    ]
    prune_hours: Annotated[
        tuple[int, int],
        _data(kinds.HOURS, "2-6", "The hours in which old data is deleted, by the clock of this machine."),
    ]
    secret_key: Annotated[
        tuple[str, ...],
        Variable(
            "Data",
            kinds.SECRET_KEYS,
            "",
            "The key that encrypts passwords, tokens and cookies of sources and channels in the database. Make one "
            "with `openssl rand -hex 32`. Default: a key is created in `secret.key` in the data folder. Processes on "
            "several machines need the same key. With several keys, the first encrypts and all decrypt. To change the "
            "key, put the new one first, restart, and remove the old one at the next restart.",
            secret=True,
        ),
    ]
    redis_url: Annotated[
        str | None,
        _data(
            kinds.REDIS_URL,
            "",
            "A Redis or Valkey server through which several processes share rate limits, wake-ups and caches. If it "
            "fails, no data is lost.",
        ),
    ]

    host: Annotated[str, _server(kinds.TEXT, "127.0.0.1", "The address to listen on; `0.0.0.0` is every IPv4 address.")]
    port: Annotated[int, _server(kinds.PORT, "8080", "The port to listen on.")]
    public_url: Annotated[
        str | None,
        _server(
            kinds.ORIGIN,
            "",
            "The public address of this server, such as `https://reader.example.org`. Notifications, invoice reminders "
            "and invitations link to it, and a sign-in provider redirects to it. Without it, messages contain no links "
            "to this server. If it is https, browsers are told to use only https for a year (HSTS).",
        ),
    ]
    trusted_proxies: Annotated[
        tuple[Network, ...],
        _server(
            kinds.NETWORKS,
            "",
            "Reverse proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` are trusted. Default: none.",
        ),
    ]
    cors_allowed_origins: Annotated[
        tuple[str, ...],
        _server(kinds.ORIGINS, "", "Other sites whose pages may call the API from a browser (CORS)."),
    ]
    log_level: Annotated[
        _LogLevel, _server(kinds.one_of("debug", "info", "warning", "error"), "info", "The minimum level to log.")
    ]
    log_format: Annotated[
        _LogFormat,
        _server(
            kinds.one_of("auto", "text", "json"),
            "auto",
            "The log format; `auto` is text on a terminal, otherwise JSON.",
        ),
    ]

    password: Annotated[
        str | None,
        _account(
            kinds.TEXT,
            "",
            "The password of the first administrator, `admin`. Without it, you choose one on your first visit, with a "
            "code that is printed in the log.",
            secret=True,
        ),
    ]
    allow_empty_password: Annotated[
        bool,
        _account(
            kinds.SWITCH, "off", "Lets everyone in without a password. Requires a loopback address as `TSUZUKI_HOST`."
        ),
    ]
    login_limit: Annotated[
        int,
        _account(
            kinds.number(1, 100_000),
            "10",
            "Failed sign-ins allowed per `TSUZUKI_LOGIN_WINDOW` from one address for one username. One address is "
            "allowed three times as many for all usernames together, and one username ten times as many from all "
            "unknown browsers together. A browser in which this user has signed in before has a limit of its own.",
        ),
    ]
    login_window: Annotated[
        Millis, _account(kinds.duration(SECOND), "60s", "The period in which failed sign-ins are counted.")
    ]
    login_block: Annotated[
        Millis, _account(kinds.duration(SECOND), "300s", "How long sign-in is blocked after too many failures.")
    ]
    oidc_issuer: Annotated[
        str | None,
        _account(kinds.HTTP_URL, "", "An OpenID Connect provider to sign in with; requires the next three settings."),
    ]
    oidc_client_id: Annotated[str | None, _account(kinds.TEXT, "", "The client ID at that provider.")]
    oidc_client_secret: Annotated[
        str | None, _account(kinds.TEXT, "", "The client secret at that provider.", secret=True)
    ]
    oidc_redirect_uri: Annotated[
        str | None,
        _account(
            kinds.HTTP_URL,
            "",
            "The redirect URI registered at the provider. Default: `/api/v1/oidc/callback` at `TSUZUKI_PUBLIC_URL`.",
        ),
    ]
    oidc_allowed_user: Annotated[
        str | None,
        _account(kinds.TEXT, "", "The only e-mail address or subject allowed to sign in through the provider."),
    ]

    contact_url: Annotated[
        str | None,
        _pull(kinds.CONTACT, "", "A contact address, sent to sources in the User-Agent. Default: the project's page."),
    ]
    allow_private_networks: Annotated[
        tuple[Network, ...],
        _pull(
            kinds.NETWORKS,
            "",
            "Private networks that may be fetched from. If they include loopback, sources there may use http.",
        ),
    ]
    pull_interval: Annotated[
        Millis, _pull(kinds.duration(SECOND), "1800s", "The usual interval between two fetches of a feed.")
    ]
    pull_timeout: Annotated[Millis, _pull(kinds.duration(SECOND), "30s", "The timeout of one request.")]
    pull_concurrency: Annotated[
        int, _pull(kinds.number(1, 1000), "10", "How many feeds and series are polled at the same time.")
    ]
    pull_max_backoff: Annotated[
        Millis, _pull(kinds.duration(SECOND), "172800s", "The longest delay after failures or Retry-After.")
    ]
    icons: Annotated[
        bool,
        _pull(kinds.SWITCH, "on", "Fetches the icons of feeds from their sites, each once a month."),
    ]
    manga_list_ttl: Annotated[
        Millis, _pull(kinds.duration(_NONE), "600s", "How long a source's list of series is cached.")
    ]
    manga_detail_ttl: Annotated[
        Millis, _pull(kinds.duration(_NONE), "3600s", "How long the details of a series are cached.")
    ]
    chapter_list_ttl: Annotated[
        Millis, _pull(kinds.duration(_NONE), "600s", "How long the chapter list of a series is cached.")
    ]
    disable_threshold: Annotated[
        int, _pull(kinds.number(1, 1000), "5", "A source is disabled after this many failed crawls in a row.")
    ]
    flaresolverr_url: Annotated[
        str | None,
        _pull(
            kinds.HTTP_URL,
            "",
            "A FlareSolverr server for sources that require a browser. Not used yet: no connector needs it.",
        ),
    ]

    task_lease: Annotated[
        Millis,
        Variable(
            "Workers and billing",
            kinds.duration(SECOND),
            "30s",
            "How long a task stays with a worker that sends no heartbeat. A heartbeat is sent three times per lease.",
        ),
    ]
    billing: Annotated[
        bool,
        Variable(
            "Workers and billing",
            kinds.SWITCH,
            "off",
            "Turns on plans, invoices and payments for the shelves that tenants rent.",
        ),
    ]
    stripe: Annotated[
        bool,
        Variable(
            "Workers and billing",
            kinds.SWITCH,
            "off",
            "Invoices can also be paid through Stripe, whose webhook is /api/v1/webhooks/stripe.",
        ),
    ]
    stripe_webhook_secret: Annotated[
        str | None,
        Variable(
            "Workers and billing",
            kinds.TEXT,
            "",
            "The signing secret of that webhook (`whsec_...`). Required while billing and Stripe are on.",
            secret=True,
        ),
    ]

    @property
    def is_https(self) -> bool:
        """Whether people reach this server over HTTPS, whatever lies between."""
        return (self.public_url or "").startswith("https:")

    def secrets(self) -> frozenset[str]:
        """Everything that must not be seen in a log, wherever it turns up."""
        whole = {str(getattr(self, name)) for name, variable in _fields().items() if variable.secret}
        urls = (self.database_url, self.database_read_url, self.redis_url, self.flaresolverr_url, self.files_url)
        within = {urlsplit(url).password for url in urls if url} | {urlsplit(self.files_url or "").username}
        spelt = {unquote(password) for password in within if password}
        return frozenset(text for text in (*whole, *within, *spelt) if text and text != "None")

    def __repr__(self) -> str:
        """No secret: a traceback or a log line may hold this."""
        shown = (f"{name}={variable.show(str(getattr(self, name)))}" for name, variable in _fields().items())
        return f"Settings({', '.join(shown)})"


@cache
def _fields() -> Mapping[str, Variable]:
    """The settings by their field names."""
    found = {field.name: field.type.__metadata__[0] for field in msgspec.structs.fields(Settings)}
    return MappingProxyType(found)


def variables() -> dict[str, Variable]:
    """Every variable by its name, in the order of the documentation."""
    return {PREFIX + field.upper(): variable for field, variable in _fields().items()}
