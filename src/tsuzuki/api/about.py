"""What this server is."""

from tsuzuki.api.endpoints import Access, declaring
from tsuzuki.http.services import About


async def show_about(about: About) -> About:
    """The program, its version and its database engine."""
    return about


ENDPOINTS = (declaring("server", Access.PUBLIC)("GET", "/about", show_about, "About this server"),)
