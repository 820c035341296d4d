"""Which entry is which, from one poll to the next (R31, R93, REL-27, REL-28)."""

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from tsuzuki.connectors.feed.raw import RawItem, RawText
from tsuzuki.connectors.html.addresses import stable_url
from tsuzuki.model.harvest import FoundItem
from tsuzuki.model.tokens import text_of

MAX_KEY = 500


def stable_guid(guid: str) -> str:
    """A guid as a key: one that is an address is compared as an address."""
    guid = " ".join(guid.split())
    return stable_url(guid) if guid[:8].lower().startswith(("http://", "https://")) else guid


def link_key(link: str | None) -> str | None:
    """The key of an entry's page."""
    return bounded(stable_url(link)) if link else None


def content_key(item: RawItem) -> str:
    """The key of an entry that has neither guid nor link: a hash of its content."""
    texts = (item.title, item.content, item.summary, *item.spare_texts.values())
    words = [text.value if isinstance(text, RawText) else "" for text in texts]
    seen = "\x00".join([*words, item.published or item.updated or "", *(media.url for media in item.media)])
    return f"hash:{_hash(seen)}"


def bounded(key: str) -> str:
    """The key itself, or a hash of one too long to index."""
    return key if len(key) <= MAX_KEY else f"hash:{_hash(key)}"


def _hash(text: str) -> str:
    return hashlib.blake2b(text.encode(errors="replace"), digest_size=16).hexdigest()


class ItemKey(NamedTuple):
    """The key of an entry, and the other keys it may be stored under."""

    key: str
    own: str
    """The key it would have by itself: another where its guid could not be trusted."""
    former: tuple[str, ...] = ()
    """What it was known by before R93."""


def keys_of(items: Sequence[RawItem], links: Sequence[str | None]) -> list[ItemKey]:
    """Each entry's key; several may have the same.

    A guid that different pages share names none of them: those entries fall back to their links.
    """
    guids = [bounded(stable_guid(item.guid)) if item.guid else None for item in items]
    shared = _shared_guids(guids, links)
    return [_key(*each, is_shared=each[1] in shared) for each in zip(items, guids, links, strict=True)]


def _key(item: RawItem, guid: str | None, link: str | None, *, is_shared: bool) -> ItemKey:
    page = link_key(link)
    if guid is None:
        key = page or content_key(item)
        return ItemKey(key, key)
    if not is_shared:
        return ItemKey(guid, guid)
    return ItemKey(guid, guid, (content_key(item),)) if page is None else ItemKey(page, guid)


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


# -- R93: entries of one document that have the same key


def disambiguated(items: Sequence[FoundItem], own: Sequence[str]) -> list[FoundItem]:
    """The entries with a key for each, whatever their order; what says the same under the same key is the same twice.

    `own` are the keys that they would have by themselves. One that has another notes what else it may be stored as.
    """
    counts = Counter(item.key for item in items)
    groups: dict[str, dict[_Facts, str]] = {}
    for item, key in zip(items, own, strict=True):
        if counts[item.key] > 1:
            group, facts = groups.setdefault(item.key, {}), _facts(item)
            group[facts] = min(key, group.get(facts, key))
    names = {key: _names(group) for key, group in groups.items() if len(group) > 1}
    found: dict[str, FoundItem] = {}
    for item, key in zip(items, own, strict=True):
        name = names[item.key][_facts(item)] if item.key in names else item.key
        if name not in found:
            found[name] = item if name == key else _renamed(item, name, key)
    return list(found.values())


def with_other_keys(item: FoundItem) -> FoundItem:
    """The entry with the keys that it would have among others of the same key."""
    is_noted = len(item.other_keys) > 1  # as with all that had to be distinguished; a former key is one
    return item if is_noted else _renamed(item, item.key, item.key)


class _Facts(msgspec.Struct, frozen=True):
    """What distinguishes entries, the best first."""

    enclosure: str | None
    date: str | None
    title: str
    words: str
    """All it says. Last, for a text may say something else at every poll."""


def _facts(item: FoundItem) -> _Facts:
    date = item.published_raw if item.published_at is None else str(item.published_at)
    enclosure = stable_url(item.enclosures[0].url) if item.enclosures else None
    words = f"{item.title}\x00{' '.join(text_of(item.content).split())}"
    return _Facts(enclosure, date, _hash(item.title), _hash(words))


_TELLS: tuple[Callable[[_Facts], str | None], ...] = (
    lambda facts: facts.enclosure and f"file {facts.enclosure}",
    lambda facts: facts.date and f"date {facts.date}",
    lambda facts: f"title {facts.title}",
    lambda facts: f"words {facts.words}",
    lambda facts: "all " + _hash(f"{facts.enclosure} {facts.date} {facts.words}"),
)


def _names(group: dict[_Facts, str]) -> dict[_Facts, str]:
    """A key for each of a group: by the first fact that it shares with none of those that have no key yet."""
    names: dict[_Facts, str] = {}
    for tell in _TELLS:
        left = [facts for facts in group if facts not in names]
        counts = Counter(map(tell, left))
        names |= {facts: _name(group[facts], said) for facts in left if (said := tell(facts)) and counts[said] == 1}
    return names


def _name(own: str, said: str) -> str:
    return bounded(f"{own} {said}")


def _renamed(item: FoundItem, key: str, own: str) -> FoundItem:
    facts = _facts(item)
    others = (item.key, own, *item.other_keys, *(_name(own, said) for tell in _TELLS if (said := tell(facts))))
    return msgspec.structs.replace(
        item, key=key, other_keys=tuple(dict.fromkeys(each for each in others if each != key))
    )
