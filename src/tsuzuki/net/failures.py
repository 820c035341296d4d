"""What went wrong on the wire, as one of the named errors with a sentence that an operator understands."""

import errno
import os
import ssl

import aiohttp
from aiohttp.http_exceptions import LineTooLong

from tsuzuki.model.errors import SourceError, TooLarge, Unreachable
from tsuzuki.net.dialing import RefusedDial, refused_name

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
            return Unreachable(f"The answer of {host} broke off, or is not as long as it says.")
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
        return Unreachable(f"The proxy did not pass us on to {host} (it answered {error.status}).")
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, LineTooLong) or "too many" in str(cause).lower():
            return TooLarge(f"{host} sends more or longer headers than we accept.")
        cause = cause.__cause__
    return Unreachable(f"What {host} sends is not proper HTTP.")


def _reason(error: BaseException) -> str:
    if "Multiple exceptions" in str(error):  # one for each address that the name leads to, which nobody needs to know
        return "none of its addresses answers"
    if isinstance(error, OSError) and error.errno and not isinstance(error, ssl.SSLError):
        return os.strerror(error.errno).lower()
    return (getattr(error, "strerror", None) or str(error) or type(error).__name__).strip().rstrip(".")[:200]
