"""Which entries of a feed are stored already, under whatever key (R31, R93, REL-27). Pure."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from tsuzuki.model.harvest import FoundItem, item_hash
from tsuzuki.model.times import Millis
from tsuzuki.polling.rows import KnownItem


class Recognised(msgspec.Struct, frozen=True):
    """What is stored of what a feed lists."""

    known: dict[str, KnownItem]
    """By the key that the entry has now."""
    rekeyed: dict[str, str]
    """What is one of several entries that share a key: from its key to the one it has from now on."""
    is_unstable: bool
    """Whether a page had to tell what a key did not."""


def shared_keys(found: Mapping[str, FoundItem], stored: Iterable[KnownItem]) -> set[str]:
    """The keys of what is stored that more than one entry might be."""
    counts = Counter(key for item in found.values() for key in item.other_keys)
    return {row.key for row in stored if counts[row.key] > 1 and row.key not in found}


def recognise(
    found: Mapping[str, FoundItem], stored: Sequence[KnownItem], said: Mapping[str, tuple[str, Millis | None]]
) -> Recognised:
    """What is known of the entries. `said` are title and date of what is stored under `shared_keys`."""
    rows = {row.key: row for row in stored}
    known = {key: rows[key] for key in found if key in rows}
    rekeyed: dict[str, str] = {}
    shared = shared_keys(found, stored)
    for key, claimants in _claimants(found, rows, known).items():
        item = _same(claimants, rows[key], said.get(key)) if key in shared else claimants[0]
        if item is not None and item.key not in known:
            known[item.key] = rows[key]
            rekeyed |= {key: item.key} if key in shared or _is_told_apart(item) else {}
    by_page = _by_page(found, rows, known)
    return Recognised(known | by_page, rekeyed, is_unstable=bool(by_page))


def _is_told_apart(item: FoundItem) -> bool:
    """Whether its key says more than the one that it shares. One that is alone keeps what is stored as it is."""
    return any(item.key.startswith(f"{key} ") for key in item.other_keys)


def _claimants(
    found: Mapping[str, FoundItem], rows: Mapping[str, KnownItem], known: Mapping[str, KnownItem]
) -> dict[str, list[FoundItem]]:
    """By the keys of what is stored and not listed under them: the unknown entries that may be it."""
    claimants = defaultdict(list)
    for item in found.values():
        for key in item.other_keys if item.key not in known else ():
            if key in rows and key not in found:
                claimants[key].append(item)
    return claimants


def _same(items: Sequence[FoundItem], row: KnownItem, said: tuple[str, Millis | None] | None) -> FoundItem | None:
    """The one that says what is stored: all of it, else under the same title and date."""
    whole = (item for item in items if item_hash(item) == row.content_hash)
    headed = (item for item in items if (item.title, item.published_at) == said)
    return next(whole, None) or next(headed, None)


def _by_page(
    found: Mapping[str, FoundItem], rows: Mapping[str, KnownItem], known: Mapping[str, KnownItem]
) -> dict[str, KnownItem]:
    """REL-27: a new key whose page is stored under a key that the feed no longer has is the same story again.

    A page that several entries have, now or in store, names none of them; then only one that says the same is it.
    """
    taken = {row.key for row in known.values()}
    free = [row for row in rows.values() if row.link_key and row.key not in found and row.key not in taken]
    listed = Counter(item.link_key for item in found.values())
    stored = Counter(row.link_key for row in free)
    by_page = {row.link_key: row for row in free}
    by_words = {(row.link_key, row.content_hash): row for row in free}
    again: dict[str, KnownItem] = {}
    for key, item in found.items():
        if key in known or not stored[item.link_key]:
            continue
        is_sure = stored[item.link_key] == 1 and listed[item.link_key] == 1
        row = by_page[item.link_key] if is_sure else by_words.pop((item.link_key, item_hash(item)), None)
        if row is not None:
            again[key] = row
    return again
