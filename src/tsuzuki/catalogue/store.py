"""What the catalogue remembers."""

from tsuzuki.catalogue.rows import PageRow, Release
from tsuzuki.db import Tx, load_queries
from tsuzuki.model.ids import ReleaseId

q = load_queries("tsuzuki.catalogue")


# -- pages


async def find_release_tx(tx: Tx, release_id: int) -> Release | None:
    """One release."""
    return await tx.maybe(Release, q.find_release, id=release_id)


async def list_pages_tx(tx: Tx, release_id: ReleaseId) -> list[PageRow]:
    """In reading order."""
    return await tx.many(PageRow, q.list_pages, release_id=release_id)


async def resolve_image_tx(tx: Tx, release_id: ReleaseId, position: int, image_url: str) -> None:
    """Remember where a page's image is."""
    await tx.run(q.resolve_image, release_id=release_id, position=position, image_url=image_url)
