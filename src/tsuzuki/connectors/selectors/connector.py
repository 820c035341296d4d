"""The connector of a source that a definition file describes."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Annotated

from msgspec import Meta

from tsuzuki.connectors.config import SourceConfig
from tsuzuki.connectors.filters import Filter, FilterValue, Select, TextFilter, with_values
from tsuzuki.connectors.html.addresses import http_url, path_of
from tsuzuki.connectors.protocol import Abilities, Connector, ConnectorInfo, SeriesAt, Visit
from tsuzuki.connectors.selectors import values
from tsuzuki.connectors.selectors.definition import (
    STATUS_CODES,
    Definition,
    DefinitionStep,
    FixedSeries,
    Pick,
    SeriesStep,
)
from tsuzuki.connectors.selectors.extraction import MAX_BYTES, Extract, ExtractionPlan, extract_html, extract_json
from tsuzuki.connectors.selectors.reader import MAX_CHARACTERS, BadDefinition, load_definition
from tsuzuki.connectors.selectors.values import (
    StepAnswer,
    address_to_call,
    hosts_of,
    own_address,
    read_chapters,
    read_series,
    series_values,
    with_query,
)
from tsuzuki.model.errors import Problem, ShapeChanged
from tsuzuki.model.harvest import FoundChapter, FoundPage, FoundSeries, SeriesDetails, SeriesPage
from tsuzuki.model.requests import Ask, Parse, Reply
from tsuzuki.model.secrets import is_secret

ANY = "Any"
IMAGE_CAP = 32 * 1024 * 1024


class SelectorsSource(Connector):
    """Asks what the definition says and reads it as the definition says."""

    def __init__(self, definition: Definition) -> None:
        self.definition = definition
        self.info = _info(definition)

    def for_source(self, config: SourceConfig, base_url: str = "") -> Connector:
        """Itself: the definition says where it is."""
        return self

    def series_at(self, config: SourceConfig, url: str) -> SeriesAt | None:
        """Any address on a host of this source; its details show whether it is a series."""
        own = self._own(url)
        return None if own is None else SeriesAt(path_of(own), own)

    def filters(self, config: SourceConfig) -> tuple[Filter, ...]:
        """Those of the definition's search."""
        search = self.definition.search
        return tuple(
            Select(choice.name, (ANY, *choice.options)) if choice.options else TextFilter(choice.name)
            for choice in (search.filters if search else ())
        )

    def popular(self, config: SourceConfig, page: int) -> Visit[SeriesPage]:
        """The definition's list; without one, its fixed series."""
        if self.definition.popular is None and self.definition.series:
            return _on_one_page(self._fixed() if page == 1 else ())
        step = self.definition.popular
        return super().popular(config, page) if step is None else self._list(step, page)

    def latest(self, config: SourceConfig, page: int) -> Visit[SeriesPage]:
        """The definition's list."""
        step = self.definition.latest
        return super().latest(config, page) if step is None else self._list(step, page)

    def search(
        self, config: SourceConfig, page: int, *, text: str, filters: tuple[FilterValue, ...] = ()
    ) -> Visit[SeriesPage]:
        """The definition's search; without one, the fixed series whose title has the text in it."""
        chosen = with_values(self.filters(config), filters)
        if self.definition.search is None and self.definition.series:
            wanted = text.casefold().strip()
            fitting = tuple(series for series in self._fixed() if wanted in series.title.casefold())
            return _on_one_page(fitting if page == 1 else ())
        step = self.definition.search
        return (
            super().search(config, page, text=text)
            if step is None
            else self._list(step, page, text=text, chosen=chosen)
        )

    def _list(
        self, step: SeriesStep, page: int, *, text: str | None = None, chosen: tuple[Filter, ...] = ()
    ) -> Visit[SeriesPage]:
        variables = {
            "page": str(page - 1 + step.first_page),
            "offset": str((page - 1) * step.page_size),
            "query": text or "",
            "language": self.definition.language,
        }
        address = address_to_call(self.definition, step.url, variables)
        answer = yield from self._ask(step, with_query(address, _parameters(step, chosen)))
        series: tuple[FoundSeries, ...] = yield Parse(read_series, (self.definition, step, answer))
        if not series and page == 1 and text is None:
            raise ShapeChanged(
                f"{answer.url}: nothing was found by each: {step.each!r} with a title and a link to "
                f"{hosts_of(self.definition)}."
            )
        return SeriesPage(series, bool(series) and values.is_there(answer.found.whole, "next", step.next))

    def details(self, config: SourceConfig, series_url: str) -> Visit[SeriesDetails]:
        """By the definition; without `details`, what its fixed series say."""
        step = self.definition.details
        fixed = next((one for one in self.definition.series if self._own(one.url) == self._own(series_url)), None)
        if step is None:
            yield from ()
            if fixed is None:
                self._decline("show a series")
            return _fixed_details(fixed, self.definition)
        answer = yield from self._ask(step, self._address_of(step, series_url))
        row = next(iter(answer.found.rows), {})
        title = values.text_of(row, "title", step.title)
        if title is None:
            raise ShapeChanged(f"{answer.url}: no title was found by {', '.join(step.title.pick)!r}.")
        return SeriesDetails(
            title=title,
            alt_titles=tuple(other for other in values.many(row, "alt_titles", step.alt_titles) if other != title),
            author=", ".join(values.many(row, "author", step.author)) or None,
            artist=", ".join(values.many(row, "artist", step.artist)) or None,
            description="\n\n".join(values.many(row, "description", step.description)) or None,
            genres=values.many(row, "genres", step.genres),
            status=values.status(row, "status", step.status),
            cover_url=http_url(values.text_of(row, "cover", step.cover), answer.url),
            language=None if self.definition.language == "all" else self.definition.language,
            is_nsfw=self.definition.nsfw,
            real_url=self._own(series_url),
            update_strategy=step.update_strategy,
        )

    def chapters(self, config: SourceConfig, series_url: str) -> Visit[tuple[FoundChapter, ...]]:
        """All pages of the list; `ShapeChanged` when it goes on after `maxpages`, rather than a part of it."""
        step = self.definition.chapters
        answers = yield from self._follow(step, series_url, step.next, limit=config.maxpages)
        found: tuple[FoundChapter, ...] = yield Parse(read_chapters, (self.definition, answers))
        return found

    def pages(self, config: SourceConfig, chapter_url: str) -> Visit[tuple[FoundPage, ...]]:
        """The images in their order, each once."""
        step = self.definition.pages
        if step is None:
            self._decline("list pages")
        answers = yield from self._follow(step, chapter_url, step.next, limit=config.maxpages)
        images = [
            image
            for answer in answers
            for row in answer.found.rows
            if (image := http_url(values.text_of(row, "image", step.image), answer.url))
        ]
        if not images:
            raise ShapeChanged(f"{answers[0].url}: no image was found by {step.each!r}.")
        return tuple(FoundPage(index, chapter_url, image) for index, image in enumerate(dict.fromkeys(images)))

    def image(self, config: SourceConfig, image_url: str) -> Ask:
        """With the definition's own headers, such as the Referer that image hosts ask for, but no others."""
        return Ask(image_url, headers=self.definition.headers, max_bytes=IMAGE_CAP)

    def _address_of(self, step: DefinitionStep, url: str, page: int = 1) -> str:
        variables = series_values(self.definition, url) | {"page": str(page)}
        return address_to_call(self.definition, step.url, variables)

    def _follow(self, step: DefinitionStep, url: str, onward: Pick | None, *, limit: int) -> Visit[list[StepAnswer]]:
        """This page and those that `next` leads to, each once; by number where the address has one."""
        answers = [(yield from self._ask(step, self._address_of(step, url)))]
        seen = {answers[0].url}
        while (address := self._next(step, url, onward, answers=answers)) and address not in seen:
            if len(answers) >= limit:
                raise ShapeChanged(f"{url[:200]}: the list has more than {limit} pages; `maxpages` allows no more.")
            seen.add(address)
            answers.append((yield from self._ask(step, address)))
        return answers

    def _next(self, step: DefinitionStep, url: str, onward: Pick | None, *, answers: list[StepAnswer]) -> str | None:
        last = answers[-1]
        if "{page}" in step.url:
            goes_on = bool(last.found.rows) and values.is_there(last.found.whole, "next", onward)
            return self._address_of(step, url, len(answers) + 1) if goes_on else None
        text = values.text_of(last.found.whole, "next", onward)
        return own_address(self.definition, text, last.url) if text else None

    def _ask(self, step: DefinitionStep, address: str) -> Visit[StepAnswer]:
        reply: Reply = yield Ask(address, headers=self.definition.headers, max_bytes=MAX_BYTES)
        plan = _plan(step)
        if step.reads == "json":
            found: Extract = yield Parse(extract_json, (reply.body, plan))
        else:
            found = yield Parse(extract_html, (reply.body, reply.charset, plan))
        return StepAnswer(found, reply.url, reply.received_at)

    def _fixed(self) -> tuple[FoundSeries, ...]:
        found = []
        for series in self.definition.series:
            url = self._own(series.url) or series.url
            cover = http_url(series.cover, self.definition.base_url)
            found.append(FoundSeries(key=path_of(url), url=url, title=series.title, cover_url=cover))
        return tuple(found)

    def _own(self, url: str) -> str | None:
        return own_address(self.definition, url)


