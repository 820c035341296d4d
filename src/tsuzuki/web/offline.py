"""What makes the app installable, and what it shows without a network."""

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.http.routing import Resource, page
from tsuzuki.web.renderer import Pages
from tsuzuki.web.texts import gettext as _

PATH = "/offline"
_ASK_AGAIN = {"cache-control": "no-cache"}
_SIZES = (192, 512)
_KEPT = ("tsuzuki.css", "app.css", "icon.svg", "icons.svg", "worker/waiting.js")


def offline_pages(pages: Pages) -> tuple[Resource, ...]:
    """The manifest, the service worker at the root that it serves, and the page that it keeps."""
    manifest = _manifest(pages)
    worker = _worker(pages)

    async def show_offline(_: Request) -> Response:
        return pages.render("offline.html", headers={"cache-control": "no-store"})

    async def show_manifest(_: Request) -> Response:
        return Response(manifest, headers=_ASK_AGAIN, media_type="application/manifest+json")

    async def show_worker(_: Request) -> Response:
        return Response(worker, headers=_ASK_AGAIN, media_type="text/javascript")

    return (
        page(PATH, show_offline),
        page("/manifest.webmanifest", show_manifest),
        page("/sw.js", show_worker),
    )


def _manifest(pages: Pages) -> bytes:
    icons = [
        {"src": pages.assets.url(f"icon-{size}.png"), "sizes": f"{size}x{size}", "type": "image/png", "purpose": "any"}
        for size in _SIZES
    ]
    maskable = {"src": pages.assets.url("icon-mask.png"), "sizes": "512x512", "type": "image/png"}
    shortcuts = [
        {"name": _("Saved"), "url": "/?show=saved"},
        {"name": _("Add a feed"), "url": "/feeds/add"},
        {"name": _("Search"), "url": "/search"},
    ]
    return msgspec.json.encode(
        {
            "id": "/",
            "name": "Tsuzuki",
            "short_name": "Tsuzuki",
            "description": _("To be continued, and you will know when."),
            "start_url": "/",
            "scope": "/",
            "display": "standalone",
            "background_color": "#fbf9f6",
            "theme_color": "#a5351f",
            "icons": [*icons, maskable | {"purpose": "maskable"}],
            "shortcuts": shortcuts,
        }
    )


def _worker(pages: Pages) -> bytes:
    """The worker knows by name what the offline page is made of: another version is another worker."""
    kept = [PATH, *map(pages.assets.url, _KEPT)]
    source = pages.assets.get("worker/sw.js").content
    version = pages.assets.get("worker/sw.js").etag.strip('"')
    said = {"KEPT": kept, "ICON": pages.assets.url("icon-192.png"), "VERSION": version}
    for name, value in said.items():
        source = source.replace(name.encode(), msgspec.json.encode(value), 1)
    return source
