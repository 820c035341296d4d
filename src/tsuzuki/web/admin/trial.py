"""How a trial of a source is shown."""

from collections.abc import Callable

import msgspec

from tsuzuki.web.admin.units import sized, took


class TrialShown(msgspec.Struct, frozen=True):
    """How many of each thing that was found are listed, and how times and sizes are written."""

    most: int = 10
    took: Callable[[int | None], str] = took
    sized: Callable[[int], str] = sized


TRIAL_SHOWN = TrialShown()
