"""Which list of the inbox is shown: read from an address, and written into links."""

from typing import Literal
from urllib.parse import urlencode

import msgspec
from starlette.datastructures import QueryParams

from tsuzuki.inbox.entries import EntryFilter
from tsuzuki.model.errors import NotFound
from tsuzuki.model.harvest import Kind
from tsuzuki.model.ids import PublicId, read_id
from tsuzuki.model.times import Millis
from tsuzuki.web.ids import number_of

Show = Literal["unread", "all", "saved"]
Sort = Literal["arrived", "published"]


class InboxView(msgspec.Struct, frozen=True, kw_only=True):
    """A list: of a kind, a group, a feed, a series or a tag; unread, all, or saved."""

    kind: Kind | None = None
    show: Show = "unread"
    """A feed's list is of all entries where an address says nothing."""
    group: str | None = None
    feed: str | None = None
    series: str | None = None
    tag: str | None = None
    sort: Sort = "arrived"
    since: Millis | None = None
    """When the list was made: what was read since then is still in it."""

    @property
    def wanted(self) -> EntryFilter:
        """The filter for the inbox; NotFound for a text that is no id."""
        return EntryFilter(
            kind=self.kind,
            unread=True if self.show == "unread" else None,
            saved=True if self.show == "saved" else None,
            group=_id(self.group),
            feed=_id(self.feed),
            series=_id(self.series),
            tag=_id(self.tag),
            read_since=self.since,
            by_published=self.sort == "published",
            detail="preview",
        )

    @property
    def fields(self) -> dict[str, str]:
        """The list's query parameters, without those that have their default."""
        said = {"kind": self.kind, "group": self.group, "feed": self.feed, "series": self.series, "tag": self.tag}
        shown = {name: value for name, value in said.items() if value}
        if self.show != _show_by_default(self.feed):
            shown["show"] = self.show
        if self.sort != "arrived":
            shown["sort"] = self.sort
        return shown

    def path(self, **more: str) -> str:
        """The list's address."""
        query = urlencode(self.fields | more)
        return f"/?{query}" if query else "/"

    def but(self, **changes: str | None) -> "InboxView":
        """This view with these changes."""
        return msgspec.structs.replace(self, **changes)

    @property
    def place(self) -> str:
        """The list's name in the navigation."""
        if self.group:
            return f"group:{self.group}"
        if self.feed or self.series or self.tag:
            return "feeds" if self.feed else ""
        if self.show == "saved":
            return "saved"
        return {"chapter": "comics", "item": "articles", None: "inbox"}[self.kind]


def read_view(query: QueryParams) -> InboxView:
    """What an address asks for; a word that we do not know counts as not said."""
    kind, feed, since = query.get("kind"), query.get("feed") or None, number_of(query.get("since"))
    shows: dict[str | None, Show] = {"unread": "unread", "all": "all", "saved": "saved"}
    return InboxView(
        kind="item" if kind == "item" else "chapter" if kind == "chapter" else None,
        show=shows.get(query.get("show"), _show_by_default(feed)),
        group=query.get("group") or None,
        feed=feed,
        series=query.get("series") or None,
        tag=query.get("tag") or None,
        sort="published" if query.get("sort") == "published" else "arrived",
        since=None if since is None else Millis(since),
    )


def _show_by_default(feed: str | None) -> Show:
    return "unread" if feed is None else "all"


def _id(text: str | None) -> PublicId | None:
    if text is None:
        return None
    public_id = read_id(text)
    if public_id is None:
        raise NotFound("There is no such list.")
    return public_id
