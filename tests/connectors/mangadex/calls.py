"""The connector as tests call it, and a site that answers."""

from urllib.parse import parse_qs, urlsplit

from tests.connectors.builders import a_reply
from tests.connectors.mangadex.entities import CAT, a_chapter_id
from tsuzuki.connectors.mangadex.connector import MangaDex, MangaDexConfig

DEX = MangaDex()
CONFIG = MangaDexConfig()
SERIES = f"https://mangadex.org/title/{CAT}"
CHAPTER = f"https://mangadex.org/chapter/{a_chapter_id(7)}"


def always(body, **over):
    return lambda want: a_reply(body, url=want.url, **over)


def query_of(ask):
    return parse_qs(urlsplit(ask.url).query)
