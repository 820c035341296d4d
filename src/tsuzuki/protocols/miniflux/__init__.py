"""Miniflux REST v1: integer ids, JSON in and out. Neither users nor API keys are managed here."""

from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from tsuzuki.model.errors import NotFound
from tsuzuki.protocols.access import ProtocolDeps
from tsuzuki.protocols.miniflux import entries, feeds
from tsuzuki.protocols.miniflux.requests import MINIFLUX, MinifluxRequest, MinifluxResource, answer_json, resource
from tsuzuki.protocols.miniflux.views import user_view

__all__ = ["MINIFLUX", "VERSION", "resources"]

VERSION = "2.2.8"
"""Apps switch features by it. This one has the routes that we have; later ones have API keys, and more."""
_ABOUT = dict.fromkeys(("commit", "build_date", "go_version", "compiler", "arch", "os"), "")
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


def resources(deps: ProtocolDeps) -> Sequence[MinifluxResource]:
    """Everything below `/miniflux`. Unknown paths answer 404 only to those who signed in."""
    return [
        *entries.resources(deps),
        *feeds.resources(deps),
        resource(deps, "/me", {"GET": _me}),
        resource(deps, "/version", {"GET": _version}),
        resource(deps, "/integrations/status", {"GET": _integrations}),
        resource(deps, "/{rest:path}", dict.fromkeys(_METHODS, _unknown)),
        MinifluxResource(f"{MINIFLUX.path}/healthcheck", {"GET": _healthcheck}, is_public=True),
        MinifluxResource(f"{MINIFLUX.path}/readiness", {"GET": _healthcheck}, is_public=True),  # Fleuron asks first
        MinifluxResource(f"{MINIFLUX.path}/version", {"GET": _plain_version}, is_public=True),
    ]


async def _me(asked: MinifluxRequest) -> Response:
    return answer_json(user_view(asked.user.caller))


async def _version(_: MinifluxRequest) -> Response:
    return answer_json({"version": VERSION} | _ABOUT)


async def _integrations(_: MinifluxRequest) -> Response:
    return answer_json({"has_integrations": False})


async def _unknown(_: MinifluxRequest) -> Response:
    raise NotFound("resource not found")


async def _healthcheck(_: Request) -> Response:
    return PlainTextResponse("OK")


async def _plain_version(_: Request) -> Response:
    return PlainTextResponse(VERSION)
