"""What an app says to a server, read from a file, said to ours, and every answer held against what the app needs.

A transcript is TOML: who speaks, and steps in their order. `{name}` stands for what is known: `{user}`, `{password}`,
`{fever_key}`, `{basic}`, `{server}`, `{site}` (a publisher whose feeds nobody follows yet), `{now}` and `{long_ago}`
(Unix seconds), and what an earlier step took out of its answer. `{name|form}` writes it as apps do, see `FORMS`.

A path leads into JSON: `items.0.id`, `items.*.id` (of each; there must be one), `items.#` (how many there are),
`items.(title=A letter).id` and `categories.(=user/-/label/Craft)` (the one which). What is expected there is a value, a
regular expression after `~`, or a kind, see `KINDS`.
"""

import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

import msgspec

from tests.api.people import RunningApp
from tests.app import Answer
from tests.images.builders import a_picture
from tests.net.builders import Handler, answer
from tests.polling.builders import a_feed
from tests.protocols.people import AppReader, an_app_reader
from tsuzuki.db.queries import parse_queries
from tsuzuki.inbox.sync import SyncFilter
from tsuzuki.model.ids import FeedId
from tsuzuki.model.times import DAY, SECOND

FOLDER = Path(__file__).parent

_EMPTY = (202, 204)
"""Answers that say nothing."""

q = parse_queries(
    "tests",
    """
-- name: dress
update feed set site_url = :site_url, icon_url = case when id = :id then cast(:icon_url as text) end;
-- name: link_articles
update item set link = :site_url || 'article/' || cast(id as text) where feed_id = :id;
-- name: date_releases
update watch set last_release_at = (select max(item.created_at) from item where item.feed_id = watch.feed_id);
-- name: untitle_feed
update feed set title = '' where id = :id;
""",
)


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One request and its answer; or what happens beside the app."""

    does: str
    """What the app wants by it."""
    ask: str = ""
    """Method and path, after the transcript's base."""
    headers: dict[str, str] = {}
    """Beside the transcript's; an empty one is not sent."""
    form: str | None = None
    """A form, as it is sent."""
    parts: dict[str, str] | None = None
    """A form in parts; a name after `file:` is a file's."""
    json: Any = None
    body: str | None = None
    """Anything else, of the type that `headers` name."""

    status: int = 200
    type: str = ""
    """Of the answer; JSON's, or of plain text for a step with `text`, if it is not said."""
    text: str | None = None
    """A regular expression for the whole answer."""
    has: dict[str, Any] = {}
    lacks: list[str] = []
    keys: dict[str, list[str]] = {}
    """All names of an object, in their order."""
    head: dict[str, str] = {}
    """Regular expressions for headers of the answer."""
    take: dict[str, str] = {}
    """Names for what paths lead to, or what the one group of a regular expression finds in a text."""

    waits: int = 0
    """Seconds that pass before it."""
    arrives: str = ""
    """The feed that releases something before it."""


