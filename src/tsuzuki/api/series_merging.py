"""Merging and splitting series, for the operator."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from tsuzuki.accounts.caller import Caller
from tsuzuki.api.declaring import declaring
from tsuzuki.api.endpoints import Access
from tsuzuki.api.forms import Body, Id
from tsuzuki.api.ids import IdText, id_in_field, id_in_path
from tsuzuki.catalogue.merging.nouns import MergeOutcome
from tsuzuki.catalogue.merging.service import Merging
from tsuzuki.model.errors import Conflict, NotFound
from tsuzuki.model.ids import show_id


class MergeBody(Body, frozen=True, kw_only=True):
    """The series that stays; a preview says what would happen and changes nothing."""

    into: IdText
    preview: bool = False


class SplitBody(Body, frozen=True, kw_only=True):
    """The sources that leave, by the ids of the series' `sources`, and what the new series is called."""

    sources: Annotated[tuple[Id, ...], Meta(min_length=1, max_length=100)]
    title: Annotated[str, Meta(min_length=1, max_length=500)] | None = None
    preview: bool = False


class OutcomeView(msgspec.Struct, frozen=True, kw_only=True):
    """What a merge or split does, or did. `series_id` stays; `other_id` goes, or is new.

    `moved` counts what went to the other series or chapter, `shared` what both had, or have now.
    """

    kind: Literal["merge", "split"]
    is_preview: bool
    series_id: str
    other_id: str
    title: str
    sources: int
    chapters_moved: int
    chapters_shared: int
    releases: int
    entries_moved: int
    entries_shared: int
    progress_moved: int
    progress_shared: int
    follows_moved: int
    follows_shared: int
    shelves: int


async def merge_series(series_id: IdText, caller: Caller, body: MergeBody, merging: Merging) -> OutcomeView:
    """Makes this series part of another; its id leads there from now on, and nobody is notified."""
    series, into = id_in_path(series_id, "series"), id_in_field(body.into, "into")
    return _outcome(await merging.merge(caller.actor, series, into, is_preview=body.preview))


async def split_series(series_id: IdText, caller: Caller, body: SplitBody, merging: Merging) -> OutcomeView:
    """Makes a series of some sources; everyone follows both, and has read on both what both have."""
    series = id_in_path(series_id, "series")
    outcome = await merging.split(caller.actor, series, body.sources, title=body.title, is_preview=body.preview)
    return _outcome(outcome)


def _outcome(outcome: MergeOutcome) -> OutcomeView:
    values = msgspec.structs.asdict(outcome)
    series, other = values.pop("series"), values.pop("other")
    return OutcomeView(series_id=show_id(series), other_id=show_id(other), **values)


_admin = declaring("series", Access.ADMIN)

ENDPOINTS = (
    _admin("POST", "/admin/series/{series_id}/merge", merge_series, "Merge series", errors=(NotFound, Conflict)),
    _admin("POST", "/admin/series/{series_id}/split", split_series, "Split a series", errors=(NotFound, Conflict)),
)
