"""How long articles are kept: the choices of the two forms that ask it, each with what it would remove."""

from collections.abc import Sequence

import msgspec
from msgspec import UNSET, UnsetType

from tsuzuki.model.times import DAY, Millis
from tsuzuki.retention.policy import FOR_EVER
from tsuzuki.retention.preview import RemovableEntries
from tsuzuki.web.forms import Form, problem
from tsuzuki.web.locale import Locale
from tsuzuki.web.texts import gettext as _
from tsuzuki.web.texts import ngettext

SPANS = (30, 90, 365, 0)
"""Days; 0 is for ever."""
FIELD = "retention"
YEAR = 365 * DAY


class KeepChoice(msgspec.Struct, frozen=True):
    """A choice of the list."""

    value: str
    text: str


def spans_to_count(own: Millis | None, usual: Millis | None) -> list[Millis]:
    """What the form has to count for: every choice, the usual, and a span of the reader's own."""
    return [Millis(days * DAY) for days in SPANS] + [usual or FOR_EVER, own or FOR_EVER]


def keep_choices(
    counted: Sequence[RemovableEntries], own: Millis | None, usual: Millis | None, *, usual_text: str, locale: Locale
) -> list[KeepChoice]:
    """The usual first, with this text; a span that is none of ours last."""
    gone = {each.keep: each for each in counted}
    choices = [KeepChoice("usual", _line(usual_text, gone[usual or FOR_EVER], locale))]
    choices += [
        KeepChoice(str(days), _line(keep_words(Millis(days * DAY)), gone[Millis(days * DAY)], locale)) for days in SPANS
    ]
    if chosen_keep(own) == "own" and own is not None:
        choices.append(KeepChoice("own", _line(keep_words(own), gone[own], locale)))
    return choices


def chosen_keep(own: Millis | None) -> str:
    """Which of the choices is selected."""
    if own is None:
        return "usual"
    return str(own // DAY) if own % DAY == 0 and own // DAY in SPANS else "own"


def posted_keep(form: Form) -> Millis | UnsetType | None:
    """What was chosen: None for the usual, UNSET for what is set already."""
    return posted_span(form, FIELD, SPANS, DAY)


def posted_span(form: Form, field: str, choices: tuple[int, ...], unit: Millis) -> Millis | UnsetType | None:
    """The span that was chosen: None for the usual, UNSET for one that is set already and none of these."""
    text = form.one(field)
    if text == "own":
        return UNSET
    if text in ("", "usual"):
        return None
    if text not in map(str, choices):
        raise problem(field, _("Choose one of the options."))
    return Millis(int(text) * unit)


def keep_words(span: Millis | None) -> str:
    """`90 days`, `1 year`, `2 years`, `forever`."""
    if not span:
        return _("forever")
    years, rest = divmod(span, YEAR)
    return (
        ngettext("%(count)s day", "%(count)s days", max(1, span // DAY))
        if rest
        else ngettext("%(count)s year", "%(count)s years", years)
    )


def _line(text: str, gone: RemovableEntries, locale: Locale) -> str:
    if not gone.entries:
        return text
    count = locale.number(gone.entries)
    if gone.is_more:
        return _("%(text)s (deletes more than %(count)s now)", text=text, count=count)
    return _("%(text)s (deletes %(count)s now)", text=text, count=count)
