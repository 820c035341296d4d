"""Pictures of other sites on our pages: by way of this server, so that no third party hears what somebody reads."""

from collections.abc import Callable

from tsuzuki.web.site import Site

Picture = Callable[[str], str | None]
"""Where our server brings a picture of another site from; None when it does not."""

SMALL = "?width=160"


def pictures_of(site: Site) -> Picture:
    """By way of this server, by signed addresses."""
    images = site.pictures.articles

    def brought(address: str) -> str | None:
        return images.url(address) if address.startswith(("http://", "https://")) else None

    return brought


def small(picture: Picture, address: str | None) -> str | None:
    """The same, of the size that a row of a list has."""
    brought = picture(address) if address else None
    return brought and brought + SMALL
