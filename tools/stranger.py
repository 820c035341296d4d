"""What a stranger goes through, with a stop-watch: a fresh clone, two commands, a feed, a source, a chapter, the demo.

`make stranger` clones this checkout's HEAD into a temporary folder with an empty home, does what
docs/first-ten-minutes.md says in Chromium against docs/sample-site, and prints how long each step took.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

ROOT = Path(__file__).parent.parent
PORT = "18080"
"""Not 8080, which may be taken by a Tsuzuki that is in use; the sample site's own is in its definition."""
SITE = "http://127.0.0.1:8765"
PASSWORD = "a stranger's first password"  # noqa: S105  it lives for a minute
SLOW_S = 600.0
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


class Watch:
    """Steps and their times."""

    def __init__(self) -> None:
        self.steps: list[tuple[str, float]] = []

    @contextlib.contextmanager
    def step(self, name: str) -> Iterator[None]:
        began = time.monotonic()
        yield
        self.steps.append((name, time.monotonic() - began))
        print(f"  {self.steps[-1][1]:7.1f} s  {name}", flush=True)


class Terminal:
    """A command in a terminal of its own, as a person sees it. It is read all the while: a full one would stop it."""

    def __init__(self, command: list[str], folder: Path, environ: dict[str, str]) -> None:
        self.said = ""
        self._ours, theirs = os.openpty()
        self._child = subprocess.Popen(
            command, cwd=folder, env=environ, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
        )
        os.close(theirs)
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    def _read(self) -> None:
        with contextlib.suppress(OSError):  # the other side is gone
            while part := os.read(self._ours, 4096):
                self.said += _COLOURS.sub("", part.decode(errors="replace"))

    def until(self, wanted: str) -> re.Match[str]:
        """The first place that has this."""
        ends_at = time.monotonic() + SLOW_S
        while (found := re.search(wanted, self.said)) is None:
            if time.monotonic() > ends_at or not self._reading.is_alive():
                sys.exit(f"{wanted!r} did not appear. The terminal says:\n{self.said}")
            time.sleep(0.05)
        return found

    def stop(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._child.pid, signal.SIGTERM)
        self._child.wait(30)
        self._reading.join(5)
        os.close(self._ours)


@contextlib.contextmanager
def terminal(command: list[str], folder: Path, environ: dict[str, str]) -> Iterator[Terminal]:
    opened = Terminal(command, folder, environ)
    try:
        yield opened
    finally:
        opened.stop()


def main() -> None:
    watch = Watch()
    with tempfile.TemporaryDirectory(prefix="tsuzuki-stranger-", ignore_cleanup_errors=True) as place:
        home, clone = Path(place) / "home", Path(place) / "tsuzuki"
        home.mkdir()
        environ = {"PATH": os.defpath + ":/usr/local/bin", "HOME": str(home), "TERM": "xterm", "TSUZUKI_PORT": PORT}
        environ |= {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_", "LC_"))}
        print("A stranger's way, step by step:")
        with watch.step("git clone"):
            subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        site = [sys.executable, "-m", "http.server", "8765", "--bind", "127.0.0.1", "--directory", "docs/sample-site"]
        with terminal(site, clone, environ) as serving:
            serving.until("Serving HTTP")
            in_a_browser(clone, environ, watch)
    total = sum(seconds for _, seconds in watch.steps)
    print(f"  {total:7.1f} s  in all, as fast as a script can type")


def in_a_browser(clone: Path, environ: dict[str, str], watch: Watch) -> None:
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=arguments)
        page = browser.new_page()
        page.set_default_timeout(30_000)
        with contextlib.ExitStack() as stack:
            with watch.step("make run, until the first page is there"):
                opened = environ | {"TSUZUKI_ALLOW_PRIVATE_NETWORKS": "127.0.0.0/8"}
                running = stack.enter_context(terminal(["make", "run"], clone, opened))
                found = running.until(r"open (\S+)/setup and enter the code (\w+)\s")
                page.goto(found[1])
            first_day(page, found[1], found[2], clone=clone, watch=watch)
        with contextlib.ExitStack() as stack, watch.step("make demo, until something new has come by itself"):
            demo = stack.enter_context(terminal(["make", "demo"], clone, environ))
            page.goto(demo.until(r"The demo is at (\S+),")[1])
            before = page.locator("article").count()
            expect(page.locator("article").nth(before)).to_be_visible(timeout=60_000)
        browser.close()


def first_day(page: Page, base: str, code: str, *, clone: Path, watch: Watch) -> None:
    """From the code in the terminal to a chapter on the screen, by what stands on the pages alone."""
    with watch.step("set the server up with the code"):
        page.get_by_role("link", name="Set up this server").click()
        page.get_by_label("Setup code", exact=True).fill(code)
        page.get_by_label("Password", exact=True).fill(PASSWORD)
        page.get_by_label("Repeat password").fill(PASSWORD)
        page.get_by_label("Repeat password").press("Enter")
        expect(page.get_by_role("link", name="Add a feed")).to_be_visible()
    with watch.step("follow a feed by the address of a page that has one"):
        page.get_by_role("link", name="Add a feed").click()
        page.get_by_label("Address").fill(f"{SITE}/notes.html")
        page.get_by_label("Address").press("Enter")
        page.get_by_role("button", name="Follow").first.click()
    with watch.step("read its first article"):
        page.goto(f"{base}/")
        page.get_by_role("link", name="The lamp is lit again", exact=True).click()
        expect(page.get_by_text("Eleven nights of fog").first).to_be_visible()
    with watch.step("write a source's definition, and try it"):
        page.goto(f"{base}/admin/sources")
        page.get_by_role("link", name="Add source").first.click()
        page.get_by_role("link", name=re.compile("A definition of your own")).click()
        text = (clone / "src/tsuzuki/connectors/examples/sample.yaml").read_text("utf-8")
        page.get_by_label(re.compile("definition")).fill(text)
        page.get_by_role("button", name="Test").click()
        expect(page.get_by_text("It works")).to_be_visible()
    with watch.step("save it"):
        page.get_by_role("button", name="Add source").click()
        expect(page.get_by_text("Source added.")).to_be_visible()
    with watch.step("find a comic there and follow it"):
        page.goto(f"{base}/discover")
        page.get_by_role("link", name=re.compile("Sample site")).first.click()
        page.get_by_role("link", name=re.compile("The Lighthouse Cat")).first.click()
        page.get_by_role("button", name="Follow").first.click()
    with watch.step("read a chapter"):
        page.goto(f"{base}/library")
        page.get_by_role("link", name=re.compile("The Lighthouse Cat")).first.click()
        page.locator("main a[href*='/chapters/']").first.click()
        page.wait_for_selector("[data-reader] img")
        page.wait_for_function("[...document.querySelectorAll('[data-reader] img')].some(i => i.naturalWidth > 0)")


if __name__ == "__main__":
    main()
