from decimal import Decimal
from urllib.parse import unquote

import pytest

from tests.connectors.builders import NOON, a_reply, run, run_and_record
from tests.connectors.selectors.builders import CHAPTERS, CONFIG, HEAD, POPULAR, SITE, SMALL, a_source
from tsuzuki.connectors.config import SourceConfig
from tsuzuki.connectors.filters import FilterValue, Select, TextFilter
from tsuzuki.connectors.protocol import Unsupported
from tsuzuki.model.errors import Invalid, ShapeChanged
from tsuzuki.model.times import DAY, HOUR

LIST = """<ul><li><a href="/cat/">The Cat</a><img src="c.png"></li><li><a href="https://ads.example/">Ad</a></li>
<li><a href="/cat/">The Cat again</a></li><li><a href="/none/"></a></li><li>no link</li></ul><a class=next href=?p=3>"""


def test_a_list_has_each_series_of_this_site_once():
    source = a_source(
        SMALL.replace("  title: a\nchapters", "  title: a\n  cover: img@src\n  next: a.next@href\nchapters")
    )
    page, (ask,) = run_and_record(source.popular(CONFIG, 2), {f"{SITE}/list?page=2": LIST})
    (series,) = page.series
    assert (series.title, series.url, series.key) == ("The Cat", f"{SITE}/cat/", "/cat/")
    assert series.cover_url == f"{SITE}/c.png"
    assert page.has_next
    assert ask.max_bytes <= 4 * 1024 * 1024


def test_addresses_are_meant_beside_the_page_that_was_reached():
    source = a_source()
    moved = a_reply('<li><a href="cat">Cat</a></li>', url=f"{SITE}/new/list")
    assert run(source.popular(CONFIG, 1), lambda _: moved).series[0].url == f"{SITE}/new/cat"


@pytest.mark.parametrize(
    "text",
    [
        "{page} {url}",
        "{{ 7 * 7 }} {% include 'x' %}",
        "${7*7} $(id) `id`",
        "{0.__class__} %(x)s %s",
        "__import__('os').abort()",
        "!!python/name:os.abort",
        "a@href",
    ],
)
def test_sec_25_what_a_source_writes_stays_the_text_that_it_is(text):
    source = a_source(SMALL.replace("chapters:\n", 'chapters:\n  url: "{url}list"\n'))
    series = run(source.popular(CONFIG, 1), lambda want: a_reply(f'<li><a href="/x/">{text}</a></li>', url=want.url))
    assert series.series[0].title == text
    chapters, (ask,) = run_and_record(
        source.chapters(CONFIG, f"{SITE}/{{page}}{{query}}/"),
        lambda want: a_reply(f'<li><a href="/x/1">{text}</a></li>', url=want.url),
    )
    assert [chapter.title for chapter in chapters] == [text]
    assert unquote(ask.url) == f"{SITE}/{{page}}{{query}}/list"


def test_pages_may_be_counted_from_zero_or_by_offset():
    text = SMALL.replace("/list?page={page}", "/l?p={page}&o={offset}").replace(
        "  each: li", "  first_page: 0\n  page_size: 50\n  each: li", 1
    )
    _, (ask,) = run_and_record(a_source(text).popular(CONFIG, 3), lambda want: a_reply(LIST, url=want.url))
    assert ask.url == f"{SITE}/l?p=2&o=100"


def test_r28_an_empty_first_page_is_shape_changed():
    source = a_source()
    with pytest.raises(ShapeChanged, match="each: 'li'"):
        run(source.popular(CONFIG, 1), lambda want: a_reply("<p>hi</p>", url=want.url))
    assert run(source.popular(CONFIG, 9), lambda want: a_reply("<p>hi</p>", url=want.url)).series == ()


SEARCH = (
    HEAD
    + POPULAR.replace("popular:", "search:").replace("/list?page={page}", "/find?q={query}&p={page}")
    + "  filters:\n    - {name: Genre, param: g, options: {Action: act, Drama: dra}}\n    - {name: Author, param: by}\n"
    + CHAPTERS
)


def test_search_text_and_filters_are_escaped_for_the_same_host():
    source = a_source(SEARCH)
    assert source.filters(CONFIG) == (Select("Genre", ("Any", "Action", "Drama")), TextFilter("Author"))
    values = (FilterValue("Genre", 2), FilterValue("Author", "A&B=C"))
    page, (ask,) = run_and_record(
        source.search(CONFIG, 1, text="//evil.example/?x#", filters=values), lambda want: a_reply("", url=want.url)
    )
    assert ask.url == f"{SITE}/find?q=%2F%2Fevil.example%2F%3Fx%23&p=1&g=dra&by=A%26B%3DC"
    assert page.series == ()