def _info(definition: Definition) -> ConnectorInfo:
    has_fixed = bool(definition.series)
    return ConnectorInfo(
        id=definition.id,
        name=definition.name,
        languages=(definition.language,),
        base_url=definition.base_url,
        version_id=definition.version_id,
        is_nsfw=definition.nsfw,
        ratelimit=definition.ratelimit,
        image_urls_expire=definition.image_urls_expire,
        abilities=Abilities(
            popular=definition.popular is not None or has_fixed,
            latest=definition.latest is not None,
            search=definition.search is not None or has_fixed,
            details=definition.details is not None or has_fixed,
            chapters=True,
            pages=definition.pages is not None,
        ),
    )


def _plan(step: DefinitionStep) -> ExtractionPlan:
    """Every pick of the step; `next` looks at the whole answer, all others at one row."""
    picks: Mapping[str, tuple[str, ...]] = {
        name: pick.pick for name in step.__struct_fields__ if isinstance(pick := getattr(step, name), Pick)
    }
    row = {name: expressions for name, expressions in picks.items() if name != "next"}
    whole = {"next": picks["next"]} if "next" in picks else {}
    return ExtractionPlan(getattr(step, "each", None), row, whole)


def _parameters(step: SeriesStep, chosen: tuple[Filter, ...]) -> list[tuple[str, str]]:
    parameters = []
    for declared, entry in zip(step.filters, chosen, strict=True) if chosen else ():
        if isinstance(entry, Select) and entry.state:
            parameters.append((declared.param, list(declared.options.values())[entry.state - 1]))
        if isinstance(entry, TextFilter) and entry.state:
            parameters.append((declared.param, entry.state))
    return parameters


