"""What is wrong with a page that a browser shows: in both themes, at a desk and on a phone."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from playwright.async_api import Page, ViewportSize

from tests.scale import scaled
from tests.web.browser import DESK, PHONE, WIDER

AXE = (Path(__file__).parents[2] / "vendor" / "axe" / "axe.js").read_text("utf-8")

_EVERYTHING = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
_COLOURS = ["color-contrast", "link-in-text-block"]
_ONLY_WHAT_IS_WRONG = {"resultTypes": ["violations"], "selectors": False}  # a selector of every node takes long

# A theme changes colours and nothing else, so in a page's second theme only they are looked at again.
RULES: dict[str, Any] = {
    "everything": {"runOnly": {"type": "tag", "values": _EVERYTHING}, **_ONLY_WHAT_IS_WRONG},
    "colours": {"runOnly": {"type": "rule", "values": _COLOURS}, **_ONLY_WHAT_IS_WRONG, "preload": False},
}
Way = tuple[Literal["light", "dark"], ViewportSize, str]
Wrongs = dict[str, object]

WAYS: tuple[Way, ...] = (
    ("light", DESK, "everything"),
    ("dark", DESK, "colours"),
    ("dark", PHONE, "everything"),
    ("light", PHONE, "colours"),
)

EACH_ONCE = WAYS[:: scaled(2, 1)]
"""For what differs little from a page that is looked at in all: each theme and each width once; all with `--soak`."""
DESK_WAYS, PHONE_WAYS = WAYS[:2], WAYS[2:]

RUN_AXE = """async options => {
    const found = await axe.run(document, options);
    return found.violations.map(one => one.id + ": " + one.nodes.map(node => node.html.slice(0, 150)).join(" | "));
}"""


async def wrongs(page: Page, where: str, rules: str = "everything") -> Wrongs:
    """What axe says to the page as it stands, and by how much it is wider than the screen; by `where` it is."""
    found: Wrongs = {}
    if wider := await page.evaluate(WIDER):
        found[f"{where}: wider than the screen"] = wider
    if not await page.evaluate("() => 'axe' in window"):
        await page.evaluate(AXE)
    if said := await page.evaluate(RUN_AXE, RULES[rules]):
        found[where] = said
    return found


async def wrongs_everywhere(page: Page, where: str, *, ways: Sequence[Way] = WAYS, anew: bool = False) -> Wrongs:
    """The same in each of these: as a window is resized and the evening comes, or opened anew in each."""
    found: Wrongs = {}
    for scheme, viewport, rules in ways:
        await page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        await page.set_viewport_size(viewport)
        if anew:
            await page.reload(wait_until="load")
        found |= await wrongs(page, f"{where} ({scheme}, {viewport['width']})", "everything" if anew else rules)
    return found
