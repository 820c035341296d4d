"""Images: pages of chapters, covers, and the pictures of articles."""

from typing import Annotated

from msgspec import Meta
from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.api.declaring import declaring
from tsuzuki.api.endpoints import Access
from tsuzuki.api.forms import QueryParameters
from tsuzuki.api.ids import Number, number_in_path
from tsuzuki.api.image_answers import answer_image, wants_whole
from tsuzuki.catalogue.chapters import NO_CHAPTER
from tsuzuki.catalogue.details import NO_MANGA
from tsuzuki.catalogue.images.articles import ArticleImages
from tsuzuki.catalogue.images.policy import Width
from tsuzuki.catalogue.images.prefetching import Prefetch
from tsuzuki.catalogue.images.rows import ImageSubject, at_address, cover_of, page_of
from tsuzuki.catalogue.images.service import Images
from tsuzuki.catalogue.signing import LONGEST_WRITTEN
from tsuzuki.model.errors import Conflict, NotFound, Unavailable
from tsuzuki.model.ids import ReleaseId, SeriesSourceId

_NO_PAGE = "There is no such page."

Signature = Annotated[str, Meta(max_length=64)]
WrittenAddress = Annotated[str, Meta(max_length=LONGEST_WRITTEN)]


class ImageQuery(QueryParameters, frozen=True, kw_only=True):
    """`width` asks for a small WebP of at most that width. `refresh` asks the source whatever is stored."""

    width: Width | None = None
    refresh: bool = False


async def show_page_image(
    *,
    release_id: Number,
    position: Number,
    query: ImageQuery,
    request: Request,
    caller: Caller,
    images: Images,
    prefetch: Prefetch,
) -> Response:
    """The image of a page, counted from 0. One that is not here yet is passed on as it comes; ranges are answered.

    A source that fails is a 503 that says what was wrong; `Retry-After` says when it is asked again.
    """
    chapter = ReleaseId(number_in_path(release_id, NO_CHAPTER))
    page = number_in_path(position, _NO_PAGE)
    response = await _answer(
        request, page_of(chapter, page), query, f"{chapter}-{page:03}", caller=caller, images=images
    )
    if query.width is None:
        prefetch.follow(caller.user_id, chapter, page)
    return response


async def show_cover(
    *, manga_id: Number, query: ImageQuery, request: Request, caller: Caller, images: Images
) -> Response:
    """The cover that a source shows of a series."""
    manga = SeriesSourceId(number_in_path(manga_id, NO_MANGA))
    return await _answer(request, cover_of(manga), query, f"cover-{manga}", caller=caller, images=images)


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
    """An image of an article, by the address that its content has on a shelf with `proxy_images`."""
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
        "GET", "/chapters/{release_id}/pages/{position}/image", show_page_image, "The image of a page", errors=_ERRORS
    ),
    _read("GET", "/manga/{manga_id}/cover", show_cover, "A cover", errors=_ERRORS),
    _read("GET", "/images/{signature}/{picture}", show_article_image, "An image of an article", errors=_ERRORS),
)