def _on_one_page(series: tuple[FoundSeries, ...]) -> Visit[SeriesPage]:
    yield from ()
    return SeriesPage(series)


def _fixed_details(series: FixedSeries, definition: Definition) -> SeriesDetails:
    return SeriesDetails(
        title=series.title,
        author=series.author,
        artist=series.artist,
        description=series.description,
        genres=series.genres,
        status=STATUS_CODES[series.status],
        cover_url=http_url(series.cover, definition.base_url),
        language=None if definition.language == "all" else definition.language,
        is_nsfw=definition.nsfw,
        real_url=own_address(definition, series.url),
        update_strategy=series.update_strategy,
    )


WRITTEN = "tsuzuki.definition"
DOCUMENT = "application/yaml"
_NAME = "definition"

Text = Annotated[str, Meta(max_length=MAX_CHARACTERS, extra_json_schema={"contentMediaType": DOCUMENT})]


class WrittenConfig(SourceConfig, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What every source knows, and the text of the definition. Every process knows it without a restart."""

    definition: Text

    def problems(self) -> Iterator[Problem]:
        """Every mistake of the definition by its line and column."""
        yield from super().problems()
        try:
            source = _source_of(self.definition)
        except BadDefinition as error:
            for found in error.problems:
                line, _, column = found.field.removeprefix(f"{_NAME}:").partition(":")
                yield Problem(_NAME, f"Line {line}, column {column}: {found.message}")
            return
        for name in filter(is_secret, source.definition.headers):
            yield Problem(_NAME, f"Put {name} into the headers of the source's config, where it is hidden.")


class WrittenSource(Connector):
    """Stands for whatever its config describes; alone it can do nothing."""

    info = ConnectorInfo(
        id=WRITTEN,
        name="A definition of your own",
        languages=("all",),
        base_url="",
        config=WrittenConfig,
        abilities=Abilities(),
    )

    def for_source(self, config: WrittenConfig, base_url: str = "") -> Connector:
        """The source that the definition describes."""
        return _source_of(config.definition)


@lru_cache(maxsize=128)
def _source_of(text: str) -> SelectorsSource:
    """Reading a definition takes milliseconds, and every call of its source needs it."""
    return SelectorsSource(load_definition(text, _NAME))
