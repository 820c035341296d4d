"""Images of articles, proxied by this server: signed addresses, and articles rewritten to use them.

The signature says that we have seen the address in an article. It opens nothing by itself: the guard judges every
address when it is called (CVE-2026-21885), and only verified images come back.
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tsuzuki.connectors.html.addresses import MAX_ADDRESS, http_url, srcset_of
from tsuzuki.connectors.html.lexbor import parse_html
from tsuzuki.connectors.html.sanitiser import SafeHtml, flattened
from tsuzuki.db import Database, load_queries
from tsuzuki.db.server_secrets import KEY_SIZE, secret_tx
from tsuzuki.model.errors import NotFound, SourceError
from tsuzuki.model.requests import Parsers
from tsuzuki.model.times import Millis

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

q = load_queries("tsuzuki.images")

LONGEST_WRITTEN = -(-MAX_ADDRESS * 4 * 4 // 3)
"""The longest form of a picture's address inside a URL of ours."""

_SIGNATURE_SIZE = 18


class Signer:
    """Signs with a secret that every process of this server shares."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def sign(self, text: str) -> str:
        """The signature of a text, as it stands in a URL."""
        digest = hmac.digest(self._secret, text.encode("utf-8", "surrogatepass"), hashlib.sha256)
        return _written(digest[:_SIGNATURE_SIZE])

    def is_ours(self, text: str, signature: str) -> bool:
        """Whether we have signed this text so."""
        return hmac.compare_digest(self.sign(text).encode(), signature.encode())


def written(address: str) -> str:
    """An address as a part of a path."""
    return _written(address.encode())


def read_written(text: str) -> str | None:
    """The address in a part of a path; None when there is none."""
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
    except (ValueError, binascii.Error):
        return None


def _written(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


PREFIX = "/api/v1/images/"
SECRET = "articles' images"  # noqa: S105  its name; the secret itself is nobody's to write down
_SHOWING = ("<img", "<source", "<video")
LONGEST_HERE = 32_768
"""Characters of articles that are rewritten in one go: a few milliseconds, whatever they are."""
MOST_SHOWN = 5_000
"""Images of one answer."""


class ArticleImages:
    """Signs and reads addresses with a secret that every process of this server shares."""

    def __init__(self, secret: bytes, parsers: Parsers) -> None:
        self._signer = Signer(secret)
        self._parsers = parsers

    @classmethod
    async def open(
        cls, db: Database, parsers: Parsers, random_bytes: Callable[[int], bytes], now: Millis
    ) -> "ArticleImages":
        """Open it with the server's secret, which the first start makes."""
        fresh = random_bytes(KEY_SIZE)
        return cls(await db.with_tx(lambda tx: secret_tx(tx, SECRET, fresh, now)), parsers)

    def url(self, address: str) -> str:
        """The address at this server for the image at that address."""
        return f"{PREFIX}{self._signer.sign(address)}/{written(address)}"

    def address(self, signature: str, picture: str) -> str:
        """The address in a URL of ours; NotFound for one that we did not make."""
        address = read_written(picture)
        if address is None or not self._signer.is_ours(address, signature):
            raise NotFound("There is no such image.")
        return address

    async def shown_in(self, articles: Sequence[str], url: Callable[[str], str] | None = None) -> list[str]:
        """Sanitised markup with its images coming through us, from where `url` says. Nothing else of it is touched.

        What is long is rewritten in a parser process, which never sees our secret; where that cannot be done it is
        left out: no image is fetched past us.
        """
        url = url or self.url
        if sum(map(len, articles)) <= LONGEST_HERE:
            return [rewritten(each, url) for each in articles]
        try:
            addresses = await self._parsers.run(images_in, (list(articles),))
            urls = {address: url(address) for address in addresses}
            return await self._parsers.run(with_images, (list(articles), urls))
        except SourceError:
            return ["" for _ in articles]


def images_in(articles: list[str]) -> list[str]:
    """The addresses of their images; of more than are shown, the first."""
    found: dict[str, None] = {}
    for html in articles:
        rewritten(html, found.setdefault)
    return list(found)[:MOST_SHOWN]


def with_images(articles: list[str], urls: dict[str, str]) -> list[str]:
    """The articles with these addresses in the place of their own; other images have none."""
    return [rewritten(html, urls.get) for html in articles]


def rewritten(html: str, url_of: Callable[[str], str | None]) -> str:
    """The markup with another address for each image, or none."""
    if not any(tag in html for tag in _SHOWING):
        return html
    tree = parse_html(flattened(SafeHtml(html)), is_fragment=True)
    for node in tree.css("img, source, video"):
        is_of_picture = node.parent is not None and node.parent.tag == "picture"  # no source of a film or a sound
        if node.tag == "img" or (node.tag == "source" and is_of_picture):
            _replace(node, "src", url_of)
        if node.tag == "video":
            _replace(node, "poster", url_of)
        candidates = srcset_of(node.attributes.get("srcset") or "")
        if candidates:
            known = [(url, size) for address, size, _ in candidates if (url := url_of(address))]
            node.attrs["srcset"] = ", ".join(url + size for url, size in known)
    return tree.html or ""


def _replace(node: "LexborNode", attribute: str, url_of: Callable[[str], str | None]) -> None:
    address = http_url(node.attributes.get(attribute))
    if address is not None:
        node.attrs[attribute] = url_of(address) or ""