def test_a_search_value_that_fits_no_filter_is_named():
    with pytest.raises(Invalid, match="Genre"):
        a_source(SEARCH).search(CONFIG, 1, text="x", filters=(FilterValue("Genre", 9),))


FIXED = f"""{HEAD}
series:
  - {{title: The Cat, url: /cat/, author: Keeper, status: hiatus, cover: /c.png}}
  - {{title: Tea, url: /tea/}}
"""


def test_fixed_series_are_listed_searched_and_shown_without_a_call():
    source = a_source(FIXED + CHAPTERS)
    assert [series.title for series in run(source.popular(CONFIG, 1), {}).series] == ["The Cat", "Tea"]
    assert run(source.popular(CONFIG, 2), {}).series == ()
    assert [series.title for series in run(source.search(CONFIG, 1, text=" CAT"), {}).series] == ["The Cat"]
    details = run(source.details(CONFIG, f"{SITE}/cat/"), {})
    assert (details.title, details.author, details.status) == ("The Cat", "Keeper", 6)
    assert (details.cover_url, details.real_url) == (f"{SITE}/c.png", f"{SITE}/cat/")
    with pytest.raises(Unsupported):
        run(source.details(CONFIG, f"{SITE}/other/"), {})


def test_verbs_missing_from_a_definition_are_not_offered():
    source = a_source(HEAD + POPULAR + CHAPTERS)
    can = source.info.abilities
    assert (can.popular, can.latest, can.search, can.details, can.chapters, can.pages) == (
        True,
        False,
        False,
        False,
        True,
        False,
    )
    for call in (
        lambda: source.latest(CONFIG, 1),
        lambda: source.search(CONFIG, 1, text="x"),
        lambda: run(source.details(CONFIG, "/cat/"), {}),
        lambda: run(source.pages(CONFIG, "/cat/1"), {}),
    ):
        with pytest.raises(Unsupported):
            call()


DETAILS = (
    SMALL
    + """\
details:
  title: h1
  alt_titles: .alt
  author: .by
  artist: {pick: .art, default: unknown}
  description: .about p
  genres: {pick: .tags a, replace: {"Sci Fi": "Science Fiction"}}
  status: {pick: .state, pattern: "Status: (\\\\w+)", map: {Running: ongoing}}
  cover: [img@data-src, img@src]
"""
)


def test_details_are_read_as_the_definition_says():
    html = """<h1> The  Cat </h1><p class=alt>The Cat</p><p class=alt>Le Chat</p><b class=by>A</b><b class=by>B</b>
    <div class=about><p>One.</p><p>Two.</p></div><div class=tags><a>Sea</a><a>Sci Fi</a><a>Sea</a></div>
    <i class=state>Status: RUNNING now</i><img src=w.gif data-src="/c.png">"""
    details = run(a_source(DETAILS).details(CONFIG, "/cat/"), {f"{SITE}/cat/": html})
    assert (details.title, details.alt_titles) == ("The Cat", ("Le Chat",))
    assert (details.author, details.artist) == ("A, B", "unknown")
    assert details.description == "One.\n\nTwo."
    assert details.genres == ("Sea", "Science Fiction")
    assert details.status == 1
    assert details.cover_url == f"{SITE}/c.png"


def test_details_say_that_every_series_is_complete():
    step = DETAILS + "  update_strategy: ONLY_FETCH_ONCE\n"
    pages = {f"{SITE}/cat/": "<h1>The Cat</h1>"}
    assert run(a_source(step).details(CONFIG, "/cat/"), pages).update_strategy == "ONLY_FETCH_ONCE"
    assert run(a_source(DETAILS).details(CONFIG, "/cat/"), pages).update_strategy is None


def test_details_without_a_title_are_a_changed_shape():
    with pytest.raises(ShapeChanged, match="no title"):
        run(a_source(DETAILS).details(CONFIG, "/cat/"), {f"{SITE}/cat/": "<p>captcha</p>"})


@pytest.mark.parametrize("word", ["cancelled", "Hiatus", "completed"])
def test_words_of_ours_need_no_map(word):
    html = f"<h1>x</h1><i class=state>Status: {word}</i>"
    details = run(a_source(DETAILS).details(CONFIG, "/cat/"), {f"{SITE}/cat/": html})
    assert details.status == {"cancelled": 5, "Hiatus": 6, "completed": 2}[word]


CHAPTER_LIST = """<li id=c9><a href="/cat/9">Vol.2 Chapter 9.5: Fog</a><time>2 hours ago</time><i>Harbour</i></li>
<li id=c8><a href="/cat/8">Extra</a><time>yesterday</time></li><li><a href="https://ads.example/">Ad</a></li>"""


