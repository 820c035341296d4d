"""Messages of the library, the reader and Discover whose keys are picked from tables in code."""

from typing import get_args

from tsuzuki.accounts.preferences.nouns import LibraryLook
from tsuzuki.shelves.library.series.policy import Health
from tsuzuki.sources.sites.policy import Standing
from tsuzuki.web.library.page import SORTS, STATUSES
from tsuzuki.web.series.settings import FITS, MODES


def chosen_in_the_library() -> set[str]:
    """All of them."""
    used = {f"library.look_{look}" for look in get_args(LibraryLook)}
    used |= {f"library.sort_{sort}" for sort in SORTS} | {f"library.status_{status}" for status in STATUSES}
    used |= {f"series.state_{status}" for status in range(1, 7)}
    used |= {f"series.health_{health}" for health in get_args(Health)}
    used |= {f"series.stop_{stop}" for stop in ("source_off", "series_off")}  # the others bring words of their own
    used |= {f"reader.mode_{mode}" for mode in MODES} | {f"reader.fit_{fit}" for fit in FITS}
    used |= {f"discover.standing_{word}" for word in get_args(Standing)}
    used |= {f"discover.tristate_{state}" for state in range(3)}
    return used | {"fail.refresh", "fail.keep_full"}
