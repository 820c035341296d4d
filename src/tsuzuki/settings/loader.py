"""Loads `Settings` from a mapping, such as the environment, and finds the `.env` file beside a checkout."""

from collections.abc import Mapping
from difflib import get_close_matches
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Literal

import msgspec

from tsuzuki.model.errors import TsuzukiError
from tsuzuki.settings.table import PREFIX, Settings, Variable, variables

_OIDC = ("client_id", "client_secret", "redirect_uri")


class BadSetting(TsuzukiError):
    """A variable that cannot be used; the message is one line that names it."""


class EffectiveSetting(msgspec.Struct, frozen=True):
    """A setting as it is in force, for people: secrets are masked."""

    name: str
    value: str
    origin: Literal["environment", "default"]
    variable: Variable


def read_settings(environ: Mapping[str, str], *, beside: Path | None = None) -> Settings:
    """The settings that these variables say; `BadSetting` for the first that cannot be.

    An empty variable counts as unset. `beside` is the checkout that the program runs from, if it does.
    """
    known = variables()
    values = {_field(name): _read(name, variable, environ) for name, variable in known.items()}
    values["data_dir"] = _data_dir(values["data_dir"], environ, beside)
    values["database_url"] = _from_data_dir(values["database_url"], values["data_dir"])
    settings = Settings(**values)
    _check_together(settings)
    return settings


def checkout(package: Path) -> Path | None:
    """The checkout that this package lies in (`<checkout>/src/tsuzuki`); None when it is installed."""
    root = package.parent.parent
    project = root / "pyproject.toml"
    if package.parent.name == "src" and project.is_file() and 'name = "tsuzuki"' in project.read_text("utf-8"):
        return root
    return None


def read_env_file(file: Path) -> dict[str, str]:
    """The variables of a file with a line NAME=value each, none without it; BadSetting names a line that is none."""
    try:
        lines = file.read_text("utf-8").splitlines()
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise BadSetting(f"{file} cannot be read: {error}") from error
    found = {}
    for number, line in enumerate(map(str.strip, lines), 1):
        if not line or line.startswith("#"):
            continue
        name, is_set, value = line.removeprefix("export ").partition("=")
        if not is_set or not name.strip().isidentifier():
            raise BadSetting(f"{file}, line {number}: write NAME=value, or begin the line with #.")
        plain = value.strip()
        found[name.strip()] = plain[1:-1] if len(plain) > 1 and plain[0] == plain[-1] and plain[0] in "'\"" else plain
    return found


_OF_COMMANDS = frozenset({f"{PREFIX}IMPORT_PASSWORD"})
"""What a command takes for itself: `tsuzuki import server` its password."""


def unknown_variables(environ: Mapping[str, str]) -> list[str]:
    """One sentence for each TSUZUKI_* variable that means nothing to us."""
    known = variables()
    strange = sorted(name for name in environ if name.startswith(PREFIX) and name not in {*known, *_OF_COMMANDS})
    return [_unknown(name, [_field(one) for one in known]) for name in strange]


def effective(settings: Settings, environ: Mapping[str, str]) -> list[EffectiveSetting]:
    """Every setting with its value, masked, and where that came from."""
    return [
        EffectiveSetting(
            name,
            variable.show(_shown(getattr(settings, _field(name)), _text(name, variable, environ))),
            "environment" if environ.get(name, "").strip() else "default",
            variable,
        )
        for name, variable in variables().items()
    ]


def _shown(value: Any, text: str) -> str:
    """As it was written, but for paths, which are shown as they were understood, to be copied back."""
    if isinstance(value, Path):
        return str(value)
    # A setting has a slash more than what the data layer takes: `sqlite:///name` is a file in the data folder.
    return value.replace("sqlite://", "sqlite:///", 1) if str(value).startswith("sqlite:") else text


def _field(name: str) -> str:
    return name.removeprefix(PREFIX).lower()


