"""A sample site: series by the hundred, chapters by the thousand, in several groups, languages and ways to count.

Everything follows from the numbers of its `Plan`, so two runs see the same site. It counts what it is asked for, may be
down or slow, moves to other addresses when told to, and knows conditional requests.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec

from tests.net.builders import Served, a_server, answer

DEFINITION = """
id: localhost.{name}
name: {title}
language: all
base_url: {url}
ratelimit: 10
image_urls_expire: {expires}
"""
LIST = """
{kind}:
  url: {path}
  reads: json
  each: series[*]
  link: url
  title: title
  key: id
  cover: cover
  next: more
{more}
"""
FILTERS = """
  filters:
    - {name: Status, param: status, options: {Ongoing: ongoing, Ended: completed}}
    - {name: Author, param: author}
"""
REST = """
details:
  reads: json
  title: title
  author: author
  artist: artist
  description: about
  genres: genres[*]
  status: status
  cover: cover

chapters:
  url: "{url}/chapters.json?page={page}"
  reads: json
  each: chapters[*]
  link: url
  title: title
  key: id
  number: number
  volume: volume
  date: {pick: date, format: unix}
  group: group
  language: language
  next: more

pages:
  url: "{url}/pages.json"
  reads: json
  each: pages[*]
  image: $
