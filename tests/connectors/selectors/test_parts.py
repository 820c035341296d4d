"""The small languages of a definition: patterns, paths, dates, expressions and addresses."""

import pytest

from tests.connectors.builders import NOON
from tests.connectors.selectors.builders import SMALL, a_definition
from tests.growth import within
from tsuzuki.connectors.selectors.definition import first_match, pattern_problem
from tsuzuki.connectors.selectors.extraction import (
    ExtractionPlan,
    as_text,
    extract_html,
    extract_json,
    follow,
    parse_path,
    split_expression,
)
from tsuzuki.connectors.selectors.values import (
    address_to_call,
    date_problem,
    fill,
    own_address,
    read_date,
    series_values,
)
from tsuzuki.model.errors import Invalid, NotAFeed, TooLarge
from tsuzuki.model.times import DAY, HOUR, MINUTE, from_iso


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        (r"Chapter (\d+)", "Chapter 12", "12"),
        (r"\d+", "Chapter 12", "12"),
        (r"第(\d+)話", "第12話", "12"),
        (r"(?i)chapter (\d+)", "CHAPTER 7", "7"),
        (r"a(b)?", "a", None),
        (r"z", "a", None),
    ],
)
def test_a_pattern_gives_its_group_or_all_of_its_match(pattern, text, found):
    assert pattern_problem(pattern) is None
    assert first_match(pattern, text) == found


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(.*)*x", r"(\w+\s?)*$", "(x+x+)+y", "(?:a?){60}a{60}"])
def test_sec_21_a_catastrophic_pattern_takes_no_time(pattern):
    subject = "a" * 20_000 + "!"
    within(1, lambda: pattern_problem(pattern) or first_match(pattern, subject))


@pytest.mark.parametrize("pattern", ["(", "[", "a{2000}", "(?=a)", r"(a)\1", "(?<=a)b", "(a)(b)", "*", "a{1000}{1000}"])
def test_sec_21_what_re2_does_not_take_is_refused(pattern):
    assert pattern_problem(pattern)


DOCUMENT = {"data": [{"t": "a", "n": 1, "x y": True}, {"t": "b", "n": None}], "o": {"p": {"q": "z"}}, "0": "zero"}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("$", [DOCUMENT]),
        ("", [DOCUMENT]),
        ("data[*].t", ["a", "b"]),
        ("$.data[*].t", ["a", "b"]),
        ("data.*.t", ["a", "b"]),
        ("data[0].t", ["a"]),
        ("data[-1].t", ["b"]),
        ("data[7].t", []),
        ("data[-7].t", []),
        ("data[0]['x y']", [True]),
        ("o.p.q", ["z"]),
        ("o.*.q", ["z"]),
        ("o['p']['q']", ["z"]),
        ("o.p.q.r", []),
        ("data.t", []),
        ("o[0]", []),
        ("nothing", []),
        ("['0']", ["zero"]),
    ],
)
def test_a_path_leads_to_values(path, found):
    assert parse_path(path) is not None
    assert follow(DOCUMENT, path) == found


@pytest.mark.parametrize(
    "path", ["$..t", "a[?(@.x)]", "a[(1)]", "a[1:2]", "a b", "a.", "a[", "$a", "a['", "a]", "@", "a[0]b", "."]
)
def test_sec_26_what_is_more_than_a_path_is_refused(path):
    assert parse_path(path) is None


def test_scalars_become_texts_and_the_rest_does_not():
    values: list[object] = ["x", 3, True, False, None, [], {}, 10**30]
    assert [as_text(value) for value in values] == ["x", "3", "true", "false", None, None, None, str(10**30)]


@pytest.mark.parametrize(
    ("text", "forms", "moment"),
    [
        ("3 hours ago", ("relative",), NOON - 3 * HOUR),
        ("an hour ago", ("relative",), NOON - HOUR),
        ("1 Day Ago", ("relative",), NOON - DAY),
        ("5 mins ago", ("relative",), NOON - 5 * MINUTE),
        ("2d", ("relative",), NOON - 2 * DAY),
        ("last week", ("relative",), NOON - 7 * DAY),
        ("2 months ago", ("relative",), NOON - 60 * DAY),
        ("a year ago.", ("relative",), NOON - 365 * DAY),
        ("just now", ("relative",), NOON),
        ("Yesterday", ("relative",), NOON - DAY),
        ("today", ("auto",), NOON),
        ("7 minutes ago", ("auto",), NOON - 7 * MINUTE),
        ("2026-02-14", ("auto",), from_iso("2026-02-14")),
        ("14 février 2026", ("auto",), from_iso("2026-02-14")),
        ("2026年2月14日", ("auto",), from_iso("2026-02-14")),
        ("14/02/2026", ("%d/%m/%Y",), from_iso("2026-02-14")),
        ("  14/02/2026 \n", ("%d/%m/%Y",), from_iso("2026-02-14")),
        ("02/14/2026", ("%d/%m/%Y", "%m/%d/%Y"), from_iso("2026-02-14")),
        ("2006-1-1", ("%Y-%m-%d",), from_iso("2006-01-01")),
        ("2026-02-14 10:00 +0900", ("%Y-%m-%d %H:%M %z",), from_iso("2026-02-14T01:00:00Z")),
        ("1771027200", ("unix",), 1771027200000),
        ("1771027200000", ("unix_ms",), 1771027200000),
        ("1771027200.5", ("unix",), 1771027200000),
        ("soon", ("auto", "relative", "unix", "%d/%m/%Y"), None),
        ("99999 years ago", ("relative",), None),
        ("9" * 15, ("unix",), None),
        ("-5", ("unix",), None),
        ("٣", ("unix",), None),
        ("", ("auto",), None),
    ],
)
def test_dates_are_read_in_the_first_form_that_fits(text, forms, moment):
    assert not any(date_problem(form) for form in forms)
    assert read_date(text, forms, NOON) == moment


