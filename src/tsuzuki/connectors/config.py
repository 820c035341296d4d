"""A source's config: what every source knows, how it is checked, and which parts of it are secret."""

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Annotated, Any, TypeVar
from urllib.parse import SplitResult, urlsplit, urlunsplit

import msgspec
from msgspec import Meta

from tsuzuki.model.errors import Invalid, Problem
from tsuzuki.model.secrets import MASKED, UNREADABLE, Unreadable, is_secret, unreadable_places
from tsuzuki.model.text import readable, readable_patterns

MAX_HEADERS = 50

HeaderName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]+\Z", max_length=100)]
HeaderValue = Annotated[str, Meta(pattern=r"^[\t -~\u0080-\u00ff]*\Z", max_length=4000)]

OUR_HEADERS = frozenset({"host", "content-length", "transfer-encoding", "connection", "via", "te", "upgrade", "expect"})


class SourceConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What every source's config knows; a connector's own config adds to it by inheriting."""

    ratelimit: Annotated[float, Meta(gt=0, le=50)] | None = None
    """Requests a second; the connector's own limit when None."""
    proxy: Annotated[str, Meta(max_length=2000)] | None = None
    headers: Annotated[dict[HeaderName, HeaderValue], Meta(max_length=MAX_HEADERS)] = msgspec.field(
        default_factory=dict
    )
    maxpages: Annotated[int, Meta(ge=1, le=1000)] = 50
    """How far a discovery walks a catalogue, or a list of chapters."""
    fetchpages: bool = False
    """Whether a crawl of a comic asks for the page lists of its new chapters too."""

    def problems(self) -> Iterator[Problem]:
        """What is wrong though every type is right. A connector's config adds its own to `super().problems()`."""
        proxy = None if self.proxy is None else _split(self.proxy)
        if self.proxy is not None and (proxy is None or proxy.scheme not in {"http", "https"} or not proxy.hostname):
            yield Problem("proxy", "Write the proxy as http://host:port or https://host:port; SOCKS is not supported.")
        for name in self.headers:
            if name.lower() in OUR_HEADERS:
                yield Problem(f"headers.{name}", f"{name} is set by the client itself and cannot be configured.")


C = TypeVar("C", bound=SourceConfig)


def decode_config(kind: type[C], raw: Any) -> C:
    """The config of a source, or `Invalid` with every unknown, mistyped and impossible key (SEC-27)."""
    if not isinstance(raw, Mapping):
        given = "null" if raw is None else type(raw).__name__
        raise _invalid([Problem("config", f"Expected an object, got {given}.")])
    fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    if unreadable := [Problem(place, UNREADABLE) for place in unreadable_places(raw)]:
        raise _invalid(unreadable)
    problems = [_unknown(str(key), fields) for key in raw if key not in fields]
    values: dict[str, Any] = {}
    for name, field in fields.items():
        if name not in raw:
            if field.required:
                problems.append(Problem(f"config.{name}", "This key is required."))
            continue
        try:
            values[field.name] = msgspec.convert(raw[name], field.type)
        except msgspec.ValidationError as error:
            problems.append(_mistyped(name, error))
    if problems:
        raise _invalid(problems)
    config = kind(**values)
    beyond_types = [Problem(f"config.{problem.field}", problem.message) for problem in config.problems()]
    if beyond_types:
        raise _invalid(beyond_types)
    return config


def config_schema(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """JSON Schema of a config; secret keys are marked `writeOnly`."""
    schema: dict[str, Any] = readable_patterns(msgspec.json.schema(kind))
    for name, described in schema["$defs"][kind.__name__]["properties"].items():
        if is_secret(name):
            described["writeOnly"] = True
    return schema


def _invalid(problems: list[Problem]) -> Invalid:
    return Invalid(f"{problems[0].field}: {problems[0].message}", tuple(problems))


def _unknown(name: str, known: Mapping[str, Any]) -> Problem:
    close = get_close_matches(name, known, n=1)
    hint = f"did you mean {close[0]}?" if close else f"this source knows {', '.join(sorted(known))}."
    return Problem(f"config.{name}", f"Unknown key: {hint}")


def _mistyped(name: str, error: msgspec.ValidationError) -> Problem:
    """One problem; msgspec ends its message with the place inside the value: ` - at `$.a[0]``."""
    message, _, place = str(error).partition(" - at `")
    inside = re.sub(r"^(?:key` in `)?\$", "", place.rstrip("`"))
    return Problem(f"config.{name}{inside}", f"{readable(message)}.")


def masked(config: Mapping[str, Any]) -> dict[str, Any]:
    """The config as any answer, log or audit row may show it: every secret is `***` (R47)."""
    return {key: _masked_value(value, secret=is_secret(key)) for key, value in config.items()}


def _masked_value(value: Any, *, secret: bool) -> Any:
    if isinstance(value, Unreadable):
        return MASKED
    if isinstance(value, Mapping):
        return {key: _masked_value(inner, secret=secret or is_secret(str(key))) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_masked_value(inner, secret=secret) for inner in value]
    if secret:
        return value if value is None or value in ("", [], {}) else MASKED
    return _without_password(value) if isinstance(value, str) else value


def _without_password(text: str) -> str:
    """An address keeps its user and host and loses its password."""
    parts = _split(text)
    if parts is None or parts.password is None:
        return text
    user, _, host = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{user.partition(':')[0]}:{MASKED}@{host}"))


def unmasked(sent: Mapping[str, Any], stored: Mapping[str, Any]) -> dict[str, Any]:
    """What to store when a client sends a config back: each `***` stands for what is stored there (R47).

    `Invalid` names every `***` with nothing behind it; a password is not carried over to another proxy.
    """
    problems: list[Problem] = []
    result = {key: _unmasked_value(value, stored.get(key), f"config.{key}", problems) for key, value in sent.items()}
    if problems:
        raise _invalid(problems)
    return result


def _unmasked_value(value: Any, stored: Any, place: str, problems: list[Problem]) -> Any:
    if isinstance(value, Mapping):
        inside = stored if isinstance(stored, Mapping) else {}
        return {key: _unmasked_value(part, inside.get(key), f"{place}.{key}", problems) for key, part in value.items()}
    if isinstance(value, list | tuple):
        known = stored if isinstance(stored, list | tuple) and len(stored) == len(value) else [None] * len(value)
        pairs = enumerate(zip(value, known, strict=True))
        return [_unmasked_value(part, old, f"{place}[{index}]", problems) for index, (part, old) in pairs]
    if not isinstance(value, str) or MASKED not in value or value == stored:
        return value
    if stored is not None and _masked_value(stored, secret=value == MASKED) == value:
        return stored
    parts = _split(value)
    if value == MASKED or (parts is not None and parts.password == MASKED):
        problems.append(
            Problem(place, f"{MASKED} keeps the stored value, but nothing is stored here yet. Enter the value.")
        )
    return value


def _split(text: str) -> SplitResult | None:
    """None for what is no address at all; the port is read here because reading it can fail."""
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        return None
    return parts if parts.scheme and parts.netloc else None
