"""The one parser of addresses: what it reads is re-serialised, and only that is judged and fetched (SEC-03).

Pure. Two parsers that read one text differently are how a guard is walked around, so nothing else in `net` takes an
address apart.
"""

import re
import unicodedata
from functools import lru_cache
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import NoReturn

import idna
import msgspec

from tsuzuki.model.errors import RefusedAddress

MAX_LENGTH = 8192
DEFAULT_PORTS = {"http": 80, "https": 443}

# RFC 3986, appendix B: every text splits somehow; what is wrong with the parts is said below.
_PARTS = re.compile(r"(?:([^:/?#]+):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL)
_FORBIDDEN = re.compile(r"[\x00-\x20\x7f-\xa0\\\u2028\u2029]")
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*")
_HOST = re.compile(r"[a-z0-9_.-]+")
_PORT = re.compile(r"[0-9]{1,5}")
_NUMERIC_LABEL = re.compile(r"[0-9]+|0x[0-9a-f]*")
_DOTTED_QUAD = re.compile(r"(?:0|[1-9][0-9]{0,2})(?:\.(?:0|[1-9][0-9]{0,2})){3}")
_UNSAFE_IN_PATH = re.compile(r"[^!$-;=@-\[\]_a-z|~]")
_UNSAFE_IN_QUERY = re.compile(r"[^!$-;=?-\[\]-~]")
_FOREIGN_DOTS = re.compile("[\u3002\uff0e\uff61]")


class Url(msgspec.Struct, frozen=True):
    """An address in canonical form: ASCII, lower-case host without a root dot, no user, no fragment."""

    scheme: str
    host: str
    """A name, or an IP literal; IPv6 without brackets."""
    port: int
    path: str
    """Begins with `/`; holds the query."""

    @property
    def authority(self) -> str:
        """Host and port as they stand in the address; the scheme's own port is left out."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        """Scheme, host and port: what credentials belong to."""
        return f"{self.scheme}://{self.authority}"

    @property
    def literal(self) -> IPv4Address | IPv6Address | None:
        """The IP address that the host is, or None for a name."""
        if ":" in self.host:
            return IPv6Address(self.host)
        return _quad(self.host) if _DOTTED_QUAD.fullmatch(self.host) else None

    def __str__(self) -> str:
        return f"{self.origin}{self.path}"


def parse(text: str) -> Url:
    """The address that `text` names; RefusedAddress says what is wrong with it."""
    if len(text) > MAX_LENGTH:
        _refuse(text[:80] + "…", f"it is longer than {MAX_LENGTH} characters")
    if _FORBIDDEN.search(text):
        _refuse(text, "it contains a space, a backslash or a control character")
    scheme, authority, path, query = _split(text)
    if scheme is None or scheme.lower() not in DEFAULT_PORTS:
        _refuse(text, "only http:// and https:// addresses are fetched")
    scheme = scheme.lower()
    if not authority:
        _refuse(text, "it has no host")
    if "@" in authority:
        _refuse(text, "it must not contain a user name or password")
    host, port = _host_and_port(text, authority)
    return Url(scheme=scheme, host=host, port=port or DEFAULT_PORTS[scheme], path=_path(path, query))


def canonical(text: str) -> str:
    """The address as we store it; one that is refused stays as it is written."""
    try:
        return str(parse(text))
    except RefusedAddress:
        return text


def join(base: Url, reference: str) -> Url:
    """Where `reference`, found in an answer from `base`, leads. Spaces around it go, spaces within it are escaped."""
    reference = reference.strip(" \t\r\n").replace(" ", "%20")
    scheme, authority, path, query = _split(reference)
    if scheme is not None:
        return parse(reference)
    if authority is not None:
        return parse(f"{base.scheme}:{reference}")
    old_path, _, old_query = base.path.partition("?")
    if not path:
        path, query = old_path, old_query if query is None else query
    elif not path.startswith("/"):
        path = old_path.rpartition("/")[0] + "/" + path
    return parse(f"{base.origin}{path}" + (f"?{query}" if query else ""))


def _split(text: str) -> tuple[str | None, str | None, str, str | None]:
    found = _PARTS.fullmatch(text)
    assert found is not None
    scheme, authority, path, query, _ = found.groups()
    if scheme is not None and not _SCHEME.fullmatch(scheme):
        _refuse(text, "the part before the first colon is not a scheme")
    return scheme, authority, path, query


def _host_and_port(text: str, authority: str) -> tuple[str, int | None]:
    if authority.startswith("["):
        literal, bracket, rest = authority[1:].partition("]")
        if not bracket or (rest and not rest.startswith(":")):
            _refuse(text, "its brackets do not contain an IPv6 address")
        return _ipv6(text, literal), _port(text, rest[1:])
    host, _, port = authority.partition(":")
    return _name(text, host), _port(text, port)


def _port(text: str, digits: str) -> int | None:
    if not digits:
        return None
    if not _PORT.fullmatch(digits) or not 0 < int(digits) < 65_536:
        _refuse(text, f"{digits!r} is not a port")
    return int(digits)


def _ipv6(text: str, literal: str) -> str:
    if "%" in literal:
        _refuse(text, "an IPv6 zone has no meaning here")
    try:
        return str(IPv6Address(literal))
    except AddressValueError:
        _refuse(text, f"{literal!r} is not an IPv6 address")


def _name(text: str, host: str) -> str:
    ascii_host = _to_ascii(text, host).lower()
    if _DOTTED_QUAD.fullmatch(ascii_host):
        try:
            return str(_quad(ascii_host))
        except AddressValueError:
            _refuse(text, f"{ascii_host!r} is not an IPv4 address")
    name = ascii_host.removesuffix(".")
    labels = name.split(".")
    if not all(labels):
        _refuse(text, "its host has an empty part")
    if not _HOST.fullmatch(name):
        _refuse(text, "its host has characters that no host name has")
    if len(name) > 253 or any(len(label) > 63 for label in labels):
        _refuse(text, "its host name is too long")
    if _NUMERIC_LABEL.fullmatch(labels[-1]):
        _refuse(text, "its host is a number in disguise; write an IPv4 address as four plain decimal numbers")
    return name


@lru_cache(maxsize=1024)
def _quad(host: str) -> IPv4Address:
    """Read once: it is asked for at parsing and at judging, and takes longer than the rest of either."""
    return IPv4Address(host)


def _to_ascii(text: str, host: str) -> str:
    """IDNA, but never a way to write plain ASCII in other letters: `①②⑦.⓪.⓪.①` is not 127.0.0.1."""
    if host.isascii():
        return host
    if _FOREIGN_DOTS.search(host):
        _refuse(text, "its host has dots of another script")
    return ".".join(_label_to_ascii(text, label) for label in host.split("."))


def _label_to_ascii(text: str, label: str) -> str:
    if label.isascii():
        return label
    try:
        encoded = idna.encode(unicodedata.normalize("NFC", label), uts46=True, std3_rules=True).decode("ascii")
    except (idna.IDNAError, UnicodeError):
        _refuse(text, f"{label!r} is not a valid international host name")
    if not encoded.startswith("xn--"):
        _refuse(text, f"{label!r} only imitates plain letters or digits")
    return encoded


def _path(path: str, query: str | None) -> str:
    clean = _escape(_without_dots(path or "/"), _UNSAFE_IN_PATH)
    return f"{clean}?{_escape(query, _UNSAFE_IN_QUERY)}" if query else clean  # a lone `?` is not sent either


def _escape(text: str, unsafe: re.Pattern[str]) -> str:
    """Percent-encode what may not stand there; what is encoded already, even wrongly, stays as it was written."""
    return unsafe.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode(errors="replace")), text)


def _without_dots(path: str) -> str:
    """`/a/./b/../c` -> `/a/c`, also with escaped dots; never above the root."""
    kept: list[str] = []
    parts = path.split("/")[1:]
    for part in parts:
        plain = part.lower().replace("%2e", ".")
        if plain == "..":
            del kept[-1:]
        elif plain != ".":
            kept.append(part)
    if parts[-1].lower().replace("%2e", ".") in {".", ".."}:
        kept.append("")
    return "/" + "/".join(kept)


def _refuse(text: str, why: str) -> NoReturn:
    raise RefusedAddress(f"The address {text!r} is refused: {why}.")