HTML = """<ul>
<li class="x"><a href=" /1 ">One  <b>bold</b>
text</a><img data-src="/i.png" src="/wait.gif"></li><li><a>Two</a></li></ul><i id="n">next</i>"""


def texts(html, expression, each="li"):
    plan = ExtractionPlan(each, {"f": (expression,)}, {"w": ("#n",)})
    found = extract_html(html.encode(), None, plan)
    assert found.whole["w"] == (("next",),) or html is not HTML
    return [row["f"][0] for row in found.rows]


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("a", [("One bold text",), ("Two",)]),
        ("a@href", [("/1",), ()]),
        ("@class", [("x",), ()]),
        ("", [("One bold text",), ("Two",)]),
        ("img@data-src", [("/i.png",), ()]),
        ("b, a", [("bold", "One bold text"), ("Two",)]),
    ],
)
def test_expressions_find_texts_and_attributes_in_each_row(expression, found):
    assert [set(one) for one in texts(HTML, expression)] == [set(one) for one in found]


@pytest.mark.parametrize(
    ("expression", "parts"),
    [
        ("a@href", ("a", "href")),
        ("@href", ("", "href")),
        ("a", ("a", None)),
        ("", ("", None)),
        ('a[title="x@y.z"] b', ('a[title="x@y.z"] b', None)),
        ("a > b@Data-Src", ("a > b", "data-src")),
    ],
)
def test_the_attribute_of_an_expression_is_behind_its_last_at(expression, parts):
    assert split_expression(expression) == parts


@pytest.mark.parametrize(
    ("body", "charset"),
    [
        ("<li><a>続き</a></li>".encode("shift_jis"), "shift_jis"),
        ('<meta charset="euc-jp"><li><a>続き</a></li>'.encode("euc-jp"), None),
        ("<li><a>続き</a></li>".encode(), "no-such-charset"),
    ],
)
def test_pages_are_read_in_the_encoding_they_claim(body, charset):
    (row,) = extract_html(body, charset, ExtractionPlan("li", {"f": ("a",)})).rows
    assert row["f"] == (("続き",),)


@pytest.mark.parametrize("html", ["<div>" * 200_000, "<div></x>" * 150_000, "<a>" * 300_000, "<b><i>" * 90_000])
def test_sec_20_a_page_that_is_a_bomb_is_refused_quickly(html):

    def refused() -> None:
        with pytest.raises(TooLarge):
            extract_html(html.encode(), None, ExtractionPlan("li", {}))

    within(2, refused)


def test_pages_with_tags_that_nobody_closes_are_read():
    assert len(texts("<ul>" + "<li>x" * 15_000 + "</ul>" + "<p>y<br>" * 15_000, "")) == 15_000


def test_rows_are_bounded():
    assert len(texts("<li>x</li>" * 30_000, "")) == 20_000


@pytest.mark.parametrize("body", [b"", b"<html>", b"{", b"\xff", b"[" * 100_000])
def test_what_is_not_json_is_named(body):
    with pytest.raises(NotAFeed):
        extract_json(body, ExtractionPlan("$", {}))


def test_r2_numbers_in_json_keep_their_digits():
    (row,) = extract_json(b'{"n": 45.10, "m": 1e999999999}', ExtractionPlan("$", {"n": ("n",), "m": ("m",)})).rows
    assert row["n"] == (("45.10",),)
    assert len(row["m"][0][0]) < 20


def test_variables_are_escaped_and_only_an_address_stands_for_itself():
    assert fill("/s?q={query}&p={page}", {"query": "a b&c=/..#", "page": "2"}) == "/s?q=a%20b%26c%3D%2F..%23&p=2"
    assert fill("{url}info.json", {"url": "https://site.example/1/"}) == "https://site.example/1/info.json"


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example/",
        "//evil.example/",
        "https://site.example@evil.example/",
        "https://user:pass@site.example/",
        "https://site.example.evil.example/",
        "https://site.example:8443/",
        "http://[::1",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "\\\\evil.example\\x",
        "https:\\\\evil.example",
        "local:x",
    ],
)
def test_sec_05_sec_08_an_address_elsewhere_is_never_called(url):
    definition = a_definition()
    assert (own_address(definition, url) or "https://site.example/").startswith("https://site.example/")
    for template in ("{url}", "{url}/x"):
        try:
            called = address_to_call(definition, template, series_values(definition, url))
        except Invalid:
            continue
        assert called.startswith("https://site.example/")


def test_other_hosts_that_a_definition_names_are_its_own():
    definition = a_definition(SMALL.replace("name: Site", "name: Site\nhosts: [API.site.example, 'cdn.example:8080']"))
    assert own_address(definition, "https://api.site.example/x") == "https://api.site.example/x"
    assert own_address(definition, "http://cdn.example:8080/x") == "http://cdn.example:8080/x"
    assert own_address(definition, "http://cdn.example/x") is None


def test_the_id_is_the_last_part_of_the_path():
    definition = a_definition()
    assert series_values(definition, "https://site.example/comic/cat-42/?a=1")["id"] == "cat-42"
    assert series_values(definition, "/comic/cat")["id"] == "cat"
    assert series_values(definition, "http://[::1")["id"] == ""
