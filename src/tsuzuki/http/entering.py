"""Coming in and going out: what the API and the pages do alike with a browser's session."""

from starlette.requests import Request

from tsuzuki.accounts.invites import Accepted, Invites
from tsuzuki.accounts.signin import WRONG_PAIR, SignedIn, SignIn
from tsuzuki.http.auth import SESSION, address_of, begin_session, device_of, is_addressed_locally
from tsuzuki.model.errors import Unauthorized


async def enter(request: Request, service: SignIn, *, username: str, password: str) -> SignedIn:
    """Begin a session; the one that the browser had ends. Unauthorized for a pair that does not belong together."""
    if not password and not is_addressed_locally(request):
        raise Unauthorized(WRONG_PAIR)  # R76: where no password is needed, another site could still be rebound to us
    return begin_session(request, await service.sign_in(username, password, device_of(request)))


async def join(request: Request, invites: Invites, accepted: Accepted, *, is_setup: bool) -> SignedIn:
    """Begin the session of someone who was not there before: see `Invites.accept`."""
    return begin_session(request, await invites.accept(accepted, device_of(request), is_setup=is_setup))


async def leave(request: Request, service: SignIn) -> None:
    """End the session of the cookie, if there is one, and take the cookie back."""
    key = SESSION.read(request)
    if key is not None:
        await service.sign_out(key, address_of(request))
        SESSION.clear(request)
