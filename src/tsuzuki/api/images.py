"""Images: pages of chapters, covers, and the pictures of articles."""

from typing import Annotated

from msgspec import Meta
from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.api.endpoints import Access, QueryParameters, declaring
from tsuzuki.api.ids import MangaPath, ReleasePath, number_id
from tsuzuki.http.images import answer_image, wants_whole
from tsuzuki.images.articles import LONGEST_WRITTEN, ArticleImages
from tsuzuki.images.files import ImageSubject, at_address, cover_of, page_of
from tsuzuki.images.policy import Width
from tsuzuki.images.service import Images, Prefetch
from tsuzuki.model.errors import Conflict, NotFound, Unavailable

PagePath = Annotated[int, number_id("There is no such page.")]

Signature = Annotated[str, Meta(max_length=64)]
WrittenAddress = Annotated[str, Meta(max_length=LONGEST_WRITTEN)]


class ImageQuery(QueryParameters, frozen=True, kw_only=True):
    """`width` asks for a small WebP of at most that width. `refresh` asks the source whatever is stored."""

    width: Width | None = None
    refresh: bool = False


async def show_page_image(
    *,
    release_id: ReleasePath,
    position: PagePath,
    query: ImageQuery,
    request: Request,
    caller: Caller,
    images: Images,
    prefetch: Prefetch,
) -> Response:
    """The image of a page, counted from 0.

    An image that is not cached yet is streamed while it is fetched; range requests work. If the source fails, returns
    503 with the reason; `Retry-After` says when it is tried again.
    """
    response = await _answer(
        request, page_of(release_id, position), query, f"{release_id}-{position:03}", caller=caller, images=images
    )
    if query.width is None:
        prefetch.follow(caller.user_id, release_id, position)
    return response


async def show_cover(
    *, manga_id: MangaPath, query: ImageQuery, request: Request, caller: Caller, images: Images
) -> Response:
    """The cover of a series at a source."""
    return await _answer(request, cover_of(manga_id), query, f"cover-{manga_id}", caller=caller, images=images)


async def show_article_image(
    *,
    signature: Signature,
    picture: WrittenAddress,
    query: ImageQuery,
    request: Request,
    caller: Caller,
    images: Images,
    articles: ArticleImages,
) -> Response:
    """An image of an article, at the address used in its content on a shelf with `proxy_images`."""
    address = articles.address(signature, picture)
    return await _answer(request, at_address(address), query, "image", caller=caller, images=images, address=address)


async def _answer(
    request: Request,
    subject: ImageSubject,
    query: ImageQuery,
    name: str,
    *,
    caller: Caller,
    images: Images,
    address: str = "",
) -> Response:
    if query.width is not None:
        small = await images.show_small(subject, query.width, address=address, user_id=caller.user_id)
        return answer_image(request, small, f"{name}-{query.width}")
    found = await images.show(
        subject,
        address=address,
        user_id=caller.user_id,
        refresh=query.refresh,
        whole=wants_whole(request),
    )
    return answer_image(request, found, name)


_read = declaring("images", Access.READ)
_ERRORS = (NotFound, Conflict, Unavailable)

ENDPOINTS = (
    _read(
        "GET",
        "/chapters/{release_id}/pages/{position}/image",
        show_page_image,
        "Show the image of a page",
        errors=_ERRORS,
    ),
    _read("GET", "/manga/{manga_id}/cover", show_cover, "Show a cover", errors=_ERRORS),
    _read("GET", "/images/{signature}/{picture}", show_article_image, "Show an image of an article", errors=_ERRORS),
)
