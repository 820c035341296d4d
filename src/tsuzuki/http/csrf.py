"""Writes that a browser makes for another site are refused (SEC-42).

Browsers say where a request comes from: by Sec-Fetch-Site, the older ones by Origin. Who says neither is no browser of
today; for the rest SameSite=Lax keeps the cookie away. No token in any form is needed.
"""

from starlette.requests import Request

from tsuzuki.model.errors import Forbidden

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_OWN = frozenset({"same-origin", "none"})


def refuse_cross_site(request: Request) -> None:
    """Forbidden for a write that another site's page makes. Requests with a token need not be asked."""
    if request.method in SAFE_METHODS:
        return
    site = request.headers.get("sec-fetch-site")
    origin = request.headers.get("origin")
    if site is not None:
        is_own = site in _OWN
    elif origin is not None:
        is_own = origin.partition("://")[2] == request.headers.get("host", "")
    else:
        is_own = True
    if not is_own:
        raise Forbidden("This request comes from another site.")
