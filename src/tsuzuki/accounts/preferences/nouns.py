"""What can be chosen. A new choice has a default, so that what was stored before still reads."""

from typing import Literal

import msgspec

Theme = Literal["auto", "light", "dark"]
Density = Literal["cozy", "compact"]
TextSize = Literal["small", "normal", "large", "huge"]
ReadingFont = Literal["serif", "sans"]
ReadingWidth = Literal["narrow", "normal", "wide"]
LibraryLook = Literal["grid", "list"]
Clock = Literal["auto", "12", "24"]


class Preferences(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One person's choices."""

    theme: Theme = "auto"
    density: Density = "cozy"
    text_size: TextSize = "normal"
    reading_font: ReadingFont = "serif"
    reading_width: ReadingWidth = "normal"
    clock: Clock = "auto"
    marks_on_scroll: bool = False
    """Whether what scrolled out of sight above counts as read."""
    library_look: LibraryLook = "grid"
    time_zone: str = ""
    """As the tz database names it; empty until a browser has said."""
