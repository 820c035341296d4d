"""What the pages say, in one place, so that they can be said in another language one day.

Sentences about what somebody typed come from the services; these are the pages' own, in `texts/`, part by part.
"""

from collections.abc import Mapping
from types import MappingProxyType

from tsuzuki.web.texts import (
    account,
    billing,
    desk,
    discover,
    doors,
    feeds,
    finding,
    frame,
    inbox,
    library,
    reader,
    settings,
    trouble,
)

MESSAGES: Mapping[str, str] = MappingProxyType(
    {
        **frame.TEXTS,
        **frame.SCRIPTS,
        **doors.TEXTS,
        **account.TEXTS,
        **billing.TEXTS,
        **trouble.TEXTS,
        **inbox.TEXTS,
        **feeds.TEXTS,
        **finding.TEXTS,
        **library.TEXTS,
        **reader.TEXTS,
        **discover.TEXTS,
        **settings.TEXTS,
        **desk.TEXTS,
    }
)

_MINUTES_FROM_S = 120
_TOO_MANY = 429


def say(key: str, **values: object) -> str:
    """The message of this key with the values in it; KeyError when there is none."""
    return MESSAGES[key].format(**values)


def said(kind: str, word: str | None) -> str | None:
    """The message `kind.word` where the word is one of ours: what an address says is never shown itself."""
    return MESSAGES.get(f"{kind}.{word}")


def say_many(key: str, count: int, shown: str | None = None, **values: object) -> str:
    """`key.one` or `key.many`; `shown` is the count as this reader writes numbers."""
    return say(f"{key}.one" if count == 1 else f"{key}.many", count=shown or str(count), **values)


def say_refused(status: int, sentence: str, seconds: str | None) -> str:
    """What is wrong, with how long to wait where that is known (Retry-After)."""
    if seconds is None:
        return sentence
    wait = wait_in_words(int(seconds))
    return say("trouble.wait", wait=wait) if status == _TOO_MANY else f"{sentence} {say('trouble.again', wait=wait)}"


def wait_in_words(seconds: int) -> str:
    """`45 seconds`, `5 minutes`: never less than it takes."""
    if seconds >= _MINUTES_FROM_S:
        return say("wait.minutes", count=-(-seconds // 60))
    return say("wait.second") if seconds == 1 else say("wait.seconds", count=seconds)
