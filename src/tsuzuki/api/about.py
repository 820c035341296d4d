"""What this server is."""

import msgspec

from tsuzuki.api.endpoints import Access, Endpoint


class About(msgspec.Struct, frozen=True):
    """The program, its version and the database engine it stands on."""

    name: str
    version: str
    engine: str


async def show_about(about: About) -> About:
    """The program, its version and the database engine it stands on."""
    return about


ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/about",
        handler=show_about,
        summary="What this server is",
        access=Access.PUBLIC,
        tags=("server",),
    ),
)
