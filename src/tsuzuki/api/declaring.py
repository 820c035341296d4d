"""A line for an endpoint, where a whole domain shares its tag and its access."""

from collections.abc import Callable
from typing import Any

from tsuzuki.api.endpoints import Access, Endpoint, Handler


def declaring(tag: str, access: Access) -> Callable[..., Endpoint]:
    """Makes endpoints out of what differs: method, path, handler, summary, and by name what is not as usual."""

    def declare(method: str, path: str, handler: Handler, summary: str, **unusual: Any) -> Endpoint:
        return Endpoint(
            method=method, path=path, handler=handler, summary=summary, access=access, tags=(tag,), **unusual
        )

    return declare
