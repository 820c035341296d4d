"""How the client behaves in this installation, and on whose behalf it makes a request."""

import msgspec

from tsuzuki.coord.pacer import Rate
from tsuzuki.model.times import DAY, SECOND, Millis
from tsuzuki.net.guard import AddressGuard
from tsuzuki.net.headers import user_agent


class Deadlines(msgspec.Struct, frozen=True):
    """Seconds. Waiting for our own turn (pace, slots) does not count."""

    connect: float = 10.0
    head: float = 10.0
    """From the request to the end of the headers, however many bytes of them come meanwhile."""
    idle: float = 10.0
    """Without a single byte."""
    body: float = 20.0
    """From the end of the headers to the end of the body."""
    grace: float = 5.0
    """From the end of the headers; from then on a body must have come at `slowest` at least, all in all."""
    slowest: float = 1024.0
    """Bytes a second; 0 for what is passed on as slowly as somebody else takes it."""
    total: float = 30.0
    """From the first request to the last byte, redirects and repeats included."""


class ClientOptions(msgspec.Struct, frozen=True):
    """All that an operator can turn."""

    guard: AddressGuard = AddressGuard()
    user_agent: str = user_agent(None)
    deadlines: Deadlines = Deadlines()
    host_rate: Rate = Rate(per_second=2.0, burst=2)
    host_slots: int = 2
    allowed_rate: Rate = Rate(per_second=100.0, burst=50)
    """For allow-listed networks and hosts: the operator's own machines."""
    allowed_slots: int = 10
    patience: Millis = Millis(30 * SECOND)
    """The longest wait for our turn; beyond it the request ends as rate limited."""
    short_wait: Millis = Millis(5 * SECOND)
    """Up to this long a Retry-After is waited for within the visit."""
    longest_hold: Millis = Millis(2 * DAY)
    """R21: no Retry-After counts for more."""
    repeats: int = 2
    """After resets and short Retry-Afters only."""
    max_headers: int = 200
    max_header_bytes: int = 16 * 1024
    """Bytes of one header, at most."""
    solver_url: str | None = None
    """FlareSolverr's endpoint, such as http://127.0.0.1:8191/v1; the operator's choice, hence not guarded."""
