"""What scripts are told: they post what forms post, and ask for JSON."""

import msgspec
from starlette.requests import Request
from starlette.responses import Response


def wants_json(request: Request) -> bool:
    """Whether a script asks."""
    return "application/json" in request.headers.get("accept", "")


def data_of(value: object) -> Response:
    """The answer for it."""
    return Response(msgspec.json.encode({"data": value}), media_type="application/json")
