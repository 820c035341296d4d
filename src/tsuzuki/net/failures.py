"""What went wrong on the wire, as one of the named errors with a sentence that an operator understands."""

import asyncio
import errno
import os
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
from aiohttp.http_exceptions import LineTooLong

from tsuzuki.model.errors import RefusedAddress, SourceError, TimedOut, TooLarge, Unreachable
from tsuzuki.net.dialing import RefusedDial
from tsuzuki.net.options import Deadlines

_RESETS = frozenset({errno.ECONNRESET, errno.EPIPE, errno.ECONNABORTED})


class Budget:
    """The time that one fetch may spend on the network; waiting for our own turn is not counted."""

    def __init__(self, deadlines: Deadlines) -> None:
        self._deadlines = deadlines
        self._left = deadlines.total

    @asynccontextmanager
    async def spend(self, host: str, *, body_since: float | None = None) -> AsyncIterator[None]:
        """Everything within is over when the time is; each failure leaves it under its name.

        `body_since` is when the headers were complete: a body has a deadline of its own, and so has each piece of it.
        """
        began = asyncio.get_running_loop().time()
        limits = [(self._left, f"{host} took more than {self._deadlines.total:g} s in all.")]
        if body_since is not None:
            body_left = self._deadlines.body - (began - body_since)
            limits.append((body_left, f"{host} did not finish its answer within {self._deadlines.body:g} s."))
            limits.append((self._deadlines.idle, self._silent(host)))
        seconds, too_late = min(limits)
        timeout = asyncio.timeout(seconds)
        try:
            async with timeout:
                yield
        except (aiohttp.ClientError, TimeoutError, OSError, UnicodeError) as error:
            if timeout.expired():
                raise TimedOut(too_late) from error
            raise self._explained(error, host) from error
        finally:
            self._left -= asyncio.get_running_loop().time() - began

    def _silent(self, host: str) -> str:
        return f"{host} sent nothing for {self._deadlines.idle:g} s."

    def _explained(self, error: Exception, host: str) -> SourceError:
        if isinstance(error, aiohttp.ConnectionTimeoutError):
            return TimedOut(f"No connection to {host} came about within {self._deadlines.connect:g} s.")
        if isinstance(error, TimeoutError):
            return TimedOut(self._silent(host))
        return explained(error, host)


def explained(error: Exception, host: str) -> SourceError:
    """The named error for what a connection or a parser of HTTP threw."""
    match error:
        case aiohttp.ClientResponseError():
            return _not_http(error, host)
        case aiohttp.ClientConnectorError(os_error=RefusedDial() as refused):
            return RefusedAddress(str(refused))
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
    if isinstance(error, OSError) and error.errno and not isinstance(error, ssl.SSLError):
        return os.strerror(error.errno).lower()
    return (getattr(error, "strerror", None) or str(error) or type(error).__name__).strip().rstrip(".")[:200]
