"""How somebody looks at it: at a desk or on a phone, by day or by night."""

from typing import Any

from tests.web.browsing import DESK, PHONE

_AT_A_DESK: dict[str, Any] = {"viewport": DESK}
_ON_A_PHONE: dict[str, Any] = {"viewport": PHONE, "has_touch": True, "is_mobile": True}

WAYS: dict[str, dict[str, Any]] = {
    "desk, light": _AT_A_DESK | {"color_scheme": "light"},
    "desk, dark": _AT_A_DESK | {"color_scheme": "dark"},
    "phone, light": _ON_A_PHONE | {"color_scheme": "light"},
    "phone, dark": _ON_A_PHONE | {"color_scheme": "dark"},
}
OTHER = dict(zip(WAYS, reversed(WAYS), strict=True))
"""The way that differs in both."""
PAPER = {"light": "rgb(251, 249, 246)", "dark": "rgb(22, 21, 26)"}
"""What is behind everything in each theme."""
