"""Addresses of sources in bodies: what can be said of them before a service is asked."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any
from urllib.parse import urlsplit

from msgspec import Meta

from tsuzuki.model.errors import Problem

Address = Annotated[str, Meta(max_length=2000)]


def address_problems(raw: Mapping[str, Any], field: str, message: str) -> Iterator[Problem]:
    """What no source could have; whether http is open on this loopback, or `local:` for this one, a service knows."""
    url = raw.get(field)
    if isinstance(url, str) and not _may_be_address(url):
        yield Problem(field, message)


def _may_be_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return False
    if parts.scheme == "local":
        return True
    return parts.scheme in {"https", "http"} and bool(host) and "@" not in parts.netloc
