"""Images as they are answered: whole, in parts, small, or as they come; for the API, and for apps."""

from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.http.middleware import SANDBOXED
from tsuzuki.http.parts import PiecesResponse, asked_part
from tsuzuki.images.files import Image, ImageReader
from tsuzuki.images.formats import EXTENSIONS, MediaType
from tsuzuki.images.service import ArrivingImage, OpenImage

_KEPT = "private, max-age=604800, immutable"


def wants_whole(request: Request) -> bool:
    """Whether the answer needs the whole image: its size or its hash."""
    asked = request.headers
    return request.method == "HEAD" or "range" in asked or "if-none-match" in asked


def answer_image(request: Request, found: OpenImage | ArrivingImage, name: str) -> Response:
    """The answer; `name` is what a file of it would be called."""
    if isinstance(found, ArrivingImage):
        arrival, headers = found.arrival, _headers(found.head.media_type, name)
        return PiecesResponse(arrival.pieces, length=None, status=200, headers=headers, close=arrival.leave)
    response = _answer_stored(request, found.image, found.body, _headers(found.image.media_type, name))
    if not isinstance(response, PiecesResponse):
        found.close()
    return response


def _answer_stored(request: Request, image: Image, body: bytes | ImageReader, headers: dict[str, str]) -> Response:
    part = asked_part(request, image.bytes, image.hash.hex())
    headers |= part.headers
    start, end = part.start, part.end
    if not part.has_body:
        return Response(status_code=part.status, headers=headers)
    if request.method == "HEAD":
        return Response(status_code=part.status, headers=headers | {"content-length": str(end - start)})
    if isinstance(body, bytes):
        return Response(body if part.status == 200 else body[start:end], part.status, headers)
    return PiecesResponse(
        lambda: body.pieces(start, end), length=end - start, status=part.status, headers=headers, close=body.close
    )


def _headers(media_type: MediaType, name: str) -> dict[str, str]:
    return {
        "content-type": media_type,
        "content-disposition": f'inline; filename="{name}.{EXTENSIONS[media_type]}"',
        "content-security-policy": SANDBOXED,
        "cache-control": _KEPT,
    }