def test_chapters_get_numbers_from_names_and_dates_from_the_answer():
    text = SMALL.replace("chapters:\n", "chapters:\n  date: {pick: time}\n  group: i\n  key: '@id'\n")
    newest, extra = run(a_source(text).chapters(CONFIG, "/cat/"), {f"{SITE}/cat/": CHAPTER_LIST})
    assert (newest.number, newest.volume, newest.title) == (Decimal("9.5"), Decimal(2), "Vol.2 Chapter 9.5: Fog")
    assert (newest.published_at, newest.group, newest.source_key) == (NOON - 2 * HOUR, "Harbour", "c9")
    assert (newest.url, newest.language) == (f"{SITE}/cat/9", "en")
    assert (extra.number, extra.published_at, extra.group) == (None, NOON - DAY, None)


def test_a_number_picked_by_the_definition_is_exact():
    text = SMALL.replace("chapters:\n", "chapters:\n  number: {pick: a@href, pattern: '/cat/([0-9.]+)'}\n")
    found = run(
        a_source(text).chapters(CONFIG, "/cat/"), {f"{SITE}/cat/": '<li><a href="/cat/010.50">Chapter 3</a></li>'}
    )
    assert [chapter.number for chapter in found] == [Decimal("10.5")]
    found = run(a_source(text).chapters(CONFIG, "/cat/"), {f"{SITE}/cat/": '<li><a href="/cat/x">Chapter 3</a></li>'})
    assert [chapter.number for chapter in found] == [None]


def test_r11_chapters_come_newest_first_whatever_the_site_does():
    rows = "".join(f'<li><a href="/c/{n}">{n}</a></li>' for n in (1, 2, 3))
    text = SMALL.replace("chapters:\n", "chapters:\n  order: oldest_first\n")
    found = run(a_source(text).chapters(CONFIG, "/cat/"), {f"{SITE}/cat/": rows})
    assert [chapter.number for chapter in found] == [Decimal(3), Decimal(2), Decimal(1)]


def test_a_second_season_that_counts_anew_keeps_its_own_identity():
    rows = "".join(
        f'<li><a href="/{s}/{e}">Season {s} Episode {e}</a></li>' for s, e in ((2, 2), (2, 1), (1, 2), (1, 1))
    )
    found = run(a_source().chapters(CONFIG, "/cat/"), {f"{SITE}/cat/": rows})
    assert [chapter.number for chapter in found] == [None, None, Decimal(2), Decimal(1)]


PAGED = SMALL.replace("chapters:\n", "chapters:\n  next: a.older@href\n")


def a_paged_site(count):
    def answer(want):
        page = int(want.url.partition("?p=")[2] or 1)
        older = f'<a class=older href="?p={page + 1}">' if page < count else ""
        return a_reply(f'<li><a href="/c/{100 - page}">{100 - page}</a></li>{older}', url=want.url)

    return answer


def test_a_list_of_several_pages_is_read_whole():
    found, asks = run_and_record(a_source(PAGED).chapters(CONFIG, "/cat/"), a_paged_site(4))
    assert [ask.url for ask in asks] == [f"{SITE}/cat/", f"{SITE}/cat/?p=2", f"{SITE}/cat/?p=3", f"{SITE}/cat/?p=4"]
    assert [chapter.number for chapter in found] == [Decimal(n) for n in (99, 98, 97, 96)]


COUNTED = """\
chapters:
  url: "/api/{id}?p={page}"
  reads: json
  each: rows[*]
  link: {pick: n, template: "/c/{value}"}
  title: n
  next: more
"""


def test_a_counted_list_is_read_to_its_total():
    def answer(want):
        page = int(want.url.partition("?p=")[2])
        return a_reply({"rows": [{"n": 10 - page}], "more": page < 3}, url=want.url)

    found, asks = run_and_record(a_source(HEAD + POPULAR + COUNTED).chapters(CONFIG, "/comic/cat"), answer)
    assert [ask.url for ask in asks] == [f"{SITE}/api/cat?p={page}" for page in (1, 2, 3)]
    assert [chapter.number for chapter in found] == [Decimal(9), Decimal(8), Decimal(7)]


def test_a_counted_list_ends_at_an_empty_page():
    found, asks = run_and_record(
        a_source(HEAD + POPULAR + COUNTED).chapters(CONFIG, "/comic/cat"),
        lambda want: a_reply({"rows": [], "more": True}, url=want.url),
    )
    assert (found, len(asks)) == ((), 1)


