"""Which entry is which, from one poll to the next (R31, REL-27, REL-28)."""

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from urllib.parse import urlsplit

from tsuzuki.connectors.feed.raw import RawItem, Text

MAX_KEY = 500

_TRACKING = re.compile(
    r"(?:utm_\w+|at_(?:campaign|medium|custom\d)|mtm_\w+|pk_\w+|piwik_\w+|ga_\w+|hsa_\w+|_ga|_gl|_hsenc|_hsmi|fbclid"
    r"|gclid|dclid|gbraid|wbraid|msclkid|yclid|twclid|igshid|igsh|mc_[ce]id|mkt_tok|oly_(?:anon|enc)_id|rss_?id|cmpid"
    r"|ncid|ns_\w+|wt_mc|xtor|s_cid|spm|vero_id|wickedid|__s)",
    re.IGNORECASE,
)
_SESSION = re.compile(
    r"(?:jsessionid|phpsessid|aspsessionid\w*|asp\.net_sessionid|sessionid|session_id|session|sid|cfid|cftoken|zenid"
    r"|oscsid|_?nonce|cachebuster|cache_?bust)",
    re.IGNORECASE,
)
_PATH_SESSION = re.compile(r";(?:jsessionid|phpsessid|sid)=[^/?#;]*", re.IGNORECASE)
_PLAIN = re.compile(r"https?://([a-z0-9-]+(?:\.[a-z0-9-]+)*/[^?#;\s]*)")
_TRACKING_FRAGMENT = re.compile(r"(?:xtor=|utm_|:~:text=|rss$|ref=)", re.IGNORECASE)


def stable_url(url: str) -> str:
    """An address without what changes while the page stays: the scheme, tracking parameters, session ids."""
    if plain := _PLAIN.fullmatch(url):
        return f"https://{plain.group(1)}"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return url
    host = (parts.hostname or "").removesuffix(".")
    if port and (parts.scheme, port) not in {("http", 80), ("https", 443)}:
        host = f"{host}:{port}"
    query = "&".join(pair for pair in parts.query.split("&") if pair and not _is_noise(pair))
    fragment = "" if _TRACKING_FRAGMENT.match(parts.fragment) else parts.fragment
    path = _PATH_SESSION.sub("", parts.path) or "/"
    return f"https://{host}{path}" + (f"?{query}" if query else "") + (f"#{fragment}" if fragment else "")


def _is_noise(pair: str) -> bool:
    name = pair.partition("=")[0]
    return bool(_TRACKING.fullmatch(name) or _SESSION.fullmatch(name))


def stable_guid(guid: str) -> str:
    """A guid as a key: one that is an address is compared as an address."""
    guid = " ".join(guid.split())
    return stable_url(guid) if guid[:8].lower().startswith(("http://", "https://")) else guid


def link_key(link: str | None) -> str | None:
    """The key of an entry's page."""
    return bounded(stable_url(link)) if link else None


def content_key(item: RawItem) -> str:
    """The key of an entry that has neither guid nor link: a hash of what it says."""
    texts = (item.title, item.content, item.summary, *item.spare_texts)
    words = [text.value if isinstance(text, Text) else "" for text in texts]
    seen = "\x00".join([*words, item.published or item.updated or "", *(media.url for media in item.media)])
    return "hash:" + hashlib.blake2b(seen.encode(errors="replace"), digest_size=16).hexdigest()


def bounded(key: str) -> str:
    """The key itself, or a hash of one too long to index."""
    if len(key) <= MAX_KEY:
        return key
    return "hash:" + hashlib.blake2b(key.encode(errors="replace"), digest_size=16).hexdigest()


def keys_of(items: Sequence[RawItem], links: Sequence[str | None]) -> tuple[list[str], bool]:
    """Each entry's key, and whether guids could not be trusted. Entries with equal keys are the same entry twice.

    A guid that different pages share names none of them: those entries fall back to their links.
    """
    guids = [bounded(stable_guid(item.guid)) if item.guid else None for item in items]
    shared = _shared_guids(guids, links)
    keys = []
    for item, guid, link in zip(items, guids, links, strict=True):
        usable = guid if guid is not None and guid not in shared else None
        keys.append(usable or link_key(link) or content_key(item))
    return keys, bool(shared)


def _shared_guids(guids: Sequence[str | None], links: Sequence[str | None]) -> set[str]:
    """The guids that stand for more than one page, or for entries without pages."""
    counts = Counter(guid for guid in guids if guid is not None)
    repeated = {guid for guid, count in counts.items() if count > 1}
    if not repeated:
        return set()
    pages: dict[str, list[str | None]] = {guid: [] for guid in repeated}
    for guid, link in zip(guids, links, strict=True):
        if guid in pages:
            pages[guid].append(link_key(link))
    return {guid for guid, found in pages.items() if len(set(found)) > 1 or None in found}
