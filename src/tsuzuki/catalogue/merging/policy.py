"""What a new series of a split is called, and which former one it is. Pure."""

from collections.abc import Iterable, Sequence

from tsuzuki.catalogue.merging.nouns import FormerSeries, MergeSeriesRow, MergeSourceRow, SeriesFacts
from tsuzuki.model.errors import Invalid, Problem
from tsuzuki.model.ids import SeriesSourceId


def parted(wanted: Iterable[int], sources: Sequence[MergeSourceRow]) -> list[MergeSourceRow]:
    """The sources that leave; Invalid when one is not the series' own, or none would stay."""
    known = {source.id: source for source in sources}
    ids = list(dict.fromkeys(wanted))
    problems = [
        Problem(f"sources.{place}", f"sources.{place} is no source of this series.")
        for place, each in enumerate(ids)
        if each not in known
    ]
    if not problems and len(ids) == len(known):
        problems = [Problem("sources", "At least one source must stay with the series.")]
    if problems:
        raise Invalid(problems[0].message, tuple(problems))
    return [known[SeriesSourceId(each)] for each in ids]


def revived(
    former: Iterable[FormerSeries], leaving: Iterable[MergeSourceRow], sources: Iterable[MergeSourceRow]
) -> FormerSeries | None:
    """The merged series that had exactly the sources which leave, as far as there still are: the split undoes that."""
    ids, there = {source.id for source in leaving}, {source.id for source in sources}
    return next((each for each in former if set(each.sources) & there == ids), None)


def newly(series: MergeSeriesRow, leaving: Sequence[MergeSourceRow], match_key: str, title: str) -> SeriesFacts:
    """What a series says of itself that was never one: what the first source that leaves says."""
    first = leaving[0]
    return SeriesFacts(
        title=title,
        match_key=match_key,
        author=first.author or series.author,
        artist=first.artist or series.artist,
        description=first.description or series.description,
        cover_url=first.cover_url or series.cover_url,
        language=series.language,
        status=first.status or series.status,
        is_nsfw=series.is_nsfw,
        created_at=series.created_at,
    )
