"""What pages say, and how they say it in another language."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from babel.messages.catalog import Catalog
from markupsafe import Markup, escape
from structlog.testing import capture_logs

import tsuzuki.web
from tests.api.people import a_running_app
from tests.app import serving
from tests.web.guests import Guest, a_guest
from tools.messages import TEMPLATE, collect, written
from tsuzuki.accounts.oidc import Reason
from tsuzuki.accounts.preferences import LibraryLook
from tsuzuki.accounts.types import DeviceKinds, Role, Scope, ShelfRole
from tsuzuki.connectors.registry import builtin
from tsuzuki.inbox.feeds_out.types import FORMATS
from tsuzuki.inbox.feeds_out.types import State as FeedOutState
from tsuzuki.model.times import DAY, Millis
from tsuzuki.shelves.policy import Health
from tsuzuki.sources.policy import Standing
from tsuzuki.transfer.archive.format import PARTS
from tsuzuki.transfer.imports.kinds import ARCHIVE_KIND, BACKUP_KIND, KINDS_BY_WORDS, PACKED, TAKEOUT
from tsuzuki.transfer.imports.types import ImportStatus
from tsuzuki.transfer.mihon.lines import LEFT_OUT
from tsuzuki.transfer.servers.kinds import SERVER_KINDS
from tsuzuki.web import feeds_out
from tsuzuki.web.account import LIVES
from tsuzuki.web.admin.charts import EVENTS, LEVELS
from tsuzuki.web.admin.jobs import STATUSES as JOB_STATUSES
from tsuzuki.web.admin.sources import State
from tsuzuki.web.feeds.feed import INTERVALS
from tsuzuki.web.labels import LABELS, find_label, label_of
from tsuzuki.web.library import SORTS, STATUSES
from tsuzuki.web.locale import locale_of
from tsuzuki.web.scripts import texts_for_scripts
from tsuzuki.web.series import FITS, MODES
from tsuzuki.web.settings import CHOICES
from tsuzuki.web.texts import (
    ENGLISH,
    InReadersLanguage,
    Language,
    gettext,
    language,
    load_languages,
    ngettext,
    pgettext,
    pick_language,
)

WEB = Path(tsuzuki.web.__file__).parent
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SCOPES = (*_FUNCTIONS, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_BLOCKS = re.compile(r"\{% block width %\}.*?\{% endblock %\}|\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", re.DOTALL)
NOON = Millis(1_771_761_600_000)
"""2026-02-22T12:00:00Z, a Sunday."""

POLISH = r"""
msgid ""
msgstr ""
"Language: pl\n"
"Content-Type: text/plain; charset=utf-8\n"
"Plural-Forms: nplurals=3; plural=(n==1 ? 0 : n%10>=2 && n%10<=4 && (n%100<12 || n%100>14) ? 1 : 2);\n"

msgid "Library"
msgstr "Biblioteka <b>"

msgid "Administrator"
msgstr "Administratorka"

#, python-format
msgid "%(count)s new entry"
msgid_plural "%(count)s new entries"
msgstr[0] "%(count)s nowy wpis"
msgstr[1] "%(count)s nowe wpisy"
msgstr[2] "%(count)s nowych wpisów"

#, python-format
msgid "by %(author)s"
msgstr "%(autor)s"

