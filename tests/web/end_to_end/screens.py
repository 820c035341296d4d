"""How somebody looks at it: at a desk or on a phone, by day or by night."""

from typing import Any, Literal

from playwright.async_api import Page

from tests.web.browser import DESK, PHONE, WIDER

Theme = Literal["light", "dark"]

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
PAPER: dict[Theme, str] = {"light": "rgb(251, 249, 246)", "dark": "rgb(22, 21, 26)"}
"""What is behind everything in each theme."""


async def must_fit_in_each_theme(page: Page) -> None:
    """The page as it stands has each theme's paper behind it, and nothing of it is wider than the screen."""
    for theme, paper in PAPER.items():
        await page.emulate_media(color_scheme=theme)
        assert await page.evaluate("getComputedStyle(document.body).backgroundColor") == paper
        assert not await page.evaluate(WIDER)
