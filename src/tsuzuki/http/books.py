"""Files of chapters and articles as they are answered: with their length, in ranges, never whole in memory."""

from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.books.archives import Archive
from tsuzuki.books.articles import ArticleFile, ArticleFiles, article_name
from tsuzuki.books.chapters import CBZ, ChapterFiles
from tsuzuki.books.comic_info import ReleaseFacts, ascii_name
from tsuzuki.http.middleware import SANDBOXED
from tsuzuki.http.parts import PiecesResponse, asked_part
from tsuzuki.images.service import Images
from tsuzuki.model.ids import ItemId, ReleaseId, ShelfId, UserId

_FIRST = "bytes 0-"


async def answer_chapter(
    request: Request, files: ChapterFiles, images: Images, *, release_id: ReleaseId, user_id: UserId
) -> Response:
    """A chapter as CBZ. What is sent is remembered by its digest: a device will name it so.

    Whoever asks only for its head, as KOReader does for the name, does not wait for pages that are still to be fetched.
    """
    known = await files.here(release_id, user_id) if request.method == "HEAD" else None
    if request.method == "HEAD" and known is None:
        facts = await files.facts(release_id)
        response = Response(headers=_headers(facts.file_name, CBZ, otherwise=_otherwise(facts)))
        del response.headers["content-length"]
        return response
    file = known or await files.open(release_id, user_id)
    response = answer_archive(request, file.archive, images, otherwise=_otherwise(file.facts))
    if _begins(response):
        await files.digest(file)
    return response


async def answer_item(
    request: Request, files: ArticleFiles, images: Images, *, shelf_id: ShelfId, item_id: ItemId
) -> Response:
    """An article of a shelf as EPUB; what is sent is remembered in the same way."""
    file = await files.article(shelf_id, item_id)
    return await answer_articles(request, file, files, images, shelf_id=shelf_id, otherwise=article_name(item_id))


async def answer_articles(
    request: Request, file: ArticleFile, files: ArticleFiles, images: Images, *, shelf_id: ShelfId, otherwise: str
) -> Response:
    """Articles of a shelf in one file; the same."""
    response = answer_archive(request, file.archive, images, otherwise=otherwise)
    if _begins(response):
        await files.remember(shelf_id, file)
    return response


def _begins(response: Response) -> bool:
    """Whether somebody gets the first byte: who goes on with a file has had that before."""
    return isinstance(response, PiecesResponse) and response.headers.get("content-range", _FIRST).startswith(_FIRST)


def answer_archive(request: Request, archive: Archive, images: Images, *, otherwise: str) -> Response:
    """The file, or what is asked for of it; `otherwise` names it where its own name has no letter of ASCII."""
    part = asked_part(request, archive.size, archive.etag)
    headers = part.headers | _headers(archive.name, archive.media_type, otherwise=otherwise)
    if not part.has_body:
        return Response(status_code=part.status, headers=headers)
    length = part.end - part.start
    if request.method == "HEAD":
        return Response(status_code=part.status, headers=headers | {"content-length": str(length)})
    return PiecesResponse(
        lambda: archive.pieces(images, part.start, part.end), length=length, status=part.status, headers=headers
    )


def _headers(name: str, media_type: str, *, otherwise: str) -> dict[str, str]:
    plain = ascii_name(name, otherwise)
    return {
        "content-type": media_type,
        # The plain name in quotes comes first: some devices read no other.
        "content-disposition": f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}",
        "content-security-policy": SANDBOXED,
        "cache-control": "private, no-cache",
    }


def _otherwise(facts: ReleaseFacts) -> str:
    return f"chapter {facts.chapter_id}"
