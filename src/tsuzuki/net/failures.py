"""Network failures as named errors, each with a sentence that an operator understands."""

import errno
import os
import re
import ssl
from collections.abc import Mapping
from http import HTTPStatus
from http.client import responses

import aiohttp
from aiohttp.http_exceptions import LineTooLong

from tsuzuki.model.errors import Blocked, Gone, HttpStatus, RateLimited, SourceError, TooLarge, Unreachable
from tsuzuki.model.times import SECOND, Millis
from tsuzuki.net.dialer import RefusedDial, refused_name

_RESETS = frozenset({errno.ECONNRESET, errno.EPIPE, errno.ECONNABORTED})


def explained(error: Exception, host: str) -> SourceError:
    """The named error for what a connection or a parser of HTTP threw."""
    match error:
        case aiohttp.ClientResponseError():
            return _not_http(error, host)
        case aiohttp.ClientConnectorError(os_error=RefusedDial()):
            return refused_name(host)
        case aiohttp.ClientProxyConnectionError():
            return Unreachable(f"The proxy cannot be reached ({_reason(error.os_error)}).")
        case aiohttp.ClientConnectorDNSError():
            return Unreachable(f"The name {host} cannot be resolved ({_reason(error.os_error)}).")
        case aiohttp.ClientConnectorCertificateError():
            return Unreachable(f"The certificate of {host} is not valid ({_reason(error.certificate_error)}).")
        case aiohttp.ClientSSLError():
            return Unreachable(f"No secure connection to {host} ({_reason(error.os_error)}).")
        case aiohttp.ClientConnectorError():
            return Unreachable(f"{host} cannot be reached ({_reason(error.os_error)}).")
        case aiohttp.ClientPayloadError():
            return Unreachable(f"The answer of {host} was cut off, or its length is wrong.")
        case _:
            return Unreachable(f"{host} closed the connection without an answer.")


def is_reset(error: BaseException | None) -> bool:
    """True for a connection that was cut, where asking once more may help."""
    while error is not None:
        if isinstance(error, aiohttp.ServerDisconnectedError | ConnectionResetError):
            return True
        if isinstance(error, OSError) and error.errno in _RESETS:
            return True
        error = error.__cause__
    return False


def is_malformed(error: BaseException | None) -> bool:
    """True for an answer that breaks the rules of HTTP."""
    return isinstance(error, aiohttp.ClientResponseError) and not isinstance(error, aiohttp.ClientHttpProxyError)


def _not_http(error: aiohttp.ClientResponseError, host: str) -> SourceError:
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return Unreachable(f"The proxy did not connect to {host} (it answered {error.status}).")
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, LineTooLong) or "too many" in str(cause).lower():
            return TooLarge(f"{host} sends more or longer headers than we accept.")
        cause = cause.__cause__
    return Unreachable(f"{host} does not send valid HTTP.")


def _reason(error: BaseException) -> str:
    if "Multiple exceptions" in str(error):  # one for each address that the name leads to, which nobody needs to know
        return "none of its addresses answers"
    if isinstance(error, OSError) and error.errno and not isinstance(error, ssl.SSLError):
        return os.strerror(error.errno).lower()
    return (getattr(error, "strerror", None) or str(error) or type(error).__name__).strip().rstrip(".")[:200]


# Marks of a page that is nothing but a check; a captcha beside a comment form is none.
_CHECK_PAGE = re.compile(
    rb"<title>\s*(?:just a moment\.\.\.|attention required! \| cloudflare|ddos-guard)"
    rb"|cf-browser-verification|id=[\"']challenge-form|_cf_chl_opt",
    re.IGNORECASE,
)
_CAPTCHA = re.compile(
    rb"class=[\"'](?:g-recaptcha|h-captcha|cf-turnstile)[\"' ]|/cdn-cgi/challenge-platform/", re.IGNORECASE
)
LOOKED_AT = 32 * 1024

_HINTS = {
    401: "it requires a sign-in",
    402: "it requires payment",
    404: "there is nothing at this address",
    407: "the proxy requires a sign-in",
    451: "it is withheld for legal reasons",
    511: "a network login page is in the way",
}


def status_error(
    status: int, host: str, headers: Mapping[str, str], *, conditional: bool, wait: Millis | None
) -> SourceError | None:
    """The error that this status is, or None when the body is to be read. `wait` is what Retry-After asks for."""
    if headers.get("cf-mitigated", "").lower() == "challenge":  # Cloudflare says it itself
        return blocked(host, status)
    if status == HTTPStatus.FORBIDDEN:
        return Blocked(f"{host} refuses our request (403).", status=status, retry_after=wait)
    if status == HTTPStatus.GONE:
        return Gone(f"{host} says that this is gone for good (410).", status=status)
    if status == HTTPStatus.TOO_MANY_REQUESTS or (status == HTTPStatus.SERVICE_UNAVAILABLE and wait is not None):
        until = "" if wait is None else f", for {max(1, wait // SECOND):,} s"
        return RateLimited(f"{host} asks us to slow down ({status}){until}.", status=status, retry_after=wait)
    if status == HTTPStatus.NOT_MODIFIED:
        if conditional:
            return None
        return HttpStatus(f"{host} answered 304 (not modified) though we sent it nothing to compare.", status=status)
    if 200 <= status < 300:
        return None
    hint = f": {_HINTS[status]}" if status in _HINTS else ""
    phrase = f" ({responses[status].lower()})" if responses.get(status) else ""
    return HttpStatus(f"{host} answered {status}{phrase}{hint}.", status=status, retry_after=wait)


def challenge_error(status: int, host: str, headers: Mapping[str, str], body: bytes) -> Blocked | None:
    """Blocked when this page wants a human, whatever status it comes with; None for any other."""
    if "html" not in headers.get("content-type", "").lower():
        return None
    head = body[:LOOKED_AT]
    is_check = _CHECK_PAGE.search(head) or (status >= 400 and _CAPTCHA.search(head))
    return blocked(host, status) if is_check else None


def blocked(host: str, status: int) -> Blocked:
    """The error for a page that wants a human."""
    return Blocked(f"{host} shows a page that only a person can pass (captcha or browser check).", status=status)
