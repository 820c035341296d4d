"""The entries of the navigation. A new page that people go to by themselves is one line here."""

import msgspec

from tsuzuki.web.texts import N_


class NavigationPlace(msgspec.Struct, frozen=True, kw_only=True):
    """A place of the navigation. Typing g and then `key` goes there."""

    name: str
    label: str
    path: str
    icon: str
    key: str
    counts: str | None = None
    """Which of the counts stands beside it."""
    is_in_bar: bool = False
    """Whether it is in the bar at the bottom of a phone."""


READING = (
    NavigationPlace(name="inbox", label=N_("Inbox"), path="/", icon="inbox", key="i", counts="unread", is_in_bar=True),
    NavigationPlace(
        name="comics", label=N_("Comics"), path="/?kind=chapter", icon="book-open", key="c", counts="chapters"
    ),
    NavigationPlace(
        name="articles", label=N_("Articles"), path="/?kind=item", icon="newspaper", key="a", counts="items"
    ),
    NavigationPlace(name="library", label=N_("Library"), path="/library", icon="library", key="l", is_in_bar=True),
    NavigationPlace(name="saved", label=N_("Saved"), path="/?show=saved", icon="bookmark", key="s"),
)

MANAGING = (
    NavigationPlace(name="discover", label=N_("Discover"), path="/discover", icon="compass", key="e"),
    NavigationPlace(name="feeds", label=N_("Feeds"), path="/feeds", icon="rss", key="f", is_in_bar=True),
    NavigationPlace(name="history", label=N_("History"), path="/history", icon="history", key="h"),
    NavigationPlace(name="bookmarks", label=N_("Bookmarks"), path="/bookmarks", icon="star", key="b"),
    NavigationPlace(name="search", label=N_("Search"), path="/search", icon="search", key="/", is_in_bar=True),
    NavigationPlace(name="import", label=N_("Import"), path="/import", icon="upload", key="m"),
    NavigationPlace(name="notifications", label=N_("Notifications"), path="/notifications", icon="bell", key="n"),
    NavigationPlace(name="settings", label=N_("Settings"), path="/settings", icon="settings", key=","),
)

RUNNING = (
    NavigationPlace(name="admin", label=N_("Admin"), path="/admin", icon="gauge", key="d"),
    NavigationPlace(name="sources", label=N_("Sources"), path="/admin/sources", icon="server", key="o"),
    NavigationPlace(name="jobs", label=N_("Jobs"), path="/admin/jobs", icon="activity", key="j"),
    NavigationPlace(name="letters", label=N_("Dead letters"), path="/admin/dead-letters", icon="skull", key="x"),
    NavigationPlace(name="users", label=N_("Users"), path="/admin/users", icon="users", key="u"),
    NavigationPlace(name="audit", label=N_("Audit log"), path="/admin/audit", icon="scroll-text", key="t"),
    NavigationPlace(
        name="server_settings", label=N_("Server settings"), path="/admin/settings", icon="sliders-horizontal", key="v"
    ),
    NavigationPlace(name="styleguide", label=N_("Style guide"), path="/styleguide", icon="palette", key="y"),
)
"""The places for administrators."""

PLACE_LABELS = {place.name: place.label for place in (*READING, *MANAGING, *RUNNING)}
BAR = tuple(place for place in (*READING, *MANAGING) if place.is_in_bar)
