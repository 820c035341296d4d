"""Which addresses may be called. Pure: it judges an address or a name; `dialer` asks it again for each socket.

`ipaddress.is_global` and `is_private` are no guard (multicast, NAT64 and 6to4 forms of loopback pass), so the ranges
are written out. An operator's allow-list opens networks and hosts; those lose the port list too, and travel in lanes
of their own, so that no kept-alive connection serves both.
"""

from collections.abc import Iterable
from enum import Enum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

import msgspec

from tsuzuki.model.errors import Invalid, RefusedAddress
from tsuzuki.net.urls import Url

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

DEFAULT_PORTS = frozenset({80, 443, 8000, 8008, 8080, 8443, 8888})

_RESERVED_4 = """
0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.31.196.0/24
192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4
240.0.0.0/4
"""
_REFUSED_4 = tuple(IPv4Network(text) for text in _RESERVED_4.split())
_GLOBAL_6 = IPv6Network("2000::/3")
_REFUSED_6 = tuple(IPv6Network(text) for text in ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"))
_NAT64 = IPv6Network("64:ff9b::/96")

# What no allow-list opens: nothing answers there, or everything does, or a cloud's metadata does.
_NEVER: tuple[Network, ...] = tuple(
    ip_network(text)
    for text in ("0.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "240.0.0.0/4", "::/128", "fe80::/10", "ff00::/8")
)

_SUFFIXES = "localhost local internal intranet lan home corp private localdomain arpa onion test invalid"
_PRIVATE_SUFFIXES = frozenset(_SUFFIXES.split())
_PRIVATE = (
    "not on the public internet (private, local or reserved), and TSUZUKI_ALLOW_PRIVATE_NETWORKS does not allow it"
)


class Lane(Enum):
    """A kind of target; each has its own sessions and its own rule for the address dialled."""

    PUBLIC = "public"
    NETWORK = "an allow-listed network"
    HOST = "an allow-listed host"


class AllowList(msgspec.Struct, frozen=True):
    """What the operator opened beyond the public internet."""

    networks: tuple[Network, ...] = ()
    hosts: frozenset[str] = frozenset()
    """Exact names; what they resolve to is the operator's business."""

    @classmethod
    def read(cls, entries: Iterable[str]) -> "AllowList":
        """`["127.0.0.0/8", "nas.lan"]` as an allow-list; Invalid names the entry that is neither."""
        networks: list[Network] = []
        hosts: set[str] = set()
        for entry in (raw.strip().lower() for raw in entries):
            if "/" in entry or entry[:1].isdigit() or ":" in entry:
                try:
                    networks.append(ip_network(entry, strict=False))
                except ValueError as error:
                    raise Invalid(f"{entry!r} is not a network such as 127.0.0.0/8, and no host name") from error
            elif entry:
                hosts.add(entry)
        return cls(networks=tuple(networks), hosts=frozenset(hosts))

    def __bool__(self) -> bool:
        return bool(self.networks or self.hosts)


class AddressGuard(msgspec.Struct, frozen=True):
    """The rules of one installation."""

    allow: AllowList = AllowList()
    ports: frozenset[int] = DEFAULT_PORTS
    nat64: bool = False
    """For hosts that reach IPv4 only through NAT64: 64:ff9b::/96 is judged by the IPv4 address inside."""

    def lane_of_literal(self, address: Address) -> Lane:
        """The lane for an IP address that stands in a URL; RefusedAddress where there is none."""
        if self.is_allow_listed(address):
            return Lane.NETWORK
        self.check(address, Lane.PUBLIC)
        return Lane.PUBLIC

    def lane_of_answers(self, host: str, addresses: Iterable[Address]) -> Lane:
        """The lane for a name with these DNS answers; a single bad one refuses the name."""
        if host in self.allow.hosts:
            return Lane.HOST
        judged = tuple(addresses)
        if judged and all(self.is_allow_listed(address) for address in judged):
            return Lane.NETWORK
        for address in judged:
            self.check(address, Lane.PUBLIC)
        return Lane.PUBLIC

    def check(self, address: Address, lane: Lane) -> None:
        """RefusedAddress unless this address may be dialled in this lane."""
        reason = self._reason_against(address, lane)
        if reason is not None:
            raise RefusedAddress(f"The address {address} is refused: it is {reason}.")

    def check_public_form(self, url: Url) -> None:
        """RefusedAddress unless name and port are such as the public internet has. Not for allow-listed targets."""
        if url.literal is None and ("." not in url.host or url.host.rpartition(".")[2] in _PRIVATE_SUFFIXES):
            raise RefusedAddress(f"The address {url} is refused: {url.host!r} is a name of a private network.")
        if url.port not in self.ports:
            ports = ", ".join(map(str, sorted(self.ports)))
            raise RefusedAddress(
                f"The address {url} is refused: port {url.port} is not among the allowed ones ({ports})."
            )

    def is_allow_listed(self, address: Address) -> bool:
        """True when the operator opened a network that holds this address."""
        plain = _unwrapped(address)
        if _scope(address) or _is_in(plain, _NEVER):
            return False
        # `localhost` has both; who opened the one machine by its IPv4 address meant the machine
        same = {plain, IPv4Address("127.0.0.1")} if plain == IPv6Address("::1") else {plain}
        return any(_is_in(one, self.allow.networks) for one in same)

    def _reason_against(self, address: Address, lane: Lane) -> str | None:
        if _scope(address):
            return "an address with a zone"
        plain = _unwrapped(address)
        if lane is Lane.HOST:
            return "not the address of one machine" if _is_in(plain, _NEVER) else None
        if lane is Lane.NETWORK:
            return None if self.is_allow_listed(plain) else "not in an allowed network"
        if self.nat64 and isinstance(plain, IPv6Address) and plain in _NAT64:
            plain = IPv4Address(int(plain) & 0xFFFF_FFFF)
        if isinstance(plain, IPv4Address):
            return _PRIVATE if _is_in(plain, _REFUSED_4) else None
        return None if plain in _GLOBAL_6 and not _is_in(plain, _REFUSED_6) else _PRIVATE


def read_address(text: str) -> Address:
    """The address that a resolver or a socket names; RefusedAddress when it is none."""
    try:
        return ip_address(text)
    except ValueError as error:
        raise RefusedAddress(f"The address {text!r} is refused: it is not an IP address.") from error


def _is_in(address: Address, networks: tuple[Network, ...]) -> bool:
    return any(address in network for network in networks if network.version == address.version)


def _unwrapped(address: Address) -> Address:
    """`::ffff:a.b.c.d` is dialled as IPv4, so it is judged as IPv4."""
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return address if mapped is None else mapped


def _scope(address: Address) -> str | None:
    return address.scope_id if isinstance(address, IPv6Address) else None
