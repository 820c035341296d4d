"""Renders templates. Everything is escaped, and a misspelt name in a template is an error."""

import re
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from functools import cache, lru_cache
from importlib.resources import files
from operator import attrgetter
from typing import Any

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from jinja2.runtime import Context
from markupsafe import Markup
from starlette.responses import HTMLResponse

from tsuzuki.http.assets import PREFIX, Asset, Assets
from tsuzuki.model.ids import show_id
from tsuzuki.model.plans import money
from tsuzuki.model.times import Millis, iso
from tsuzuki.web.forms import FormState
from tsuzuki.web.labels import find_label, label_of
from tsuzuki.web.links import chapter_path, cover_path, item_path, outside, series_path, tile_of
from tsuzuki.web.navigation import BAR, MANAGING, READING, RUNNING, NavigationPlace
from tsuzuki.web.scripts import script_of_texts
from tsuzuki.web.texts import Language, chapter_name, gettext, language, ngettext, pgettext, sized, took

_INDENTATION = re.compile(r"([%#]\}\n)?^[ \t]+(\{[%#])?", re.MULTILINE)
_TEXTS = re.compile(r"texts\.[0-9a-f]+\.js")
_CONSTANT = re.compile(r"""\{\{ (asset|icon)\((?:'|")([\w./-]+)(?:'|")\) \}\}""")
_OURS = "no-cache"
_NOBODY_ELSES = "no-store"
_ICON = Markup('<svg class=icon {}><use href="{}#{}"/></svg>')


_CARD = ("series_public_id", "title", "cover_id", "has_gaps", "unread")
_BEGUN = ("series_public_id", "title", "cover_id", "chapter_id", "number", "volume", "chapter_title", "page")
_PLACES = {"reading": READING, "managing": MANAGING, "running": RUNNING, "bar": BAR}


class PlaceLink(msgspec.Struct, frozen=True):
    """A place as every page shows it: all but whether one is there and what is unread."""

    name: str
    path: str
    keys: Markup
    label: Markup
    counts: str | None


class PlainContext(Context):
    """Calls functions and macros of templates without asking first, as Jinja does, whether each takes the context.

    None does (tests/web/test_rules.py).
    """

    def call(self, called: Callable[..., Any], /, *args: Any, **named: Any) -> Any:
        """Call it without Jinja's checks for functions that want the context."""
        named.pop("_block_vars", None)
        named.pop("_loop_vars", None)
        return called(*args, **named)


class Templates(Environment):
    """Templates with one set of globals. Jinja would give each a chain of two maps, which every render takes apart."""

    context_class = PlainContext

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._loaded: dict[str | Template, Template] = {}

    def get_template(
        self,
        name: str | Template,
        parent: str | None = None,
        globals: MutableMapping[str, Any] | None = None,  # noqa: A002  its name in Jinja
    ) -> Template:
        """The template; once loaded it is found by its name alone, since files do not change."""
        found = self._loaded.get(name)
        if found is None:
            found = self._loaded[name] = super().get_template(name, parent, globals)
        return found

    def make_globals(self, d: MutableMapping[str, Any] | None) -> MutableMapping[str, Any]:
        """The shared globals: no template has its own."""
        assert not d
        return self.globals

    def preprocess(self, source: str, name: str | None = None, filename: str | None = None) -> str:
        """The template as it is compiled: without indentation, which is for who reads it, and with its files and icons.

        Those are asked for where a template names them by a word, dozens of times in a page, and are always the same.
        """
        source = _unindented(super().preprocess(source, name, filename))
        known: Mapping[str, Any] = self.globals
        return _CONSTANT.sub(lambda found: str(known[found[1]](found[2])), source)


def _unindented(source: str) -> str:
    """Without indentation; behind a tag, where Jinja drops the line break, it is the space that sets a line apart."""
    return _INDENTATION.sub(lambda at: f"{at[1] or ''}{' ' if at[1] and not at[2] else ''}{at[2] or ''}", source)


class Pages:
    """Renders the templates of this package; `version` is in every page's foot."""

    def __init__(self, version: str) -> None:
        self.assets, self._templates, self._texts = _package(version)

    def render(
        self, template: str, *, status: int = 200, headers: dict[str, str] | None = None, **values: Any
    ) -> HTMLResponse:
        """The page, as an answer."""
        text = self._templates.get_template(template).render(values)
        return HTMLResponse(text, status, {"cache-control": _OURS, **(headers or {})})

    def part(self, template: str, **values: Any) -> Markup:
        """A part of a page by itself; put into another it passes as one piece, not as thousands."""
        return Markup(self._templates.get_template(template).render(values))  # noqa: S704  a template escapes

    def texts(self, name: str) -> Asset | None:
        """What scripts say in the language of the request, of whichever version a file of this name is."""
        return self._texts(language()) if _TEXTS.fullmatch(name) else None

    def private(self, template: str, form_state: FormState, **values: Any) -> HTMLResponse:
        """A page with a form, or with what is one person's own: no cache keeps it, not even the browser's."""
        headers = {**form_state.headers, "cache-control": _NOBODY_ELSES}
        return self.render(template, status=form_state.status, headers=headers, form_state=form_state, **values)