msgctxt "place"
msgid "Library"
msgstr "Księgozbiór"
"""


@pytest.fixture
def languages(tmp_path) -> dict[str, Language]:
    (tmp_path / "pl.po").write_text(POLISH, "utf-8")
    return load_languages(tmp_path)


async def answered_in(languages: dict[str, Language], accepted: str, *texts: str) -> list[str]:
    """What these texts are while a request that accepts these languages is answered."""
    said: list[str] = []

    async def app(scope, receive, send) -> None:
        said.extend(map(gettext, texts))

    scope = {"type": "http", "headers": [(b"accept-language", accepted.encode())]}
    await InReadersLanguage(app, languages)(scope, None, None)  # type: ignore[arg-type]  # nothing is received or sent
    return said


def _read(file: Path) -> str:
    return file.read_text("utf-8")


# -- the catalogue


@pytest.fixture(scope="module")
def catalogue() -> Catalog:
    return collect()


def test_the_catalogue_is_up_to_date(catalogue):
    assert TEMPLATE.read_bytes() == written(catalogue), "run `make messages`"


def test_texts_have_named_placeholders_only_and_no_markup(catalogue):
    texts = {
        text
        for message in catalogue
        if message.id
        for text in ([message.id] if isinstance(message.id, str) else message.id)
    }
    assert len(texts) > 1000
    assert [text for text in texts if re.search(r"%(?!\(\w+\)s|%)|[<>]", text)] == []


def test_templates_say_nothing_that_translators_do_not_see():
    """The style guide's samples and the API's own words stay as they are."""
    bare: dict[str, list[str]] = {}
    for file in WEB.rglob("*.html"):
        if file.name in ("styleguide.html", "api_docs.html"):
            continue
        text = _BLOCKS.sub("", _read(file))
        words = [word.strip() for word in re.findall(r"[A-Za-z]{2,}[^<]*", re.sub(r"<[^>]*>", "<", text))]
        if left := [word for word in words if word not in ("Tsuzuki", "Ctrl K", "healthz", "readyz", "metrics", "ms")]:
            bare[file.name] = left
    assert bare == {}


def test_no_f_string_hides_a_text_from_the_collector():
    hidden = re.compile(r"\{(?:_|n?gettext)\(.*")
    found = [(file.name, text) for file in WEB.rglob("*.py") for text in hidden.findall(_read(file))]
    assert found == []


def test_no_function_hides_the_one_that_translates():
    """`letter, _ = ...` makes `_` another thing for the whole function."""
    hiding = []
    for file in WEB.rglob("*.py"):
        functions = [one for one in ast.walk(ast.parse(_read(file))) if isinstance(one, _FUNCTIONS)]
        for function in functions:
            uses = {type(one.ctx) for one in _own_nodes(function) if isinstance(one, ast.Name) and one.id == "_"}
            hiding += [(file.name, function.name)] if uses == {ast.Load, ast.Store} else []
    assert hiding == []


def _own_nodes(function: ast.AST) -> Iterator[ast.AST]:
    for node in ast.iter_child_nodes(function):
        if not isinstance(node, _SCOPES):
            yield node
            yield from _own_nodes(node)


# -- labels

CODES = {
    "amount": ("database", "images", "items", "chapters", "entries", "watches", "logs"),
    "article_step": ("newer", "older"),
    "balance": ("charged", "paid", "settled", "written_off", "open"),
    "chart": ("levels", "events"),
    "config_how": ("list", "pairs", "json"),
    "config_no": ("int", "float"),
    "import_kind": {
        *(kind.name for _, kind in KINDS_BY_WORDS),
        *(TAKEOUT.name, PACKED.name, ARCHIVE_KIND, BACKUP_KIND),
        *SERVER_KINDS,
    },
    "import_left": (
        *("preferences", *LEFT_OUT, "feeds", "items", "series", "sources", "chapters", "bookmarks"),
        *("files", "volumes", "ratings"),
    ),
    "import_part": {*(part.removesuffix(".jsonl") for part in PARTS), "follows"},
    "import_status": get_args(ImportStatus),
    "device_kinds": get_args(DeviceKinds),
    "dispute": ("open", "won", "lost"),
    "feed_out_field": ("kind", "show"),
    "feed_out_form": set(FORMATS) - {"rss"},
    "feed_out_kind": feeds_out.KINDS,
    "feed_out_of": feeds_out.OF,
    "feed_out_show": get_args(FeedOutState),
    "error_title": (403, 404, 405, 429, 500, 503),
    "fail": ("refresh", "keep_full"),
    "feed_status": ("ok", "error", "suspended", "waiting"),
    "figure": (*LEVELS, *EVENTS),
    "follow_status": STATUSES,
    "health": get_args(Health),
    "interval": (*INTERVALS, "own"),
    "invoice_status": ("open", "paid", "voided"),
    "job_status": JOB_STATUSES,
    "library_look": get_args(LibraryLook),
    "library_sort": SORTS,
    "medium": ("audio", "video", "file"),
    "plan_limit": ("follows", "kept"),
    "plan_status": ("active", "inactive", "delinquent"),
    "reader_fit": FITS,
    "reader_mode": MODES,
    "reason": tuple(f"oidc_{reason}" for reason in get_args(Reason)),
    "retention": ("entries", "items", "jobs", "audit"),
    "role": get_args(Role),
    "scope": get_args(Scope),
    "series_state": range(1, 7),
    "settings": CHOICES,
    "shelf_role": get_args(ShelfRole),
    "shelf_role_can": get_args(ShelfRole),
    "source_state": get_args(State),
    "standing": get_args(Standing),
    "stop": ("source_off", "series_off"),
    "token_life": LIVES,
    "trial_detail": ("title", "author", "artist", "language"),
    "trial_step": ("series", "details", "chapters", "pages"),
    "tristate": range(3),
    **CHOICES,
}


# Of these a code may have none.
OPTIONAL = {
    "config_about": {name for _, connector in builtin() for name in connector.info.config.__struct_fields__},
}


def test_every_code_has_a_label_and_every_label_a_code():
    assert LABELS.keys() == CODES.keys() | OPTIONAL.keys() | {"done"}
    lacking = {kind: set(map(str, codes)) - set(LABELS[kind]) for kind, codes in CODES.items()}
    assert {kind: codes for kind, codes in lacking.items() if codes} == {}, "give these a text in web/labels.py"
    unused = {kind: set(LABELS[kind]) - set(map(str, codes)) for kind, codes in (CODES | OPTIONAL).items()}
    assert {kind: codes for kind, codes in unused.items() if codes} == {}, "nothing has these codes of web/labels.py"


def test_every_recorded_action_has_a_label_and_occurs():
    done = re.compile(r'done(?:=|": )"(\w+)"|_leave\(site, request, "(\w+)"\)')
    words = {word for file in WEB.rglob("*.py") for pair in done.findall(_read(file)) for word in pair if word}
    assert words == set(LABELS["done"])


def test_a_code_of_an_address_is_never_repeated():
    assert find_label("done", "<script>") is None
    assert find_label("done", None) is None


# -- scripts


def test_scripts_say_only_what_pages_bring_and_all_of_it():
    used: set[str] = set()
    for file in (WEB / "static").rglob("*.js"):
        text = "" if "vendor" in file.parts else file.read_text("utf-8")
        used |= set(re.findall(r'"((?:js|time)\.\w+)"', text))
    used |= {f"js.theme_{theme}" for theme in CHOICES["theme"]}
    brought = set(re.findall(r'"((?:js|time)\.\w+)":', texts_for_scripts(ENGLISH)))
    assert brought == used


async def test_scripts_get_each_plural_form_of_the_language(languages):
    assert '"one":"%(count)s new entry"' in texts_for_scripts(ENGLISH)
    brought: list[str] = []

    async def app(scope, receive, send) -> None:
        brought.append(texts_for_scripts(language()))

    scope = {"type": "http", "headers": [(b"accept-language", b"pl")]}
    await InReadersLanguage(app, languages)(scope, None, None)  # type: ignore[arg-type]  # nothing is received or sent
    assert '"few":"%(count)s nowe wpisy"' in brought[0]
    assert '"many":"%(count)s nowych wpisów"' in brought[0]


async def test_a_browser_keeps_texts_of_scripts_until_they_change(reader):
    page = await reader.guest.see("/")
    [path] = re.findall(r'<script src="(/static/texts\.\w+\.js)" defer>', page.text)
    assert page.text.index(path) < page.text.index('type="module"'), "scripts say it from their beginning"
    kept, other = await reader.guest.see(path), await reader.guest.see("/static/texts.0123456789ab.js")
    assert '"js.undo":"Undo"' in kept.text
    assert kept.text.count("<dialog ") == 2
    assert kept.body == other.body
    assert "immutable" in kept.headers["cache-control"]
    assert other.headers["cache-control"] == "public, no-cache"
    assert "accept-language" in kept.headers["vary"]
    assert (await reader.guest.see(path, if_none_match=kept.headers["etag"])).status == 304


# -- English


def test_values_are_put_in_and_numbers_choose_the_form():
    assert gettext("Chapter %(number)s", number="12") == "Chapter 12"
    assert gettext("100 % sure") == "100 % sure"
    assert ngettext("%(count)s day", "%(count)s days", 1) == "1 day"
    assert ngettext("%(count)s day", "%(count)s days", 1200, count="1,200") == "1,200 days"
    assert pgettext("place", "Library") == "Library"


def test_markup_values_stay_and_all_else_is_escaped():
    told = gettext("1 < 2: %(link)s by %(name)s", link=Markup("<a>x</a>"), name="<b>")
    assert escape(told) == "1 &lt; 2: <a>x</a> by &lt;b&gt;"
    assert escape(gettext("by %(name)s", name="<b>")) == "by &lt;b&gt;"


# -- another language


@pytest.mark.parametrize(
    ("accepted", "expected"),
    [
        ("pl", "pl"),
        ("pl-PL,pl;q=0.9,en;q=0.5", "pl"),
        ("fr,pl;q=0.2", "pl"),
        ("en-US,en;q=0.9,pl;q=0.8", "en"),
        ("pl;q=0.1,en;q=0.9", "en"),
        ("pl;q=0", "en"),
        ("fr", "en"),
        ("", "en"),
        (";;q=x,,*", "en"),
    ],
)
def test_a_page_uses_the_browsers_first_known_language(languages, accepted, expected):
    assert pick_language(accepted, languages).tag == expected


async def test_what_is_not_translated_is_in_english(languages):
    assert await answered_in(languages, "pl", "Administrator", "Search") == ["Administratorka", "Search"]
    assert await answered_in(languages, "de", "Administrator") == ["Administrator"]


async def test_a_translation_with_a_wrong_placeholder_is_left_out(tmp_path):
    (tmp_path / "pl.po").write_text(POLISH, "utf-8")
    with capture_logs() as lines:
        languages = load_languages(tmp_path)
    assert [line["text"] for line in lines if line["event"] == "translation_skipped"] == ["by %(author)s"]
    assert await answered_in(languages, "pl", "by %(author)s") == ["by %(author)s"]


async def test_plurals_and_contexts_are_those_of_the_language(languages):
    said: list[str] = []

    async def app(scope, receive, send) -> None:
        said.extend(ngettext("%(count)s new entry", "%(count)s new entries", number) for number in (1, 3, 5, 22))
        said.extend([pgettext("place", "Library"), label_of("role", "admin")])
        polish = locale_of("pl-PL", zone="Europe/Warsaw")
        said.extend([polish.moment(NOON), polish.day(Millis(NOON - 4 * DAY), NOON)])

    scope = {"type": "http", "headers": [(b"accept-language", b"pl")]}
    await InReadersLanguage(app, languages)(scope, None, None)  # type: ignore[arg-type]  # nothing is received or sent
    assert said == [
        *("1 nowy wpis", "3 nowe wpisy", "5 nowych wpisów", "22 nowe wpisy", "Księgozbiór", "Administratorka"),
        *("22 lutego 2026, 13:00", "środa, 18 lutego"),
    ]


async def test_a_page_appears_in_the_language_of_its_request(tmp_path, languages):
    async with a_running_app(tmp_path) as app:
        guest = await a_guest(app, await app.admin())
        async with serving(InReadersLanguage(app.app, languages)) as client:
            here = Guest(client, **guest.cookies)
            polish = (await here.see("/account", accept_language="pl,en;q=0.5")).text
            english = (await here.see("/account")).text
    assert '<html lang="pl"' in polish
    assert "Administratorka" in polish
    assert "<span>Biblioteka &lt;b&gt;</span>" in polish
    assert "Your account" in polish
    assert '<html lang="en"' in english
    assert "Biblioteka" not in english
