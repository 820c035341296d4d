"""The places of the navigation. A new page that people go to by themselves is one line here and one message."""

import msgspec


class NavigationPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where people go. `name` is also the message `nav.name`; `key` follows g on the keyboard."""

    name: str
    path: str
    icon: str
    key: str
    counts: str | None = None
    """Which of the counts stands beside it."""
    is_in_bar: bool = False
    """Whether it is in the bar at the bottom of a phone."""


READING = (
    NavigationPlace(name="inbox", path="/", icon="inbox", key="i", counts="unread", is_in_bar=True),
    NavigationPlace(name="comics", path="/?kind=chapter", icon="book-open", key="c", counts="chapters"),
    NavigationPlace(name="articles", path="/?kind=item", icon="newspaper", key="a", counts="items"),
    NavigationPlace(name="library", path="/library", icon="library", key="l", is_in_bar=True),
    NavigationPlace(name="saved", path="/?show=saved", icon="bookmark", key="s"),
)

MANAGING = (
    NavigationPlace(name="discover", path="/discover", icon="compass", key="e"),
    NavigationPlace(name="feeds", path="/feeds", icon="rss", key="f", is_in_bar=True),
    NavigationPlace(name="history", path="/history", icon="history", key="h"),
    NavigationPlace(name="bookmarks", path="/bookmarks", icon="star", key="b"),
    NavigationPlace(name="search", path="/search", icon="search", key="/", is_in_bar=True),
    NavigationPlace(name="notifications", path="/notifications", icon="bell", key="n"),
    NavigationPlace(name="settings", path="/settings", icon="settings", key=","),
)

RUNNING = (
    NavigationPlace(name="desk", path="/admin", icon="gauge", key="d"),
    NavigationPlace(name="sources", path="/admin/sources", icon="server", key="o"),
    NavigationPlace(name="jobs", path="/admin/jobs", icon="activity", key="j"),
    NavigationPlace(name="letters", path="/admin/dead-letters", icon="skull", key="x"),
    NavigationPlace(name="users", path="/admin/users", icon="users", key="u"),
    NavigationPlace(name="audit", path="/admin/audit", icon="scroll-text", key="t"),
    NavigationPlace(name="in_force", path="/admin/settings", icon="sliders-horizontal", key="v"),
    NavigationPlace(name="styleguide", path="/styleguide", icon="palette", key="y"),
)
"""For administrators."""

BAR = tuple(place for place in (*READING, *MANAGING) if place.is_in_bar)