@cache
def _package(version: str) -> tuple[Assets, Environment, Callable[[Language], Asset]]:
    """Files, templates and what scripts say, which are constants: a template is compiled once in a process."""
    assets = Assets(files("tsuzuki.web") / "static")
    icon = _drawing(assets.url("icons.svg"))
    templates = Templates(
        extensions=["jinja2.ext.i18n"],
        loader=PackageLoader("tsuzuki.web", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        auto_reload=False,
    )
    dialogs = _prepared(templates, "app_parts.html", "dialogs")

    @cache
    def texts(spoken: Language) -> Asset:
        return script_of_texts(spoken, dialogs(spoken))

    templates.filters["outside"] = outside
    templates.globals.update(
        version=version,
        asset=assets.url,
        icon=icon,
        _=gettext,
        gettext=gettext,
        ngettext=ngettext,
        pgettext=pgettext,
        label_of=label_of,
        find_label=find_label,
        chapter_name=chapter_name,
        sized=sized,
        took=took,
        language=language,
        moment=moment,
        iso=iso,
        money=money,
        show_id=show_id,
        places=_linking(icon),
        scripts=[assets.url(name) for name in assets.names("js/") if name != "js/app.js"],
        texts_url=lambda spoken: PREFIX + texts(spoken).hashed_name,
        item_path=item_path,
        chapter_path=chapter_path,
        series_path=series_path,
        cover_path=cover_path,
        tile_of=tile_of,
        app_head=_prepared(templates, "app_parts.html", "head"),
        app_side=_prepared(templates, "app_parts.html", "side", most=256),
        app_bar=_prepared(templates, "app_parts.html", "bar"),
        entry_rows=_for_each(_prepared(templates, "inbox_row.html", "entry"), lambda row: (row,)),
        feed_item=_prepared(templates, "feed_parts.html", "item"),
        feed_group_head=_prepared(templates, "feed_parts.html", "group_head"),
        series_cards=_for_each(_prepared(templates, "library_parts.html", "card"), attrgetter(*_CARD)),
        begun_items=_for_each(_prepared(templates, "library_parts.html", "begun_item"), attrgetter(*_BEGUN)),
    )
    return assets, templates, texts


def _prepared(templates: Environment, template: str, macro: str, *, most: int = 2048) -> Callable[..., Markup]:
    """A macro whose last answers are kept by language and values: most of a list is what it was a moment ago."""

    @lru_cache(most)
    def prepared(_: Language, *values: object) -> Markup:
        made: Markup = getattr(templates.get_template(template).module, macro)(*values)
        return made

    return prepared


def _for_each(prepared: Callable[..., Markup], of: Callable[[Any], tuple[object, ...]]) -> Callable[..., Markup]:
    """Call a prepared macro for each row of a list and join what it renders.

    `of` picks the values of a row that the macro shows; the values that all rows share are passed before them.
    """

    def for_each(spoken: Language, rows: Iterable[object], *values: object) -> Markup:
        return Markup("".join([prepared(spoken, *values, *of(row)) for row in rows]))  # noqa: S704  a template escapes

    return for_each


def _linking(icon: Callable[[str], Markup]) -> Callable[[Language], dict[str, list[PlaceLink]]]:
    """`places(language())` of templates: the links of the navigation, made once for each language."""

    @cache
    def places(_: Language) -> dict[str, list[PlaceLink]]:
        return {name: [_link(place, icon) for place in places] for name, places in _PLACES.items()}

    return places


def _link(place: NavigationPlace, icon: Callable[[str], Markup]) -> PlaceLink:
    keys = Markup(' data-key="g {}"').format(place.key)
    label = Markup("{}<span>{}</span>").format(icon(place.icon), gettext(place.label))
    return PlaceLink(place.name, place.path, keys, label, place.counts)


def _drawing(sprite: str) -> Callable[..., Markup]:
    """`icon("x")` of templates: a drawing of the sprite, with a name where it says something by itself."""
    silent: dict[str, Markup] = {}

    def icon(name: str, label: str = "") -> Markup:
        if label:
            return _ICON.format(Markup('role="img" aria-label="{}"').format(label), sprite, name)
        if name not in silent:
            silent[name] = _ICON.format(Markup("aria-hidden=true"), sprite, name)
        return silent[name]

    return icon


def moment(at: Millis) -> str:
    """A time as people read it, to the minute: `2026-02-22 00:16 UTC`."""
    return f"{iso(at)[:16].replace('T', ' ')} UTC"
