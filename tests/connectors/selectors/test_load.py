import msgspec
import pytest
import yaml

from tests.connectors.selectors.builders import CHAPTERS, HEAD, PAGES, POPULAR, SMALL, a_definition
from tests.growth import within
from tsuzuki.connectors.registry import shipped_definitions
from tsuzuki.connectors.selectors.definition import Definition, Pick
from tsuzuki.connectors.selectors.reader import MAX_CHARACTERS, BadDefinition, load_definition


def problems_of(text, name="site.yaml"):
    with pytest.raises(BadDefinition) as caught:
        load_definition(text, name)
    return [(problem.field, problem.message) for problem in caught.value.problems]


def test_a_small_definition_is_taken():
    definition = a_definition()
    assert definition.id == "example.site"
    assert definition.popular is not None
    assert definition.popular.link == Pick(pick=("a@href",))
    assert definition.chapters.order == "newest_first"


def test_json_says_the_same_as_yaml():
    as_json = msgspec.json.format(msgspec.json.encode(yaml.safe_load(SMALL))).decode()
    assert load_definition(as_json, "site.json") == a_definition()
    assert load_definition(as_json.replace("  ", "\t"), "site.json") == a_definition()


def test_all_problems_come_at_once_with_file_line_and_column():
    text = (
        HEAD.replace("language: en", "language: English")
        + POPULAR.replace("  each: li", "  eech: li").replace("/list?page={page}", "/list?page={pag}")
        + CHAPTERS
        + "  order: sideways\n"
        + PAGES
        + "colour: red\n"
    )
    assert problems_of(text) == [
        ("site.yaml:3:11", "'English' is not of the form ^(all|[a-z]{2,3}(-[a-z0-9]{2,8})?)$."),
        ("site.yaml:6:3", "`each` is missing here."),
        ("site.yaml:7:3", "`eech` is unknown: did you mean `each`?"),
        ("site.yaml:14:10", "Expected one of newest_first, oldest_first."),
        (
            "site.yaml:18:1",
            f"`colour` is unknown: known are {', '.join(Definition.__struct_fields__)}.",
        ),
    ]


def test_the_message_of_the_error_is_the_whole_list():
    with pytest.raises(BadDefinition) as caught:
        load_definition(SMALL + "a: 1\nb: 2\n", "x.yaml")
    lines = str(caught.value).splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("x.yaml:17:1: ")


@pytest.mark.parametrize(
    ("old", "new", "place", "words"),
    [
        ("a@href", "a[@href", "site.yaml:8:9", "not a CSS selector"),
        ("each: li", "each: li@class", "site.yaml:7:9", "selects elements"),
        ("each: li", "each: ''", "site.yaml:7:9", "Expected a CSS selector"),
        ("/list?page={page}", "https://evil.example/{page}", "site.yaml:6:8", "a host of this source: site.example"),
        ("/list?page={page}", "https://{page}.evil.example/", "site.yaml:6:8", "a host of this source"),
        ("/list?page={page}", "https://site.example{page}", "site.yaml:6:8", "a host of this source"),
        ("/list?page={page}", "//evil.example/{page}", "site.yaml:6:8", "a host of this source"),
        ("/list?page={page}", "file:///etc/passwd", "site.yaml:6:8", "a host of this source"),
        ("/list?page={page}", "'{url}/{page}'", "site.yaml:6:8", "{url} is unknown"),
        ("/list?page={page}", "/list?{page", "site.yaml:6:8", "single { or }"),
        ("base_url: https://site.example", "base_url: ftp://site.example", "site.yaml:4:11", "https://comics"),
        ("base_url: https://site.example", "base_url: https://a:b@site.example", "site.yaml:4:11", "without user"),
        ("base_url: https://site.example", "base_url: https://si te.example", "site.yaml:4:11", "https://comics"),
        ("name: Site", "name: yes", "site.yaml:2:7", "in quotes: 'yes'"),
        ("name: Site", "name: [Site]", "site.yaml:2:7", "Expected text"),
        ("name: Site", "name:", "site.yaml:2:6", "Expected text"),
        ("name: Site", "name: ''", "site.yaml:2:7", "Expected some text"),
        ("name: Site", f"name: {'x' * 129}", "site.yaml:2:7", "At most 128"),
        ("language: en", "language: no", "site.yaml:3:11", "in quotes: 'no'"),
        ("id: example.site", "id: site", "site.yaml:1:5", "not of the form"),
        ("name: Site", "name: Site\nratelimit: 0", "site.yaml:3:12", "from 0 to 10"),
        ("name: Site", "name: Site\nratelimit: .nan", "site.yaml:3:12", "Expected a number"),
        ("name: Site", "name: Site\nratelimit: fast", "site.yaml:3:12", "Expected a number"),
        ("name: Site", "name: Site\nversion_id: 1.5", "site.yaml:3:13", "whole number"),
        ("name: Site", "name: Site\nnsfw: maybe", "site.yaml:3:7", "true or false"),
        ("name: Site", "name: Site\nhosts: [https://cdn.example]", "site.yaml:3:9", "without http://"),
        ("name: Site", "name: Site\nheaders: {Host: evil.example}", "site.yaml:3:17", "cannot be set here"),
        ("name: Site", "name: Site\nheaders: {User-Agent: Mozilla}", "site.yaml:3:23", "cannot be set here"),
        ("name: Site", 'name: Site\nheaders: {X-A: "a\\r\\nb"}', "site.yaml:3:16", "Control characters"),
        ("name: Site", "name: Site\nheaders: [a]", "site.yaml:3:10", "Expected keys and values"),
        ("name: Site", "name: Site\nname: Again", "site.yaml:3:1", "already set in line 2"),
        ("name: Site", "name: Site\n? [a, b]\n: c", "site.yaml:3:3", "A key must be a plain word"),
        ("title: a", "title: {pattern: x}", "site.yaml:9:10", "`pick` is missing"),
        ("title: a", "title: {pick: a, pattern: '(a'}", "site.yaml:9:29", "Not a pattern"),
        ("title: a", "title: {pick: a, pattern: '(?=a)'}", "site.yaml:9:29", "Not a pattern"),
        ("title: a", "title: {pick: a, pattern: '(a)(b)'}", "site.yaml:9:29", "at most one (group)"),
        ("title: a", "title: {pick: a, template: x}", "site.yaml:9:30", "must contain {value}"),
        ("title: a", "title: [a, 'b[']", "site.yaml:9:14", "not a CSS selector"),
        ("title: a", "title: 3", "site.yaml:9:10", "Expected keys and values"),
        (
            "link: a@href",
            "link: {pick: a, template: 'https://evil.example/{value}'}",
            "site.yaml:8:29",
            "a host of this",
        ),
        ("link: a@href", "link: {pick: a, template: '//{value}'}", "site.yaml:8:29", "a host of this"),
        ("each: li", "each: li\n  filters: [{name: a, param: b}]", "site.yaml:8:12", "Only a search can have filters"),
        ("url: /list?page={page}", "url: /list\n  next: a", "site.yaml:6:8", "must contain {page} or {offset}"),
        ("chapters:", "chapters:\n  url: '{url}?p={page}'", "site.yaml:11:8", "needs `next`"),
        ("pages:", "details:\n  url: '{url}?p={page}'\n  title: h1\npages:", "site.yaml:15:8", "{page} is unknown"),
        ("popular:", "search:", "site.yaml:6:8", "a search must contain {query}"),
    ],
)
def test_what_is_wrong_is_named_where_it_stands(old, new, place, words):
    assert old in SMALL
    found = problems_of(SMALL.replace(old, new, 1))
    assert any(field == place and words in message for field, message in found), found


