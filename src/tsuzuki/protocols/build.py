"""Every protocol that this server answers. A new one is a module, and a line here."""

from collections.abc import Callable, Sequence

import msgspec

from tsuzuki.accounts.types import Protocol
from tsuzuki.protocols import feeds_out, fever
from tsuzuki.protocols.access import AppResource, ProtocolDeps


class SpokenProtocol(msgspec.Struct, frozen=True):
    """A protocol, and what answers it."""

    protocol: Protocol
    resources: Callable[[ProtocolDeps], Sequence[AppResource]]


SPOKEN = (SpokenProtocol(fever.FEVER, fever.resources),)

PROTOCOLS = tuple(one.protocol for one in SPOKEN)


def build_protocols(deps: ProtocolDeps) -> list[AppResource]:
    """What answers all of them, and what needs no password."""
    spoken = [resource for one in SPOKEN for resource in one.resources(deps)]
    return [*spoken, *feeds_out.resources(deps)]