def test_r28_a_list_longer_than_maxpages_is_no_list():
    with pytest.raises(ShapeChanged, match="more than 3 pages"):
        run(a_source(PAGED).chapters(SourceConfig(maxpages=3), "/cat/"), a_paged_site(4))


def test_a_circular_or_foreign_next_page_ends_the_list():
    circle = {f"{SITE}/cat/": '<li><a href="/c/1">1</a></li><a class=older href="/cat/">'}
    away = {f"{SITE}/cat/": '<li><a href="/c/1">1</a></li><a class=older href="https://evil.example/">'}
    assert len(run(a_source(PAGED).chapters(CONFIG, "/cat/"), circle)) == 1
    assert len(run(a_source(PAGED).chapters(CONFIG, "/cat/"), away)) == 1


def test_rows_without_links_are_shape_changed():
    with pytest.raises(ShapeChanged, match=r"no link in it to site\.example"):
        run(a_source().chapters(CONFIG, "/cat/"), {f"{SITE}/cat/": "<li>Chapter 1</li>"})
    assert run(a_source().chapters(CONFIG, "/cat/"), {f"{SITE}/cat/": "<p>Coming soon</p>"}) == ()


def test_pages_are_the_images_in_order_each_once_from_anywhere():
    html = '<img src="/1.png"><img src="https://cdn.example/2.png"><img src="/1.png"><img src="data:image/png,x"><img>'
    pages = run(a_source().pages(CONFIG, f"{SITE}/cat/9"), {f"{SITE}/cat/9": html})
    assert [(page.index, page.image_url) for page in pages] == [(0, f"{SITE}/1.png"), (1, "https://cdn.example/2.png")]
    with pytest.raises(ShapeChanged, match="no image"):
        run(a_source().pages(CONFIG, f"{SITE}/cat/9"), {f"{SITE}/cat/9": "<p>sign in</p>"})


def test_sec_05_a_series_or_chapter_elsewhere_is_not_asked_for():
    source = a_source(DETAILS)
    for visit in (
        source.details(CONFIG, "https://evil.example/"),
        source.chapters(CONFIG, "http://169.254.169.254/latest"),
        source.pages(CONFIG, "file:///etc/passwd"),
    ):
        with pytest.raises(Invalid, match="not an address of Site"):
            run(visit, {})


def test_headers_of_the_definition_go_with_pages_and_images():
    source = a_source(SMALL.replace("name: Site", "name: Site\nheaders: {Referer: 'https://site.example/'}"))
    _, (ask,) = run_and_record(source.pages(CONFIG, "/c"), {f"{SITE}/c": "<img src=/1.png>"})
    assert ask.headers == {"Referer": f"{SITE}/"}
    config = SourceConfig(headers={"Authorization": "Bearer abc"})
    assert source.image(config, "https://cdn.example/1.png").headers == {"Referer": f"{SITE}/"}


API = (
    HEAD
    + """\
popular:
  url: /api/list?o={offset}
  reads: json
  each: data[*]
  link: {pick: slug, template: "/api/comic/{value}"}
  title: names.en
  next: more
chapters:
  url: "/api/comic/{id}/chapters"
  reads: json
  each: $[*]
  link: {pick: id, template: "/api/chapter/{value}"}
  title: {pick: [name, n], join: " - "}
  number: n
  date: {pick: at, format: unix}
  key: id
"""
)


def test_a_site_with_json_is_read_by_paths():
    source = a_source(API)
    listing = {"data": [{"slug": "the/cat", "names": {"en": "The Cat"}}, {"slug": None}], "more": True}
    page = run(source.popular(CONFIG, 1), {f"{SITE}/api/list?o=0": listing})
    assert [(series.title, series.url) for series in page.series] == [("The Cat", f"{SITE}/api/comic/the%2Fcat")]
    assert page.has_next
    assert not run(source.popular(CONFIG, 1), {f"{SITE}/api/list?o=0": listing | {"more": False}}).has_next
    chapters = [
        {"id": 7, "n": 45.10, "name": "Fog", "at": 1771027200},
        {"id": 6, "n": None, "name": "Extra", "at": None},
    ]
    found = run(source.chapters(CONFIG, f"{SITE}/api/comic/cat"), {f"{SITE}/api/comic/cat/chapters": chapters})
    assert [(c.number, c.title, c.source_key, c.published_at) for c in found] == [
        (Decimal("45.1"), "Fog - 45.1", "7", 1771027200000),
        (None, "", "6", None),
    ]


def test_every_page_of_html_is_parsed_in_the_bounded_pool():
    visit = a_source().popular(CONFIG, 1)
    next(visit)
    want = visit.send(a_reply(LIST))
    assert type(want).__name__ == "Parse"
