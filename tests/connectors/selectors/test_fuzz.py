"""Nothing that a definition or a site can say ends in anything but a named error."""

import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.connectors.builders import a_reply, run
from tests.connectors.selectors.builders import CONFIG, HEAD, SMALL
from tests.scale import examples
from tsuzuki.connectors.selectors.connector import SelectorsSource
from tsuzuki.connectors.selectors.reader import BadDefinition, load_definition
from tsuzuki.connectors.selectors.trial import describe_try, try_source
from tsuzuki.model.errors import Invalid, SourceError

WORDS = [
    "a", "a@href", "@src", "", "li > a", "a[", "$", "data[*].t", "$..x", "{url}", "/x?p={page}", "{query}", "{value}",
    "{", "https://evil.example/{page}", "https://site.example/", "//x", "(a+)+$", "(", "[^", r"(\d+)", "%d/%m/%Y", "%",
    "%Q", "relative", "unix", "html", "json", "ongoing", "oldest_first", "first", "yes", "null", "~", "-1", "1e400",
    "0", ".nan", "&a x", "*a", "!!python/name:os.system", "\x00", "\u2028", "é", "👾", "'", '"', "<<", "? x", "- y",
    "a: b", "#", ":has(", "*:not(*)", ":nth-child(2n+1)", "a::before", "\ud800",
]  # fmt: skip
KEYS = [
    "id", "name", "language", "base_url", "hosts", "headers", "series", "popular", "search", "details", "chapters",
    "pages", "url", "reads", "each", "link", "title", "cover", "next", "pick", "join", "pattern", "replace", "template",
    "default", "format", "map", "key", "number", "volume", "date", "group", "order", "image", "filters", "options",
    "param", "status", "ratelimit", "nsfw", "version_id", "first_page", "page_size", "genres", "author", "bogus",
]  # fmt: skip
SCALARS = st.sampled_from(WORDS) | st.text(max_size=12) | st.integers() | st.floats() | st.booleans() | st.none()
TREES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=12,
)


CSS = st.sampled_from(["a", "li", "", "@href", "a@href", "img@src", "li > a", "*", "*:not(li)", ":has(a)", "h1, a, li"])
PATHS = st.sampled_from(["$", "", "t", "data[*].t", "[0]", "[*]", "a.*", "['x y']", "data", "[-1].t.a[0]"])
PATTERNS = st.sampled_from([r"(\d+)", "(a+)+$", ".*", "x|(y)", r"\p{L}+", "^", "(?i)chapter", "()", "第([0-9]+)話"])
FORMS = st.sampled_from(["auto", "relative", "unix", "unix_ms", "%d/%m/%Y", "%H:%M", "%j %y %Z", "%a %d %b"])
PLAIN = st.text("aZ09 .-é続#/?&=%'\"", max_size=10)


def picks(expression, template):
    """Any value that is a good one, with everything that may be done to it."""
    details = {
        "join": PLAIN,
        "pattern": PATTERNS,
        "replace": st.dictionaries(PLAIN, PLAIN, max_size=2),
        "template": st.just(template),
        "default": PLAIN,
    }
    several = st.lists(expression, min_size=1, max_size=3)
    return expression | several | st.fixed_dictionaries({"pick": several}, optional=details)


@st.composite
def steps(draw, url, needed, optional=(), *, has_rows=True):
    """A good step: expressions fit what it reads."""
    reads = draw(st.sampled_from(["html", "json"]))
    expression = CSS if reads == "html" else PATHS
    step = {"url": url, "reads": reads}
    if has_rows:
        rows = expression.filter(lambda one: reads == "json" or (one and "@" not in one))
        step["each"] = draw(rows)
    for name in (*needed, *(name for name in optional if draw(st.booleans()))):
        step[name] = draw(picks(expression, "/x/{value}"))
    return step


