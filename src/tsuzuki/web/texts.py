"""Texts of pages in the reader's language (gettext).

The English text is the key: `_("Inbox")`. `make messages` collects all of them into `translations/tsuzuki.pot`, and a
language is a file beside it, such as `translations/de.po` (docs/translating.md).
"""

from collections.abc import Mapping
from contextvars import ContextVar
from functools import lru_cache
from gettext import GNUTranslations, NullTranslations
from io import BytesIO
from pathlib import Path

import msgspec
import structlog
from markupsafe import Markup, escape
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from tsuzuki.model.times import HOUR, MINUTE, SECOND
from tsuzuki.model.titles import beside_number

TRANSLATIONS = Path(__file__).parent / "translations"

_MINUTES_FROM_S = 120
_TOO_MANY = 429
_UNITS = ("B", "KB", "MB", "GB", "TB")
_STEP = 1024

_log = structlog.stdlib.get_logger("tsuzuki.web")


class Language(msgspec.Struct, frozen=True, cache_hash=True):
    """A language that pages can be read in."""

    tag: str
    catalogue: NullTranslations | None = None
    """None for English, which needs none."""


ENGLISH = Language("en")
_current_language: ContextVar[Language] = ContextVar("spoken", default=ENGLISH)


def language() -> Language:
    """The language of the request that is answered."""
    return _current_language.get()


def gettext(text: str, /, **values: object) -> str:
    """This text with the values in it. It is escaped like any other text; a value that is markup stays markup."""
    catalogue = _current_language.get().catalogue
    return _filled(text if catalogue is None else catalogue.gettext(text), values)


def pgettext(context: str, text: str, /, **values: object) -> str:
    """As `gettext`, for an English word with two meanings; the context shows translators which."""
    catalogue = _current_language.get().catalogue
    return _filled(text if catalogue is None else catalogue.pgettext(context, text), values)


def ngettext(one: str, many: str, number: int, /, **values: object) -> str:
    """The form for this number. `count` is the number, unless it is given as this reader writes numbers."""
    catalogue = _current_language.get().catalogue
    values.setdefault("count", number)
    if catalogue is None:
        return _filled(one if number == 1 else many, values)
    return _filled(catalogue.ngettext(one, many, number), values)


def N_(text: str) -> str:  # noqa: N802  as gettext calls it
    """Mark a text of a constant for translators; `gettext` translates it when it is shown."""
    return text


def _filled(text: str, values: Mapping[str, object]) -> str:
    if not values:
        return text
    for value in values.values():
        if isinstance(value, Markup):
            return escape(text) % values
    return text % values


# -- languages


def load_languages(folder: Path = TRANSLATIONS) -> dict[str, Language]:
    """English, and one for each `.po` file of the folder, by its tag in lower case."""
    languages = {ENGLISH.tag: ENGLISH}
    for file in sorted(folder.glob("*.po")):
        tag = file.stem.replace("_", "-")
        languages[tag.lower()] = Language(tag, _read_catalogue(file))
    return languages


def pick_language(accepted: str, languages: Mapping[str, Language]) -> Language:
    """The first of the browser's languages that there is; `pt-BR` is served by `pt` too."""
    for tag in _by_preference(accepted):
        while tag:
            if tag in languages:
                return languages[tag]
            tag = tag.rpartition("-")[0]
    return ENGLISH


class InReadersLanguage:
    """Lets each request be answered in a language that its browser asks for."""

    def __init__(self, app: ASGIApp, languages: Mapping[str, Language]) -> None:
        self._app = app
        self._languages = languages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request (ASGI)."""
        if scope["type"] == "http" and len(self._languages) > 1:
            _current_language.set(pick_language(Headers(scope=scope).get("accept-language", ""), self._languages))
        await self._app(scope, receive, send)


def _read_catalogue(file: Path) -> GNUTranslations:
    from babel.messages.mofile import write_mo
    from babel.messages.pofile import read_po

    with file.open("rb") as source:
        catalogue = read_po(source, locale=file.stem)
    for message, problems in list(catalogue.check()):
        # a placeholder that the program does not fill would fail the page: English is shown instead
        _log.warning("translation_skipped", file=file.name, text=message.id, problem=str(problems[0]))
        message.string = ""
    compiled = BytesIO()
    write_mo(compiled, catalogue)
    compiled.seek(0)
    return GNUTranslations(compiled)


def _by_preference(accepted: str) -> list[str]:
    """The tags of an Accept-Language header in lower case, the most wanted first (RFC 9110, 12.5.4)."""
    weighed: list[tuple[float, str]] = []
    for part in accepted.lower().split(","):
        tag, _, weight = part.partition(";q=")
        try:
            weighed.append((float(weight or 1), tag.strip()))
        except ValueError:
            continue
    return [tag for weight, tag in sorted(weighed, key=lambda pair: -pair[0]) if weight > 0]


# -- what several pages say


def say_refused(status: int, sentence: str, seconds: str | None) -> str:
    """What is wrong, with how long to wait where that is known (Retry-After)."""
    if seconds is None:
        return sentence
    wait = wait_in_words(int(seconds))
    if status == _TOO_MANY:
        return gettext("Too many attempts. Try again in %(wait)s.", wait=wait)
    return " ".join((sentence, gettext("Try again in %(wait)s.", wait=wait)))


def wait_in_words(seconds: int) -> str:
    """`45 seconds`, `5 minutes`: never less than it takes."""
    if seconds >= _MINUTES_FROM_S:
        minutes = -(-seconds // 60)
        return ngettext("%(count)s minute", "%(count)s minutes", minutes)
    return ngettext("%(count)s second", "%(count)s seconds", seconds)


def chapter_name(number: str | None, volume: str | None, title: str) -> str:
    """`Chapter 12: The road`, `Volume 3`, or what it is called."""
    return _chapter_name(language(), number, volume, title)


@lru_cache(2048)
def _chapter_name(_: Language, number: str | None, volume: str | None, title: str) -> str:
    numbered = gettext("Volume %(volume)s", volume=volume) if volume else ""
    if number:
        numbered = gettext("Chapter %(number)s", number=number)
    return ": ".join(part for part in (numbered, beside_number(title, number)) if part) or gettext("Untitled")


def took(millis: int | None) -> str:
    """`340 ms`, `2.4 s`, `12 min`, `3 h`; a dash where nobody knows."""
    if millis is None:
        return "–"
    if millis < SECOND:
        return f"{millis} ms"
    if millis < MINUTE:
        return f"{millis / SECOND:.1f} s"
    return f"{millis // MINUTE} min" if millis < HOUR else f"{millis // HOUR} h"


def sized(count: int) -> str:
    """`512 B`, `1.5 MB`."""
    size, place = float(count), 0
    while size >= _STEP and place < len(_UNITS) - 1:
        size, place = size / _STEP, place + 1
    return f"{size:.0f} B" if place == 0 else f"{size:.1f} {_UNITS[place]}"
