"""A line for an endpoint, where a whole domain shares its tag and its access."""

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from tsuzuki.api.endpoints import Access, Endpoint
from tsuzuki.model.errors import TsuzukiError

Handler = Callable[..., Awaitable[Any]]


class Declare(Protocol):
    """Makes an `Endpoint` out of what differs."""

    def __call__(
        self,
        method: str,
        path: str,
        handler: Handler,
        summary: str,
        *,
        status: int = 200,
        errors: tuple[type[TsuzukiError], ...] = (),
    ) -> Endpoint: ...


def declaring(tag: str, access: Access) -> Declare:
    """What every endpoint declared with this has in common."""

    def declare(
        method: str,
        path: str,
        handler: Handler,
        summary: str,
        *,
        status: int = 200,
        errors: tuple[type[TsuzukiError], ...] = (),
    ) -> Endpoint:
        return Endpoint(
            method=method,
            path=path,
            handler=handler,
            summary=summary,
            access=access,
            tags=(tag,),
            status=status,
            errors=errors,
        )

    return declare