@st.composite
def good_definitions(draw):
    """A whole source in which nothing is wrong."""
    tree = yaml.safe_load(HEAD)
    tree["popular"] = draw(steps("/list?p={page}", ["link", "title"], ["cover", "next"]))
    tree["search"] = draw(steps("/find/{query}/{offset}", ["link", "title"], ["cover", "next"]))
    facts = ["alt_titles", "author", "artist", "description", "genres", "status", "cover"]
    tree["details"] = draw(steps("{url}", ["title"], facts, has_rows=False))
    parts = ["key", "number", "volume", "date", "group", "language", "next"]
    tree["chapters"] = draw(steps("/c/{id}", ["link", "title"], parts))
    tree["pages"] = draw(steps("{url}", ["image"], ["next"]))
    if draw(st.booleans()):
        reads = tree["chapters"]["reads"]
        expression = draw(CSS if reads == "html" else PATHS)
        tree["chapters"]["date"] = {"pick": expression, "format": draw(st.lists(FORMS, min_size=1, max_size=3))}
    return yaml.safe_dump(tree, allow_unicode=True)


@st.composite
def broken_definitions(draw):
    """A good definition with a few places replaced or added."""
    tree = yaml.safe_load(draw(good_definitions()))
    for _ in range(draw(st.integers(1, 3))):
        place = tree
        while draw(st.booleans()):
            inner = [value for value in place.values() if isinstance(value, dict)]
            if not inner:
                break
            place = draw(st.sampled_from(inner))
        place[draw(st.sampled_from(KEYS))] = draw(TREES)
    return yaml.safe_dump(tree, allow_unicode=True)


TAGS = [
    "<li>", "</li>", "<a href='/x'>", "<a href='//evil.example'>", "</a>", "<img src='/i.png'>", "<img src='data:x'>",
    "<div>", "Chapter 1", "12", "&#0;", "<!--", "<script>", "</p>", "\x00", "<svg><a href=x>", "3 hours ago",
    "<li><a href='http://[::1'>",
]  # fmt: skip
HTML = st.lists(st.sampled_from(TAGS) | st.text(max_size=8), max_size=30).map("".join)
JSON = st.sampled_from([b"{}", b"[]", b'{"data":[{"t":1}]}', b'[{"t":{"a":[1,null]}}]', b"1e999", b"nul", b'"x"', b""])


def tried(definition, body):
    """The whole way of a source on one answer; only named errors may come out."""
    source = SelectorsSource(definition)
    trial = run(try_source(source, CONFIG), lambda want: a_reply(body, url=want.url))
    describe_try(source, trial)
    for visit in (source.details, source.chapters, source.pages):
        try:
            run(visit(CONFIG, "https://site.example/x"), lambda want: a_reply(body, url=want.url))
        except (SourceError, Invalid):
            continue


def loaded(text):
    """The definition, or None when it was refused with places, which it must be if it is refused."""
    try:
        return load_definition(text, "fuzz.yaml")
    except BadDefinition as error:
        problems = error.problems
    assert problems
    assert all(problem.field.startswith("fuzz.yaml:") for problem in problems)
    return None


ANSWERS = HTML.map(lambda html: html.encode("utf-8", "replace")) | JSON | st.binary(max_size=50)


@given(good_definitions(), ANSWERS)
@examples(3000, share=30)
def test_a_good_definition_is_taken_and_works_on_any_answer(text, body):
    definition = loaded(text)
    assert definition is not None
    tried(definition, body)


@given(broken_definitions(), ANSWERS)
@examples(3000, share=30)
def test_any_definition_is_refused_or_works_on_any_answer(text, body):
    definition = loaded(text)
    if definition is not None:
        tried(definition, body)


SCRAPS = st.lists(st.sampled_from([*WORDS, *KEYS, ": ", "\n", "  ", "- ", "[", "]", "{", "}", ","]), max_size=40)


@given(st.text(max_size=200) | SCRAPS.map("".join))
@examples(3000)
def test_any_text_is_refused_with_places_or_is_a_definition(text):
    loaded(text)


@given(ANSWERS)
@examples(3000)
def test_any_page_is_read_or_named_as_unreadable(body):
    tried(load_definition(SMALL, "small.yaml"), body)
