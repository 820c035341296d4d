"""Images of articles by way of this server: signed addresses, and articles that show them.

The signature says that we have seen the address in an article. It opens nothing by itself: the guard judges every
address when it is called (CVE-2026-21885), and only verified images come back.
"""

from collections.abc import Callable

from selectolax.lexbor import LexborHTMLParser, LexborNode

from tsuzuki.catalogue.images.store import secret_tx
from tsuzuki.catalogue.signing import KEY_SIZE, Signer, read_written, written
from tsuzuki.connectors.html.addresses import http_url, srcset_of
from tsuzuki.connectors.html.safe import SafeHtml, flattened
from tsuzuki.db import Database
from tsuzuki.model.errors import NotFound
from tsuzuki.model.times import Millis

PREFIX = "/api/v1/images/"
SECRET = "articles' images"  # noqa: S105  its name; the secret itself is nobody's to write down
_SHOWING = ("<img", "<source", "<video")


class ArticleImages:
    """Signs and reads addresses with a secret that every process of this server shares."""

    def __init__(self, secret: bytes) -> None:
        self._signer = Signer(secret)

    @classmethod
    async def open(cls, db: Database, dice: Callable[[int], bytes], now: Millis) -> "ArticleImages":
        """With the server's secret, made at its first start."""
        fresh = dice(KEY_SIZE)
        return cls(await db.with_tx(lambda tx: secret_tx(tx, SECRET, fresh, now)))

    def url(self, address: str) -> str:
        """Where a browser gets the image that is at this address."""
        return f"{PREFIX}{self._signer.sign(address)}/{written(address)}"

    def address(self, signature: str, picture: str) -> str:
        """The address in a URL of ours; NotFound for one that we did not make."""
        address = read_written(picture)
        if address is None or not self._signer.is_ours(address, signature):
            raise NotFound("There is no such image.")
        return address

    def shown_in(self, html: str) -> str:
        """Sanitised markup with its images coming through us. Nothing else of it is touched."""
        if not any(tag in html for tag in _SHOWING):
            return html
        tree = LexborHTMLParser(flattened(SafeHtml(html)), is_fragment=True)
        for node in tree.css("img, source, video"):
            self._through_us(node)
        return tree.html or ""

    def _through_us(self, node: LexborNode) -> None:
        if node.tag == "img" or _is_of_picture(node):
            self._replace(node, "src")
        if node.tag == "video":
            self._replace(node, "poster")
        candidates = srcset_of(node.attributes.get("srcset") or "")
        if candidates:
            node.attrs["srcset"] = ", ".join(self.url(address) + size for address, size, _ in candidates)

    def _replace(self, node: LexborNode, attribute: str) -> None:
        address = http_url(node.attributes.get(attribute))
        if address is not None:
            node.attrs[attribute] = self.url(address)


def _is_of_picture(node: LexborNode) -> bool:
    """A source of a film or a sound is no image."""
    return node.tag == "source" and node.parent is not None and node.parent.tag == "picture"