def _text(name: str, variable: Variable, environ: Mapping[str, str]) -> str:
    text = environ.get(name, "")
    return (text if variable.secret and text.strip() else text.strip()) or variable.default


def _read(name: str, variable: Variable, environ: Mapping[str, str]) -> Any:
    text = _text(name, variable, environ)
    try:
        return variable.kind.read(text) if text else variable.kind.unset
    except ValueError:
        raise _bad(name, variable, text) from None


def _bad(name: str, variable: Variable, text: str) -> BadSetting:
    got = variable.show(text).encode("unicode_escape").decode()
    return BadSetting(f"{name} is {got!r}, but must be {variable.kind.takes}.")


def _data_dir(text: str | None, environ: Mapping[str, str], beside: Path | None) -> Path:
    home = environ.get("HOME", "")
    if text is not None:
        return (Path(home) / text[2:] if text.startswith("~/") and home else Path(text)).absolute()
    if beside is not None:
        return beside / "data"
    shared = environ.get("XDG_DATA_HOME", "")
    if shared.startswith("/"):  # the XDG rule: a relative one is ignored
        return Path(shared) / "tsuzuki"
    if not home:
        raise BadSetting(f"{PREFIX}DATA_DIR is not set and there is no home folder; set it to the path of a folder.")
    return Path(home) / ".local" / "share" / "tsuzuki"


def _from_data_dir(url: str, data_dir: Path) -> str:
    """A SQLite URL with the whole path, as the data layer takes it; others as they are."""
    if not url.startswith("sqlite:"):
        return url
    return f"sqlite://{data_dir / url.removeprefix('sqlite:///')}"


def _unknown(name: str, known: list[str]) -> str:
    nearest = get_close_matches(_field(name), known, n=1)
    return f"{name} is not a known setting" + (f"; did you mean {PREFIX}{nearest[0].upper()}?" if nearest else ".")


def _check_together(settings: Settings) -> None:
    """Rules across several variables."""
    if settings.database_max_conns < settings.database_min_conns:
        raise BadSetting(
            f"{PREFIX}DATABASE_MAX_CONNS is '{settings.database_max_conns}', "
            f"but must be at least {PREFIX}DATABASE_MIN_CONNS, which is {settings.database_min_conns}."
        )
    if settings.database_read_url is not None and settings.database_url.startswith("sqlite:"):
        raise BadSetting(
            f"{PREFIX}DATABASE_READ_URL is set, but {PREFIX}DATABASE_URL is SQLite, which has no replicas."
        )
    if settings.database_read_url == settings.database_url:
        raise BadSetting(f"{PREFIX}DATABASE_READ_URL must be a replica, not the database of {PREFIX}DATABASE_URL.")
    if settings.pull_max_backoff < settings.pull_interval:
        raise BadSetting(
            f"{PREFIX}PULL_MAX_BACKOFF is '{settings.pull_max_backoff // 1000}s', "
            f"but must be at least {PREFIX}PULL_INTERVAL, which is {settings.pull_interval // 1000}s."
        )
    if settings.allow_empty_password and not _is_loopback(settings.host):
        raise BadSetting(
            f"{PREFIX}ALLOW_EMPTY_PASSWORD is 'on', but must be off while {PREFIX}HOST is {settings.host}, "
            "which other machines can reach."
        )
    if settings.billing and settings.stripe and not settings.stripe_webhook_secret:
        # R90: without it anybody could say that an invoice is paid.
        raise BadSetting(f"{PREFIX}STRIPE_WEBHOOK_SECRET is not set; {PREFIX}STRIPE requires it while billing is on.")
    if settings.oidc_issuer is not None:
        for part in _OIDC:
            is_given = getattr(settings, f"oidc_{part}") is not None
            if not is_given and not (part == "redirect_uri" and settings.public_url):
                raise BadSetting(f"{PREFIX}OIDC_{part.upper()} is not set; {PREFIX}OIDC_ISSUER requires it.")


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
