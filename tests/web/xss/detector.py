"""What catches a text that got out of its box: in a page with our policy, and in one without."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from playwright.async_api import Browser, BrowserContext, Page, Request

BINDING = "pwned"

# Everything that could run when somebody touches it counts as run; so does what shadows the document's own names.
SCAN = """() => {
  const wrong = [];
  const all = selector => Document.prototype.querySelectorAll.call(document, selector);
  const addresses = ["href", "src", "action", "formaction", "xlink:href", "poster", "data", "srcdoc", "ping", "cite",
    "background", "srcset", "hx-get", "hx-post"];
  const allowed = ["http:", "https:", "mailto:"];
  for (const element of all("*")) {
    const tell = kind => wrong.push(kind + ": " + element.outerHTML.slice(0, 160));
    if (["iframe", "object", "embed", "base", "frame", "frameset", "portal", "fencedframe", "hx-partial", "marquee"]
      .includes(element.localName)) tell("element");
    if (element.localName === "script" && !element.getAttribute("src")?.startsWith("/static/"))
      tell("script");
    for (const { name, value } of element.attributes) {
      if (/^on|^hx-on|^x-|^v-|^@|^srcdoc$|^ping$/i.test(name)) tell("attribute");
      if (!addresses.includes(name)) continue;
      let address = null;
      try { address = new URL(value, location.href); } catch { continue; }
      const picture = element.localName === "img" && /^data:image\\/(png|jpeg|gif|webp)/.test(value);
      if (!allowed.includes(address.protocol) && !picture) tell("address");
    }
  }
  for (const element of all(".prose [id], .prose [name]")) {
    wrong.push("name: " + element.outerHTML.slice(0, 160));
  }
  const own = document.body instanceof HTMLBodyElement && typeof document.cookie === "string"
    && document.querySelectorAll === Document.prototype.querySelectorAll && typeof fetch === "function"
    && document.getElementById === Document.prototype.getElementById && document.head instanceof HTMLHeadElement;
  if (!own) wrong.push("shadowed");
  return wrong;
}"""


class ScriptDetector:
    """A page, and whatever was caught in it."""

    def __init__(self, page: Page, base: str) -> None:
        self.page = page
        self.base = base
        self.caught: list[str] = []
        self.policy: list[str] = []
        """Complaints of the browser that our policy stopped something."""
        self._wanted = ""

    async def watch(self) -> None:
        await self.page.expose_binding(BINDING, lambda _, number: self.caught.append(f"ran: {number}"))
        self.page.on("dialog", self._dialog)
        self.page.on("popup", lambda popup: self.caught.append(f"popup: {popup.url}"))
        self.page.on("request", self._request)
        self.page.on("download", lambda one: self.caught.append(f"download: {one.url}"))
        self.page.on("console", lambda said: self._console(said.text))
        self.page.on("pageerror", lambda error: self.caught.append(f"error: {error}"))

    async def open(self, path: str) -> int:
        """Go there, and look at everything."""
        before = len(self.caught)
        answer = await self.page.goto(self.base + path, wait_until="load")
        assert answer is not None
        await self.look()
        here = self.page.url.removeprefix(self.base)
        if here.partition("?")[0] != path.partition("?")[0].partition("#")[0]:
            self.caught.append(f"went: {here}")
        self.caught[before:] = [f"{path[:80]} {one}" for one in self.caught[before:]]
        return answer.status

    async def look(self) -> None:
        self.caught += await self.page.evaluate(SCAN)

    async def _dialog(self, dialog: Any) -> None:
        self.caught.append(f"dialog: {dialog.message}")
        await dialog.dismiss()

    def _request(self, request: Request) -> None:
        if not request.url.startswith((self.base, "data:image/", "blob:", "about:")):
            self.caught.append(f"asked: {request.url[:100]}")

    def _console(self, text: str) -> None:
        if "Content Security Policy" in text or "violates" in text:
            self.policy.append(text[:200])


@asynccontextmanager
async def casting(browser: Browser, base: str, session: str, *, policy: bool) -> AsyncIterator[ScriptDetector]:
    """A page of somebody who is signed in; without `policy` the browser enforces none."""
    context: BrowserContext = await browser.new_context(bypass_csp=not policy, service_workers="block")
    cookie = {"name": "tsuzuki", "value": session, "url": base}
    await context.add_cookies([cookie])  # type: ignore[list-item]  # a TypedDict, told by a variable
    detector = ScriptDetector(await context.new_page(), base)
    await detector.watch()
    yield detector
    await context.close()
