"""The places of the navigation. A new page that people go to by themselves is one line here and one message."""

import msgspec


class Place(msgspec.Struct, frozen=True, kw_only=True):
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
    Place(name="inbox", path="/", icon="inbox", key="i", counts="unread", is_in_bar=True),
    Place(name="comics", path="/?kind=chapter", icon="book-open", key="c", counts="chapters"),
    Place(name="articles", path="/?kind=item", icon="newspaper", key="a", counts="items"),
    Place(name="library", path="/library", icon="library", key="l", is_in_bar=True),
    Place(name="saved", path="/?show=saved", icon="bookmark", key="s"),
)

MANAGING = (
    Place(name="discover", path="/discover", icon="compass", key="e"),
    Place(name="feeds", path="/feeds", icon="rss", key="f", is_in_bar=True),
    Place(name="history", path="/history", icon="history", key="h"),
    Place(name="bookmarks", path="/bookmarks", icon="star", key="b"),
    Place(name="search", path="/search", icon="search", key="/", is_in_bar=True),
    Place(name="notifications", path="/notifications", icon="bell", key="n"),
    Place(name="settings", path="/settings", icon="settings", key=","),
)

RUNNING = (
    Place(name="desk", path="/admin", icon="gauge", key="d"),
    Place(name="sources", path="/admin/sources", icon="server", key="o"),
    Place(name="jobs", path="/admin/jobs", icon="activity", key="j"),
    Place(name="letters", path="/admin/dead-letters", icon="skull", key="x"),
    Place(name="users", path="/admin/users", icon="users", key="u"),
    Place(name="audit", path="/admin/audit", icon="scroll-text", key="t"),
    Place(name="in_force", path="/admin/settings", icon="sliders-horizontal", key="v"),
    Place(name="styleguide", path="/styleguide", icon="palette", key="y"),
)
"""For administrators."""

BAR = tuple(place for place in (*READING, *MANAGING) if place.is_in_bar)
