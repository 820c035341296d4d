"""Where people reach this server, as its operator says."""

import msgspec


class Home(msgspec.Struct, frozen=True):
    """`url` is an origin; None where nobody said it: then a request tells how it came here."""

    url: str | None
