"""Texts for scripts, and JSON answers for them: they post what forms post."""

from functools import cache

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.http.assets import Asset, asset_of
from tsuzuki.web.texts import N_, Language, ngettext, pgettext
from tsuzuki.web.texts import gettext as _

TEXTS = {
    "js.undo": N_("Undo"),
    "js.undone": N_("Undone."),
    "js.read": N_("Marked read."),
    "js.unread": N_("Marked unread."),
    "js.read_later": N_("Marked read. It will be sent when you are back online."),
    "js.unread_later": N_("Marked unread. It will be sent when you are back online."),
    "js.saved": N_("Saved."),
    "js.unsaved": N_("Removed from Saved."),
    "js.do_read": N_("Mark read"),
    "js.do_unread": N_("Mark unread"),
    "js.do_unsave": N_("Remove from Saved"),
    "js.open": N_("Open"),
    "js.mark": N_("Mark read or unread"),
    "js.keep": N_("Save or unsave"),
    "js.original": N_("Open original"),
    "js.failed": N_("Something went wrong. Try again."),
    "js.reads_only": N_("You can read this shelf, but not change it."),
    "js.offline": N_("You are offline. Nothing was changed."),
    "js.marks_sent": N_("Your offline changes were sent."),
    "js.marks_refused": N_("Some of your offline changes could not be sent."),
    "js.speed": N_("Speed"),
    "js.unplayable": N_("This cannot be played here. Open the original file instead."),
    "js.dropped": N_("Download removed."),
    "js.copied": N_("Link copied."),
    "js.copied_text": N_("Copied."),
    "js.copy_by_hand": N_("Your browser blocks copying here. The text is selected: press Ctrl+C."),
    "js.nothing": N_("Nothing found."),
    "js.search_for": N_("Search for “%(text)s”"),
    "js.commands": N_("Commands"),
    "js.feeds": N_("Feeds"),
    "js.items": N_("Articles"),
    "js.series": N_("Series"),
    "js.keys_everywhere": N_("Everywhere"),
    "js.keys_here": N_("This page"),
    "js.next": N_("Next"),
    "js.previous": N_("Previous"),
    "js.palette": N_("Search or run a command"),
    "js.help": N_("Show this help"),
    "js.close": N_("Close"),
    "js.go": N_("Go to %(place)s"),
    "js.theme_light": N_("Theme: light"),
    "js.theme_dark": N_("Theme: dark"),
    "js.theme_auto": N_("Theme: system"),
    "js.theme_set": N_("Theme changed."),
    "js.zoom": N_("Enlarged picture"),
    "js.close_picture": N_("Close"),
    "js.checking": N_("%(done)s of %(all)s checked"),
    "js.checked": N_("All feeds were checked."),
    "js.checked_one": N_("%(name)s was checked."),
    "js.push_refused": N_("Your browser does not allow notifications of this site. Allow them beside its address."),
    "js.push_failed": N_("Your browser's push service could not be reached. Try again."),
    "js.check_failed": N_("%(name)s could not be checked. Its row says why."),
    "time.now": N_("now"),
    "time.minutes": N_("%(count)s min ago"),
    "time.hours": N_("%(count)s h ago"),
    "time.days": N_("%(count)s d ago"),
}
_COUNT = "%(count)s"


@cache
def texts_for_scripts(language: Language) -> str:
    """All that scripts say, as JSON: by key, and where it has plurals by their CLDR category, as browsers know them."""
    from babel import Locale

    rule = Locale.parse(language.tag, sep="-").plural_form
    numbers = {rule(number): number for number in range(200, -1, -1)}
    forms = {category: _plurals(number) for category, number in numbers.items()}
    plurals = {key: {category: texts[key] for category, texts in forms.items()} for key in _plurals(1)}
    texts = {key: _(text) for key, text in TEXTS.items()} | {"js.do_save": pgettext("article", "Save")}
    return msgspec.json.encode(texts | plurals).decode()


def script_of_texts(language: Language, dialogs: str) -> Asset:
    """A script that sets the texts and dialogs of scripts: browsers keep it, so that no page repeats them."""
    said = texts_for_scripts(language).encode()
    return asset_of("texts.js", b"globalThis.said=%s;globalThis.dialogs=%s" % (said, msgspec.json.encode(str(dialogs))))


def _plurals(number: int) -> dict[str, str]:
    return {
        "js.waiting": ngettext(
            "%(count)s change waits to be sent.", "%(count)s changes wait to be sent.", number, count=_COUNT
        ),
        "js.unsaid": ngettext(
            "Your place in %(count)s chapter waits to be sent.",
            "Your place in %(count)s chapters waits to be sent.",
            number,
            count=_COUNT,
        ),
        "js.new": ngettext("%(count)s new entry", "%(count)s new entries", number, count=_COUNT),
    }


def wants_json(request: Request) -> bool:
    """Whether a script asks."""
    return "application/json" in request.headers.get("accept", "")


def data_of(value: object) -> Response:
    """The answer for it."""
    return Response(msgspec.json.encode({"data": value}), media_type="application/json")
