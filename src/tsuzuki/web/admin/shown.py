"""Values of any shape as people can read them."""

from typing import Any

import msgspec


def as_json(value: Any) -> str:
    """Text as it is, everything else as JSON over several lines."""
    return value if isinstance(value, str) else msgspec.json.format(msgspec.json.encode(value)).decode()
