"""Every protocol that this server answers. A new one is a module, and a line here."""

from collections.abc import Callable, Sequence

import msgspec

from tsuzuki.accounts.types import Protocol
from tsuzuki.protocols import fever, miniflux
from tsuzuki.protocols.access import AppResource, ProtocolDeps
from tsuzuki.protocols.google_reader import routes, sign_in
from tsuzuki.protocols.icons import icon_resource
from tsuzuki.protocols.pictures import picture_resources


class SpokenProtocol(msgspec.Struct, frozen=True):
    """A protocol, and what answers it."""

    protocol: Protocol
    resources: Callable[[ProtocolDeps], Sequence[AppResource]]


SPOKEN = (
    SpokenProtocol(fever.FEVER, fever.resources),
    SpokenProtocol(sign_in.GREADER, routes.resources),
    SpokenProtocol(miniflux.MINIFLUX, miniflux.resources),
)

PROTOCOLS = tuple(one.protocol for one in SPOKEN)


def build_protocols(deps: ProtocolDeps) -> list[AppResource]:
    """What answers all of them, and the pictures and icons that they show."""
    spoken = [resource for one in SPOKEN for resource in one.resources(deps)]
    return [*spoken, *picture_resources(deps), icon_resource(deps)]