class Transcript(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What one app says by one protocol."""

    app: str
    protocol: Literal["fever", "greader", "miniflux"]
    base: str
    """Of every path, as the app makes it from the address that people type."""
    known_from: Literal["source", "notes"]
    """Where its calls were looked up: in its own source, or in notes that others made of it."""
    headers: dict[str, str] = {}
    """Of every request, as soon as what they name is known."""
    form: str = ""
    """Said before what a step says in a form."""
    parts: dict[str, str] = {}
    """The same, for forms in parts."""
    is_reference: bool = False
    """Whether it is replayed on each engine in every run."""
    step: list[Step]

    @property
    def name(self) -> str:
        """As tests call it."""
        return f"{self.protocol}-{self.app}"


def transcripts() -> list[Transcript]:
    """All that there are."""
    return [msgspec.toml.decode(path.read_bytes(), type=Transcript) for path in sorted(FOLDER.glob("*/*.toml"))]


# -- the shelf


async def a_prepared_shelf(app: RunningApp, site: str) -> AppReader:
    """A feed in no group of its own, one in a group, one in a group with a slash, one without a name, and a series.

    Eight entries: one is read, one saved.
    """
    reader = await an_app_reader(app)
    gull = await reader.add_feed("The Gull Letters", items=2)
    await reader.add_feed("Ink & Iron", items=2, group="Craft")
    await reader.add_series("The Lighthouse Cat", group="Comics")
    ports = await reader.add_feed("Ports & Ships", group="Tech/Go")
    await reader.release(ports, 1, title="", prefix="p")
    nameless = await reader.add_feed("")
    await app.db.with_tx(lambda tx: tx.run(q.untitle_feed, id=nameless))
    urls = {"site_url": f"{site}/", "icon_url": f"{site}/icon.png"}
    await app.db.with_tx(lambda tx: tx.run(q.dress, id=gull, **urls))
    await app.db.with_tx(lambda tx: tx.run(q.link_articles, id=gull, site_url=urls["site_url"]))
    await app.db.with_tx(lambda tx: tx.run(q.date_releases))
    await app.pictures.icons.work()
    refs = await app.sync.refs(reader.shelf, SyncFilter(), most=10)
    assert len(refs) == 8
    await app.sync.mark(reader.shelf, [refs[2].id], None, unread=False)
    await app.sync.mark(reader.shelf, [refs[3].id], None, saved=True)
    return reader


ARTICLE = b"<article>" + b"<p>Wind from the west, and more of it than yesterday.</p>" * 20 + b"</article>"


def publisher(head: bytes) -> bytes:
    """Pages with their feeds, icons and articles, for whoever asks, but nothing below `/none`."""
    path = head.split(b" ", 2)[1].decode()
    if path.startswith("/none") or path == "/feed":
        return answer(404, b"")
    if path.endswith("/icon.png"):
        return answer(200, a_picture("PNG", (40, 40), color="red"), content_type="image/png")
    if path.endswith("/feed"):
        return answer(200, a_feed("1", "2", title="Fog Signals"), content_type="application/rss+xml")
    if path.startswith("/article"):
        return answer(200, ARTICLE, content_type="text/html")
    return answer(200, b"<link rel=alternate type=application/rss+xml href=feed><p>Fog", content_type="text/html")


def publishing() -> Handler:
    async def handle(head: bytes, writer: Any) -> None:
        writer.write(publisher(head))

    return handle


# -- replaying


async def replay(transcript: Transcript, reader: AppReader, site: str) -> None:
    """Say all of it; AssertionError names the app, the step and each difference."""
    said = Replay(transcript, reader, site)
    for place, step in enumerate(transcript.step, 1):
        differences = await said.run(step)
        where = f"{transcript.app} ({transcript.protocol}), step {place}, {step.does}: {step.ask}"
        assert not differences, "\n  ".join([where, *differences])


class Replay:
    """A transcript that is being said, and what is known by now."""

    def __init__(self, transcript: Transcript, reader: AppReader, site: str) -> None:
        self._transcript = transcript
        self._reader = reader
        self._app = reader.app
        self._arrivals = 0
        pair = f"{reader.user.username}:{reader.key}"
        self._known: dict[str, Any] = {
            "user": reader.user.username,
            "password": reader.key,
            "fever_key": reader.fever_key,
            "basic": b64encode(pair.encode()).decode(),
            "server": self._app.client.base,
            "site": site,
            "long_ago": (self._app.time() - 90 * DAY) // SECOND,
        }

    async def run(self, step: Step) -> list[str]:
        """How the answer differs from what the app needs."""
        self._app.time.pass_(step.waits * SECOND)
        if step.arrives:
            self._arrivals += 1
            await self._reader.release(await self._feed(step.arrives), 1, prefix=f"late{self._arrivals}-")
            await self._app.db.with_tx(lambda tx: tx.run(q.date_releases))
        self._known["now"] = self._app.time() // SECOND
        if not step.ask:
            return []
        method, _, target = step.ask.partition(" ")
        path = re.sub(r"[^!-~]+", lambda found: quote(found[0]), self._transcript.base + self._filled(target))
        told = await self._app.client.ask(method, path, **self._sent(step))
        differences = list(self._differences(step, told))
        if not differences:
            self._take(step, told)
        return differences or []

    async def _feed(self, title: str) -> FeedId:
        feeds = await self._app.sync.feeds(self._reader.shelf, None)
        return FeedId(next(feed.of_id for feed in feeds if feed.title == title))

    def _sent(self, step: Step) -> dict[str, Any]:
        said = self._transcript
        wanted = said.headers | step.headers
        headers = {name: self._filled(text) for name, text in wanted.items() if text and self._is_known(text)}
        if step.json is not None:
            return {"headers": headers, "json": self._value(step.json)}
        if step.body is not None:
            body = self._filled(step.body)
        elif step.parts is not None or said.parts:
            headers["content-type"] = "multipart/form-data; boundary=x1y2"
            parts = said.parts | (step.parts or {})
            body = in_parts({name: self._filled(text) for name, text in parts.items()})
        elif step.form is not None or said.form:
            headers = {"content-type": "application/x-www-form-urlencoded"} | headers
            body = self._filled("&".join(part for part in (said.form, step.form) if part))
        else:
            return {"headers": headers, "skip_auto_headers": ["content-type"]}
        return {"headers": headers, "data": body.encode(), "skip_auto_headers": ["content-type"]}

    # -- what is expected

    def _differences(self, step: Step, told: Answer) -> Iterator[str]:
        if told.status != step.status:
            yield f"status: {step.status} expected, but it was {told.status}: {told.body[:300]!r}"
            return
        kind = step.type or ("text/plain" if step.text is not None else "application/json")
        said = told.headers.get("content-type", "")
        if step.status not in _EMPTY and said.partition(";")[0] != kind:
            yield f"content type: {kind} expected, but it was {said}"
        for name, pattern in step.head.items():
            if not re.fullmatch(self._filled(pattern), told.headers.get(name, "")):
                yield f"header {name}: {pattern} expected, but it was {told.headers.get(name)}"
        if step.text is not None and not re.fullmatch(self._filled(step.text, re.escape), told.text, re.DOTALL):
            yield f"text: {step.text} expected, but it was {told.text[:300]!r}"
        if step.has or step.lacks or step.keys:
            yield from self._in_json(step, told.json())

    def _in_json(self, step: Step, said: Any) -> Iterator[str]:
        for path, expected in step.has.items():
            yield from self._at(said, path, expected)
        for path in step.lacks:
            if found := [value for value in follow(said, self._filled(path)) if value is not MISSING]:
                yield f"{path}: must not be there, but it was {shown(found[0])}"
        for path, names in step.keys.items():
            for value in follow(said, path):
                if not isinstance(value, dict) or list(value) != names:
                    yield f"{path}: exactly {names} expected, but it was {shown(value)}"

    def _at(self, said: Any, path: str, expected: Any) -> Iterator[str]:
        found = list(follow(said, self._filled(path)))
        if isinstance(expected, list) and "*" in path:
            wanted = self._value(expected)
            if found != wanted:
                yield f"{path}: {shown(wanted)} expected, but it was {shown(found)}"
            return
        for value in found:
            if (problem := self._problem(value, expected)) is not None:
                yield f"{path}: {problem} expected, but it was {shown(value)}"

    def _problem(self, value: Any, expected: Any) -> str | None:
        """What was expected; None for what is so."""
        if isinstance(expected, str) and expected in KINDS:
            return None if KINDS[expected](value) else expected
        if isinstance(expected, str) and expected.startswith("~"):
            pattern = self._filled(expected[1:], re.escape)
            return (
                None if isinstance(value, str) and re.fullmatch(pattern, value, re.DOTALL) else f"a text like {pattern}"
            )
        wanted = self._value(expected)
        return None if type(value) is type(wanted) and value == wanted else shown(wanted)

    # -- what is known

    def _take(self, step: Step, told: Answer) -> None:
        for name, where in step.take.items():
            if step.text is not None:
                found = re.search(where, told.text)
                assert found is not None, f"{where} is not in {told.text}"
                self._known[name] = found[1]
            elif where == "Date":
                self._known[name] = told.headers["date"]
            else:
                values = list(follow(told.json(), self._filled(where)))
                assert MISSING not in values, f"there is nothing to take at {where}"
                self._known[name] = values if "*" in where else values[0]

    def _is_known(self, text: str) -> bool:
        return all(name in self._known for name, _ in _PLACE.findall(text))

    def _filled(self, text: str, escape: Callable[[str], str] = str) -> str:
        def put(found: re.Match[str]) -> str:
            value = self._known[found[1]]
            return escape(FORMS[found[2] or "text"](value))

        return _PLACE.sub(put, text)

    def _value(self, value: Any) -> Any:
        """The same with what is known in it; a text that is nothing but a name keeps the value's type."""
        if isinstance(value, list):
            return [self._value(one) for one in value]
        if isinstance(value, dict):
            return {name: self._value(one) for name, one in value.items()}
        if not isinstance(value, str):
            return value
        alone = _PLACE.fullmatch(value)
        return self._known[alone[1]] if alone and not alone[2] else self._filled(value)


_PLACE = re.compile(r"\{([a-z_]+)(?:\|(\w+))?\}")


def _texts(value: Any) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list) else [str(value)]