"""
PER_LIST = 30
PER_CHAPTER_LIST = 200
DAY = 86_400
EPOCH = 1_700_000_000
GROUPS = ("Alpha Scans", "Beta", "Gamma & Friends")
LANGUAGES = ("en", "es-la", "ja")


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """How much there is, and how it is counted."""

    series: int = 300
    chapters: int = 20_000
    is_other: bool = False
    """Another site with the same works, its own ids and another way to write numbers."""


class SampleChapter(msgspec.Struct, frozen=True):
    """A release as the site lists it; `number` is None for an extra."""

    id: str
    number: Decimal | None
    written: str | None
    title: str
    group: str
    language: str
    at: int


class Sample(Served):
    """The site. Change its attributes at any time."""

    def __init__(self, plan: Plan, name: str = "sample", *, expires: bool = False) -> None:
        self.plan = plan
        self.name = name
        self.expires = expires
        self.era = 1
        """Another number moves every address."""
        self.is_down = False
        self.is_sparse = False
        """Lists without covers and with their titles cut short."""
        self.pages = 3
        self.extra: dict[int, list[SampleChapter]] = {}
        """Chapters that came later, by series."""
        self.gate: asyncio.Event | None = None
        """Answers wait for it."""
        self.not_modified = 0

    # -- what there is

    def counts(self) -> list[int]:
        """How many chapters each series has: a few long ones, many short ones, at least one."""
        weights = [1 + (index * 7919) % 97 for index in range(self.plan.series)]
        whole = sum(weights)
        counts = [max(1, self.plan.chapters * weight // whole) for weight in weights]
        counts[0] += max(0, self.plan.chapters - sum(counts))
        return counts

    def title(self, index: int) -> str:
        return f"The Tale of {index:03d}"

    def author(self, index: int) -> str:
        return f"Author {index % 50}"

    def chapters(self, index: int) -> list[SampleChapter]:
        """Oldest first."""
        return [*self._planned(index), *self.extra.get(index, [])]

    def _planned(self, index: int) -> Iterator[SampleChapter]:
        for place in range(self.counts()[index]):
            number = _number(place)
            yield SampleChapter(
                id=f"{'x' if self.plan.is_other else 'c'}{index}-{place}",
                number=number,
                written=None if number is None else _written(number, place, is_other=self.plan.is_other),
                title=f"Extra {place}" if number is None else f"Part {place}",
                group=GROUPS[place % len(GROUPS)],
                language=LANGUAGES[place // 5 % len(LANGUAGES)],
                at=EPOCH + place * DAY,
            )

    def release(self, index: int, number: str) -> None:
        """One chapter more, the newest."""
        place = len(self.chapters(index))
        new = SampleChapter(
            f"new{index}-{number}", Decimal(number), number, f"Chapter {number}", "Beta", "en", EPOCH + place * DAY
        )
        self.extra.setdefault(index, []).append(new)

    # -- being asked

    @property
    def definition(self) -> str:
        """How Tsuzuki reads this site."""
        head = DEFINITION.format(
            name=self.name, title=self.name.title(), url=self.url, expires=str(self.expires).lower()
        )
        popular = LIST.format(kind="popular", path="/list.json?page={page}", more="")
        latest = LIST.format(kind="latest", path="/latest.json?page={page}", more="")
        search = LIST.format(kind="search", path='"/search.json?q={query}&page={page}"', more=FILTERS)
        return head + popular + ("" if self.plan.is_other else latest) + search + REST

    async def handle(self, head: bytes, writer: asyncio.StreamWriter) -> None:
        if self.gate is not None:
            await self.gate.wait()
        if self.is_down:
            writer.write(answer(500, b"down"))
            return
        found = self._found(head.split(b" ", 2)[1].decode())
        if found is None:
            writer.write(answer(404, b"{}", content_type="application/json"))
            return
        body = msgspec.json.encode(found)
        etag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
        if f"if-none-match: {etag}".encode() in head.lower().replace(b"\r\n", b"\n"):
            self.not_modified += 1
            writer.write(answer(304, b"", etag=etag))
            return
        writer.write(answer(200, body, content_type="application/json", etag=etag))

    def _found(self, target: str) -> Any:
        parts = urlsplit(target)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        page = int(query.get("page", "1"))
        if parts.path in ("/list.json", "/latest.json", "/search.json"):
            return self._list(self._fitting(parts.path, query), page)
        _, era, _, series, *rest = parts.path.split("/")
        index = int(series)
        if era != f"era{self.era}" or not 0 <= index < self.plan.series:
            return None
        if not rest:
            return self._details(index)
        if rest == ["chapters.json"]:
            return self._chapters(index, page)
        return {"pages": [f"{self._base(index)}/{rest[0]}/{number}.png" for number in range(self.pages)]}

    def _fitting(self, path: str, query: dict[str, str]) -> list[int]:
        every = list(range(self.plan.series))
        if path == "/latest.json":
            return every[::-1]
        if "status" in query:
            every = [index for index in every if self._details(index)["status"] == query["status"]]
        if "author" in query:
            every = [index for index in every if self.author(index) == query["author"]]
        return [index for index in every if query.get("q", "").lower() in self.title(index).lower()]

    def _list(self, indexes: list[int], page: int) -> Any:
        shown = indexes[(page - 1) * PER_LIST : page * PER_LIST]
        series = [
            {"id": self._key(index), "url": self._base(index), "title": self.title(index), "cover": self._cover(index)}
            for index in shown
        ]
        if self.is_sparse:
            series = [{"id": one["id"], "url": one["url"], "title": one["title"][:5]} for one in series]
        return {"series": series, "more": len(indexes) > page * PER_LIST}

    def _details(self, index: int) -> dict[str, Any]:
        return {
            "title": self.title(index),
            "author": self.author(index),
            "artist": "An artist",
            "about": f"About {index}.",
            "genres": ["Drama", "Travel"],
            "status": "ongoing" if index % 3 else "completed",
            "cover": self._cover(index),
        }

    def _chapters(self, index: int, page: int) -> Any:
        newest_first = self.chapters(index)[::-1]
        shown = newest_first[(page - 1) * PER_CHAPTER_LIST : page * PER_CHAPTER_LIST]
        rows = [
            {
                "id": chapter.id,
                "url": f"{self._base(index)}/{chapter.id}",
                "title": chapter.title,
                "number": chapter.written,
                "group": chapter.group,
                "language": chapter.language,
                "date": chapter.at,
            }
            for chapter in shown
        ]
        return {"chapters": rows, "more": len(newest_first) > page * PER_CHAPTER_LIST}

    def _key(self, index: int) -> str:
        return f"{'other' if self.plan.is_other else 'tale'}-{index}"

    def _base(self, index: int) -> str:
        return f"{self.url}/era{self.era}/s/{index}"

    def _cover(self, index: int) -> str:
        return f"{self._base(index)}/cover.png"


def _number(place: int) -> Decimal | None:
    """Extras, halves, tenths, and numbers that two groups released."""
    if place % 41 == 40:
        return None
    if place % 13 == 12:
        return Decimal(place) - Decimal("0.5")
    if place % 29 == 28:
        return Decimal(place) + Decimal("0.1")
    return Decimal(place - place % 7 // 6)


def _written(number: Decimal, place: int, *, is_other: bool) -> str:
    """The same number in the ways that sites write it (R2)."""
    plain = f"{number:f}"
    ways = [plain, f"{plain}0" if "." in plain else f"{plain}.0", plain.zfill(5), plain.translate(_FULL_WIDTH)]
    return ways[(place + (1 if is_other else 0)) % len(ways)]


_FULL_WIDTH = {ord(str(digit)): chr(0xFF10 + digit) for digit in range(10)}


@asynccontextmanager
async def a_sample(plan: Plan, name: str = "sample", *, expires: bool = False) -> AsyncIterator[Sample]:
    """The site on a free port."""
    sample = Sample(plan, name, expires=expires)
    async with a_server(sample.handle) as server:
        sample.server = server
        yield sample
