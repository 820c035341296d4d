"""Pictures for apps, which send no cookie: at signed addresses that end with the device password they were made for."""

from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.http.auth import address_of
from tsuzuki.http.images import answer_image, wants_whole
from tsuzuki.images.app_pictures import PREFIX
from tsuzuki.protocols.access import AppResource, ProtocolDeps


def picture_resources(deps: ProtocolDeps) -> Sequence[AppResource]:
    """Pages of chapters, covers, and what articles show."""

    async def show(request: Request) -> Response:
        parts = request.path_params
        services = deps.services
        found = services.app_pictures.read(parts["password"], parts["secret"], parts["kind"], parts["what"])
        user = await services.accounts.devices.find(found.password_id, address_of(request))
        image = await services.pictures.images.show(
            found.subject, address=found.address, user_id=user.caller.user_id, whole=wants_whole(request)
        )
        if found.page is not None:
            services.pictures.prefetch.follow(user.caller.user_id, *found.page)
        response = answer_image(request, image, found.name)
        response.headers["cross-origin-resource-policy"] = "cross-origin"  # apps that are web pages show it too
        return response

    return [AppResource(f"{PREFIX}{{password}}/{{secret}}/{{kind}}/{{what}}", {"GET": show})]
