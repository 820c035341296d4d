"""Every protocol that this server answers. A new one is a module, and a line here."""

from collections.abc import Callable, Sequence

import msgspec

from tsuzuki.accounts.types import Protocol
from tsuzuki.protocols import feeds_out, fever, google_reader, komga, koreader, miniflux, opds, syncyomi
from tsuzuki.protocols.access import AppResource, ProtocolDeps
from tsuzuki.protocols.icons import icon_resource
from tsuzuki.protocols.pictures import picture_resources


class SpokenProtocol(msgspec.Struct, frozen=True):
    """A protocol, and what answers it."""

    protocol: Protocol
    resources: Callable[[ProtocolDeps], Sequence[AppResource]]


SPOKEN = (
    SpokenProtocol(fever.FEVER, fever.resources),
    SpokenProtocol(google_reader.GREADER, google_reader.resources),
    SpokenProtocol(miniflux.MINIFLUX, miniflux.resources),
    SpokenProtocol(komga.KOMGA, komga.resources),
    SpokenProtocol(opds.OPDS, opds.resources),
    SpokenProtocol(koreader.KOREADER, koreader.resources),
    SpokenProtocol(syncyomi.SYNCYOMI, syncyomi.resources),
)

PROTOCOLS = tuple(one.protocol for one in SPOKEN)


def build_protocols(deps: ProtocolDeps) -> list[AppResource]:
    """What answers all of them, the pictures and icons that they show, and feeds out, which need no password."""
    spoken = [resource for one in SPOKEN for resource in one.resources(deps)]
    return [*spoken, *picture_resources(deps), icon_resource(deps), *feeds_out.resources(deps)]
