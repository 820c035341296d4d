"""Which web addresses may be a source's."""

from ipaddress import IPv4Address

from tsuzuki.model.errors import SourceError
from tsuzuki.net.guard import AddressGuard
from tsuzuki.net.urls import Url, parse
from tsuzuki.sources.sites.policy import IsCallable

_LOCALHOST = "localhost"


def callable_with(guard: AddressGuard) -> IsCallable:
    """With https anywhere; with http only on a loopback that the operator opened."""

    def is_callable(text: str) -> bool:
        try:
            url = parse(text)
        except SourceError:
            return False
        return url.scheme == "https" or _is_open_loopback(url, guard)

    return is_callable


def _is_open_loopback(url: Url, guard: AddressGuard) -> bool:
    address = IPv4Address("127.0.0.1") if url.host == _LOCALHOST else url.literal
    return address is not None and address.is_loopback and guard.is_allow_listed(address)