def test_a_definition_needs_a_way_to_a_series():
    assert "No series can be found" in problems_of(HEAD + CHAPTERS)[0][1]


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ("yesterday", "Expected auto"),
        ("%Q", "Not a date format"),
        ("%d %d", "Not a date format"),
        ("%", "Not a date format"),
    ],
)
def test_a_form_of_dates_that_cannot_be_is_named(form, words):
    ((place, message),) = problems_of(
        SMALL.replace("chapters:\n", f"chapters:\n  date: {{pick: b, format: '{form}'}}\n")
    )
    assert place == "site.yaml:11:27"
    assert words in message


def test_paths_are_checked_where_json_is_read():
    text = SMALL.replace("chapters:\n  each: li", "chapters:\n  reads: json\n  each: $..book[?(@.price<1)]")
    assert problems_of(text)[0] == ("site.yaml:12:9", "'$..book[?(@.price<1)]' is not a path such as data[*].title.")


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("", "site.yaml:1:1", "is a mapping"),
        ("- a", "site.yaml:1:1", "is a mapping"),
        ("a: b: c", "site.yaml:1:5", "Not readable"),
        ("a: [1", "site.yaml:1:6", "Not readable"),
        ("a: 'b", "site.yaml:1:6", "Not readable"),
        ("a:\n\t- b", "site.yaml:2:1", "Not readable"),
        ("a: \x00", "site.yaml:1:1", "Not readable"),
        ("a: &x [1]\nb: *x", "site.yaml:1:4", "Anchors and aliases"),
        ("a: *x", "site.yaml:1:4", "Anchors and aliases"),
        ("a: !!python/object/apply:os.system ['true']", "site.yaml:1:4", "Tags"),
        ("a: !!binary aGk=", "site.yaml:1:4", "Tags"),
        ("a: 1\n--- \nb: 2", "site.yaml:2:1", "Not readable"),
        ("%YAML 9.9\n---\na: 1", "site.yaml:1:1", "Not readable"),
        ("%YAML " + "1" * 10_000, "site.yaml:1:1", "Not readable"),
        ("a: " + "1" * 10_000, "site.yaml:1:1", "`a` is unknown"),
        ("- " * 30_000, "site.yaml:1:25", "levels deep"),
        ("a: " + "[" * 5000, "site.yaml:1:15", "levels deep"),
        ("a: " + "{b: " * 5000, "site.yaml:1:48", "levels deep"),
        ("a: [" + "1," * 6000 + "]", "site.yaml:1:9999", "at most 5000 values"),
        ("a: " + "x" * MAX_CHARACTERS, "site.yaml:1:1", "at most 65536 characters"),
        ('{"a": "\\u0007"}', "site.yaml:1:7", "Control characters"),
    ],
)
def test_sec_26_a_malformed_document_is_refused_before_reading(text, place, words):
    field, message = within(5, lambda: problems_of(text)[0])
    assert field == place
    assert words in message


def test_sec_26_a_bomb_of_aliases_is_refused():
    levels = "\n".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 9))
    assert "Anchors" in problems_of(f"l0: &l0 [lol]\n{levels}")[0][1]


def test_the_shipped_definitions_are_good():
    for name, text in shipped_definitions():
        assert load_definition(text, name).language == "en"


def test_dates_and_numbers_may_be_written_without_quotes():
    definition = a_definition(SMALL.replace("name: Site", "name: 2026").replace("title: a", "title: {default: 12}"))
    assert definition.name == "2026"
    assert definition.popular is not None
    assert definition.popular.title.default == "12"
