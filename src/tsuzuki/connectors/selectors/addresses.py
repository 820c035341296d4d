"""Addresses that a definition makes. Their host is always one that the definition names itself (SEC-05)."""

import re
from collections.abc import Mapping
from urllib.parse import quote, urlencode, urljoin, urlsplit

from tsuzuki.connectors.html.addresses import http_url, parts_of
from tsuzuki.connectors.selectors.definition import Definition
from tsuzuki.model.errors import Invalid

_VARIABLE = re.compile(r"\{([^{}]*)\}")


def own_hosts(definition: Definition) -> frozenset[str]:
    """`host` or `host:port`, as addresses write them."""
    return frozenset({urlsplit(definition.base_url).netloc.lower(), *(host.lower() for host in definition.hosts)})


def template_problem(template: str, known: tuple[str, ...], hosts: frozenset[str]) -> str | None:
    """Why this template cannot be an address of the source; None when it can."""
    for variable in _VARIABLE.findall(template):
        if variable not in known:
            names = ", ".join(f"{{{name}}}" for name in known)
            return f"{{{variable[:40]}}} is not known here: {names or 'no variable'} can be used."
    if "{" in _VARIABLE.sub("", template) or "}" in _VARIABLE.sub("", template):
        return "A single { or } is not taken in an address."
    if "{url}" in template[1:]:
        return "{url} is a whole address and can stand only at the beginning."
    start = template.partition("{")[0]
    if template.startswith("{url}") or (start.startswith("/") and not start.startswith("//")):
        return None
    parts = parts_of(start)
    if parts is None or parts.scheme not in {"http", "https"} or parts.netloc.lower() not in hosts or not parts.path:
        return f"An address begins with / or with http(s):// and a host of this source: {', '.join(sorted(hosts))}."
    return None


def fill(template: str, values: Mapping[str, str]) -> str:
    """The template with its variables; all but {url} are escaped, so that they stay within their place."""
    return _VARIABLE.sub(lambda found: _filled(found[1], values), template)


def _filled(name: str, values: Mapping[str, str]) -> str:
    value = values.get(name, "")
    return value if name == "url" else quote(value, safe="")


def own_address(definition: Definition, text: str, base: str | None = None) -> str | None:
    """The absolute address, when it is on a host of this source; else None."""
    address = http_url(text, base or definition.base_url)
    if address is None or "@" in urlsplit(address).netloc:
        return None
    return address if urlsplit(address).netloc.lower() in own_hosts(definition) else None


def address_to_call(definition: Definition, template: str, values: Mapping[str, str]) -> str:
    """Where a step asks; `Invalid` for what would lead away from the source's hosts."""
    address = own_address(definition, fill(template, values))
    if address is None:
        raise Invalid(f"{values.get('url', template)[:200]!r} is not an address of {definition.name}.")
    return address


def series_values(definition: Definition, url: str) -> dict[str, str]:
    """The variables for a series or chapter by its address: `{url}` itself, and `{id}`, the last part of its path."""
    absolute = urljoin(definition.base_url, url) if parts_of(url) else url
    path = urlsplit(absolute).path if parts_of(absolute) else ""
    return {"url": url, "id": path.rstrip("/").rpartition("/")[2], "language": definition.language}


def with_query(address: str, parameters: list[tuple[str, str]]) -> str:
    """The address with more parameters at its end."""
    if not parameters:
        return address
    return f"{address}{'&' if '?' in address else '?'}{urlencode(parameters)}"
