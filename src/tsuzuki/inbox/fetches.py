"""What is fetched from sources while an app or a feed reader waits for its answer: little, and not for long.

They list many entries at once, and few ask again for what they have. So what is new is completed at once, and the rest
when somebody opens it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Final, TypeVar

from tsuzuki.inbox.sync import SyncEntry
from tsuzuki.model.errors import TsuzukiError
from tsuzuki.model.times import DAY, Millis
from tsuzuki.polling.articles import Articles

MOST: Final = 20
"""Fetches for one answer."""
PATIENCE_S: Final = 4.0
"""Seconds that one answer waits for all of them."""
RECENT: Final = Millis(7 * DAY)
"""What came before that is not fetched for a list: somebody's first sync would ask for all there is."""

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class Fetches:
    """The fetches of one answer."""

    def __init__(self, most: int = MOST, patience_s: float = PATIENCE_S) -> None:
        self._left = most
        self._patience_s = patience_s
        self._until: float | None = None

    async def gather(self, wanted: Mapping[K, Callable[[], Awaitable[T]]]) -> dict[K, T]:
        """What can be had of these in time. What fails, takes too long or is too much is left out.

        Whoever fetches does it for everybody, and goes on after this has left.
        """
        some = dict(islice(wanted.items(), self._left))
        if not some:
            return {}
        self._left -= len(some)
        now = asyncio.get_running_loop().time()
        self._until = self._until or now + self._patience_s
        tasks = {key: asyncio.ensure_future(fetch()) for key, fetch in some.items()}
        try:
            await asyncio.wait(tasks.values(), timeout=max(0, self._until - now))
        finally:
            for task in tasks.values():
                task.cancel()
            results = await asyncio.gather(*tasks.values(), return_exceptions=True)
        found: dict[K, T] = {}
        for key, result in zip(tasks, results, strict=True):
            if not isinstance(result, BaseException):
                found[key] = result
            elif not isinstance(result, TsuzukiError | asyncio.CancelledError):
                raise result
        return found


def is_new(one: SyncEntry, now: Millis) -> bool:
    """Whether something may be fetched for it though nobody has opened it."""
    return one.entry.unread and one.entry.created_at >= now - RECENT


async def with_full_texts(
    found: Sequence[SyncEntry], articles: Articles, fetches: Fetches, now: Millis
) -> list[SyncEntry]:
    """These entries, with the texts of pages that nobody has opened yet where their readers want these."""
    wanted = {
        one.entry.item_id: partial(articles.full_text, one.entry.item_id, one.entry.link)
        for one in found
        if one.lacks_text and one.entry.item_id is not None and is_new(one, now)
    }
    texts = {item_id: text.content for item_id, text in (await fetches.gather(wanted)).items() if text.content}
    return [one.with_text(texts[key]) if (key := one.entry.item_id) in texts else one for one in found]
