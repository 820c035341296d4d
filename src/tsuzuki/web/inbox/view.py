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
        if self.show != "unread":
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
    kind, show, since = query.get("kind"), query.get("show"), number_of(query.get("since"))
    return InboxView(
        kind="item" if kind == "item" else "chapter" if kind == "chapter" else None,
        show="all" if show == "all" else "saved" if show == "saved" else "unread",
        group=query.get("group") or None,
        feed=query.get("feed") or None,
        series=query.get("series") or None,
        tag=query.get("tag") or None,
        sort="published" if query.get("sort") == "published" else "arrived",
        since=None if since is None else Millis(since),
    )


def _id(text: str | None) -> PublicId | None:
    if text is None:
        return None
    public_id = read_id(text)
    if public_id is None:
        raise NotFound("There is no such list.")
    return public_id
