"""Which resource a path leads to, wherever the words and the parameters of its pattern stand."""

import pytest
from starlette.requests import Request
from starlette.responses import Response

from tests.app import serving_resources
from tsuzuki.http.routing import page

PATTERNS = (
    "/",
    "/{name}",
    "/{name}/of",
    "/items/new",
    "/items/{id}",
    "/api/v1/items/{id}",
    "/api/v1/{kind}/{id}",
    "/f/{p:path}",
)


@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        ("/", "/"),
        ("/items", "/{name}"),
        ("/nothing/of", "/{name}/of"),
        ("/items/of", "/items/{id}"),
        ("/items/new", "/items/new"),
        ("/items/7", "/items/{id}"),
        ("/api/v1/items/7", "/api/v1/items/{id}"),
        ("/api/v1/feeds/7", "/api/v1/{kind}/{id}"),
        ("/f/a", "/f/{p:path}"),
        ("/f/a/b/c", "/f/{p:path}"),
    ],
)
async def test_a_path_leads_to_the_pattern_with_the_most_words(path, pattern):
    async def show(request: Request) -> Response:
        return Response(request.scope["route"].path)

    async with serving_resources([page(each, show) for each in PATTERNS]) as client:
        assert (await client.get(path)).text == pattern
        assert (await client.get("/nothing/at/all")).status == 404