def _number(text: str) -> int:
    """Of an item, a feed, or anything that ends with its number."""
    return int(text.rpartition("/")[2])


FORMS: Mapping[str, Callable[[Any], str]] = {
    "text": lambda value: ",".join(_texts(value)),
    "quoted": lambda value: quote(str(value), safe=""),
    "number": lambda value: str(_number(str(value))),
    "hex": lambda value: f"{_number(str(value)):016x}",
    "decimal": lambda value: str(int(str(value).rpartition("/")[2], 16)),
    "i": lambda value: "&".join(f"i={one}" for one in _texts(value)),
    "i_long": lambda value: "&".join(f"i=tag:google.com,2005:reader/item/{_number(one):016x}" for one in _texts(value)),
    "after": lambda value: str(int(value) + 1),
    "before": lambda value: str(int(value) - 1),
}
"""How apps write what they know: as it is, escaped, as a number, hexadecimal, or as parameters of a form."""

KINDS: Mapping[str, Callable[[Any], bool]] = {
    "<text>": lambda value: isinstance(value, str),
    "<some text>": lambda value: isinstance(value, str) and value.strip() != "",
    "<number>": lambda value: type(value) is int,
    "<id>": lambda value: type(value) is int and 0 < value < 2**31,
    "<digits>": lambda value: isinstance(value, str) and value.isdigit() and value.isascii(),
    "<flag>": lambda value: type(value) is int and value in (0, 1),
    "<bool>": lambda value: isinstance(value, bool),
    "<list>": lambda value: isinstance(value, list),
    "<some>": lambda value: isinstance(value, list) and value != [],
    "<object>": lambda value: isinstance(value, dict),
    "<time>": lambda value: isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", value) is not None,
    "<address>": lambda value: isinstance(value, str) and re.fullmatch(r"https?://\S+", value) is not None,
    "<there>": lambda value: value is not MISSING,
    "<null>": lambda value: value is None,
}


