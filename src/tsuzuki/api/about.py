"""What this server is."""

from tsuzuki.api.endpoints import Access, Endpoint
from tsuzuki.http.services import About


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
