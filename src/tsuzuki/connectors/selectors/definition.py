"""What a definition file may say. The guide is docs/connectors.md; the checks beyond types are in reader.py."""

from typing import Annotated, Literal, get_args

import msgspec
import re2
from msgspec import Meta

from tsuzuki.model.harvest import UpdateStrategy

MAX_SUBJECT = 20_000


def pattern_problem(pattern: str) -> str | None:
    """Why RE2 does not take this pattern; None when it does and has at most one group."""
    try:
        groups = int(_compiled(pattern).groups)
    except re2.error as error:
        reason = error.args[0] if error.args else "not readable"
        return f"Not a pattern: {reason.decode(errors='replace') if isinstance(reason, bytes) else reason}."
    return "A pattern can have at most one (group): the part to extract." if groups > 1 else None


def first_match(pattern: str, text: str) -> str | None:
    """What the pattern's group matches, or the whole match where it has none; None when nothing does."""
    compiled = _compiled(pattern)
    found = compiled.search(text[:MAX_SUBJECT])
    if found is None:
        return None
    matched: str | None = found.group(1 if compiled.groups else 0)
    return matched


def _compiled(pattern: str) -> "re2._Regexp":
    """RE2 keeps the last patterns compiled by itself."""
    options = re2.Options()
    options.max_mem = 1 << 20
    options.log_errors = False
    return re2.compile(pattern, options)


Short = Annotated[str, Meta(min_length=1, max_length=200)]
Expression = Annotated[str, Meta(max_length=300)]
Address = Annotated[str, Meta(min_length=1, max_length=1000)]
StatusWord = Literal["unknown", "ongoing", "completed", "licensed", "finished", "cancelled", "hiatus"]
Reads = Literal["html", "json"]

STATUS_CODES: dict[str, int] = {word: code for code, word in enumerate(get_args(StatusWord))}
"""R10."""


class DefinitionPart(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Any object of a definition."""


class Pick(DefinitionPart, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a value is, and what to make of it. A plain text stands for `pick` alone.

    The first of several picks that finds something counts; with `join`, all of them together.
    """

    pick: Annotated[tuple[Expression, ...], Meta(max_length=10)] = ()
    join: Annotated[str, Meta(max_length=20)] | None = None
    pattern: Expression | None = None
    replace: Annotated[dict[str, str], Meta(max_length=100)] = {}
    template: Address | None = None
    default: Annotated[str, Meta(max_length=1000)] | None = None


class DatePick(Pick, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`format` is `auto`, `relative`, `unix`, `unix_ms` or a pattern such as `%d/%m/%Y`; the first that fits counts."""

    format: Annotated[tuple[Annotated[str, Meta(min_length=1, max_length=60)], ...], Meta(max_length=10)] = ("auto",)


class StatusPick(Pick, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`map` is from the site's words to ours; a word that is not in it may be ours already."""

    map: Annotated[dict[str, StatusWord], Meta(max_length=50)] = {}


class DefinitionStep(DefinitionPart, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One page that is called, and how it is read."""

    url: Address
    reads: Reads = "html"


class SearchFilter(DefinitionPart, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A choice beside the search text: one of `options`, or free text when there are none."""

    name: Short
    param: Annotated[str, Meta(pattern=r"^[A-Za-z0-9_.\[\]-]{1,60}\Z")]
    options: Annotated[dict[str, str], Meta(max_length=200)] = {}


class SeriesStep(DefinitionStep, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A list of series. `next` says whether there is another page: it is there when it finds anything but false."""

    each: Expression
    link: Pick
    title: Pick
    key: Pick | None = None
    """The site's own id of a series, where its addresses change; else the address without its host."""
    cover: Pick | None = None
    next: Pick | None = None
    first_page: Annotated[int, Meta(ge=0, le=1)] = 1
    page_size: Annotated[int, Meta(ge=1, le=1000)] = 20
    """What `{offset}` grows by."""
    filters: Annotated[tuple[SearchFilter, ...], Meta(max_length=50)] = ()


class DetailsStep(DefinitionStep, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All about one series."""

    url: Address = "{url}"
    title: Pick
    alt_titles: Pick | None = None
    author: Pick | None = None
    artist: Pick | None = None
    description: Pick | None = None
    genres: Pick | None = None
    status: StatusPick | None = None
    cover: Pick | None = None
    update_strategy: UpdateStrategy | None = None
    """The update strategy of every series of the site."""


class ChaptersStep(DefinitionStep, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The chapters of one series. `next` is the address of the next page, or with {page} whether there is one."""

    url: Address = "{url}"
    each: Expression
    link: Pick
    title: Pick
    key: Pick | None = None
    number: Pick | None = None
    volume: Pick | None = None
    date: DatePick | None = None
    group: Pick | None = None
    language: Pick | None = None
    next: Pick | None = None
    order: Literal["newest_first", "oldest_first"] = "newest_first"


class PagesStep(DefinitionStep, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The images of one chapter; `next` as in chapters."""

    url: Address = "{url}"
    each: Expression
    image: Pick
    next: Pick | None = None


class FixedSeries(DefinitionPart, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A series that is written down here, for a site that is one work or has no list."""

    title: Short
    url: Address
    cover: Address | None = None
    author: Short | None = None
    artist: Short | None = None
    description: Annotated[str, Meta(max_length=4000)] | None = None
    genres: tuple[Short, ...] = ()
    status: StatusWord = "unknown"
    update_strategy: UpdateStrategy | None = None


class Definition(DefinitionPart, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A whole source."""

    id: Annotated[str, Meta(pattern=r"^[a-z][a-z0-9-]*(\.[a-z0-9][a-z0-9_-]*)+\Z", max_length=200)]
    name: Annotated[str, Meta(min_length=1, max_length=128)]
    language: Annotated[str, Meta(pattern=r"^(all|[a-z]{2,3}(-[a-z0-9]{2,8})?)\Z")]
    base_url: Address
    hosts: Annotated[tuple[Short, ...], Meta(max_length=20)] = ()
    """Other hosts that its pages may be on. Images may be anywhere."""
    version_id: Annotated[int, Meta(ge=1, le=10_000)] = 1
    nsfw: bool = False
    ratelimit: Annotated[float, Meta(gt=0, le=10)] = 1.0
    headers: Annotated[dict[str, str], Meta(max_length=20)] = {}
    image_urls_expire: bool = False
    series: Annotated[tuple[FixedSeries, ...], Meta(max_length=500)] = ()
    popular: SeriesStep | None = None
    latest: SeriesStep | None = None
    search: SeriesStep | None = None
    details: DetailsStep | None = None
    chapters: ChaptersStep
    pages: PagesStep | None = None
