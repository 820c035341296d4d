"""`/icons/{icon_id}`: the icon of a feed, for anybody who knows its secret address: apps send no password for it."""

from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.http.middleware import SANDBOXED
from tsuzuki.images.icons import PATH
from tsuzuki.protocols.access import AppResource, ProtocolDeps

_HEADERS = {
    "cache-control": "public, max-age=31536000, immutable",
    "content-security-policy": SANDBOXED,
    "cross-origin-resource-policy": "cross-origin",  # for readers that are pages of another site
}


def icon_resource(deps: ProtocolDeps) -> AppResource:
    """Another picture has another address, so whoever has one keeps it."""

    async def show(request: Request) -> Response:
        png = await deps.services.icons.picture(request.path_params["icon_id"])
        return Response(png, headers=_HEADERS, media_type="image/png")

    return AppResource(f"{PATH}{{icon_id}}", {"GET": show}, is_public=True)