def in_parts(fields: Mapping[str, str]) -> str:
    """A form in parts, as apps write it."""
    written = ""
    for said, value in fields.items():
        name = said.removeprefix("file:")
        file = f'; filename="{name}.opml"\r\nContent-Type: text/xml' if said != name else ""
        written += f'--x1y2\r\nContent-Disposition: form-data; name="{name}"{file}\r\n\r\n{value}\r\n'
    return written + "--x1y2--\r\n"


class _Missing:
    def __repr__(self) -> str:
        return "nothing"


MISSING: Any = _Missing()
_STEPS = re.compile(r"\([^()]*\)|[^.()]+")


def follow(said: Any, path: str) -> Iterator[Any]:
    """What a path leads to; MISSING where it leads nowhere."""
    found = [said]
    for part in _STEPS.findall(path):
        found = [one for value in found for one in _next(value, part)]
    yield from found


def _next(value: Any, part: str) -> list[Any]:
    if part == "*":
        return (list(value.values()) if isinstance(value, dict) else value) or [MISSING] if _holds(value) else [MISSING]
    if part == "#":
        return [len(value) if _holds(value) else MISSING]
    if part.startswith("("):
        name, _, wanted = part[1:-1].partition("=")
        return next(([one] for one in value if str(one.get(name) if name else one) == wanted), [MISSING])
    if isinstance(value, list) and part.isdigit():
        return [value[int(part)]] if int(part) < len(value) else [MISSING]
    return [value.get(part, MISSING) if isinstance(value, dict) else MISSING]


def _holds(value: Any) -> bool:
    return isinstance(value, list | dict)


def shown(value: Any) -> str:
    """Short enough to read."""
    text = repr(value)
    return text if len(text) <= 300 else f"{text[:300]}…"
