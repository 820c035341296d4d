"""A line for an endpoint, where a whole domain shares its tag and its access."""

from typing import Protocol

from tsuzuki.api.endpoints import Access, Also, Endpoint, Handler
from tsuzuki.model.errors import TsuzukiError


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
        also: Also | None = None,
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
        also: Also | None = None,
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
            also=also,
        )

    return declare
