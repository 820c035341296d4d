"""An article without scripts: read beside its neighbours, with everything in it by way of this server."""

import base64
import re
import time
from html import unescape

import pytest

from tests.web.reader_setup import LINK, unread
from tests.web.sample_shelf import an_item, release_items
from tsuzuki.model.harvest import Enclosure


async def test_an_article_has_neighbours_of_its_list(reader):
    links = [unescape(link) for link in LINK.findall((await reader.guest.see("/?kind=item")).text)]
    page = await reader.guest.see(links[3])
    assert "The last panel is decided" in page.text
    assert page.text.count("<h1") == 1
    ids = [re.findall(r"/items/(\d+)", link)[0] for link in links]
    assert f"/items/{ids[2]}?kind=item" in page.text
    assert f"/items/{ids[4]}?kind=item" in page.text
    assert 'href="/?kind=item"' in page.text  # back to the list


async def test_sec_16_opening_an_article_by_its_address_marks_nothing(reader):
    before = unread(await reader.guest.see("/"))
    page = await reader.guest.see(f"/items/{reader.sample_shelf.items[0]}")
    assert "data-unread=" in page.text  # a script posts it
    assert unread(await reader.guest.see("/")) == before


async def test_i7_pictures_and_recordings_come_through_us(reader):
    content = (
        '<p>One</p><img src="https://pictures.example/a.png" srcset="https://pictures.example/b.png 2x" alt="A boat">'
        '<video src="https://media.example/v.mp4" controls></video><h1>Loud</h1>'
        '<a href="https://example.org/x">there</a>'
    )
    late = an_item("media", at=reader.app.time(), title="Media", content=content)
    await release_items(reader.app, reader.sample_shelf.feeds[0], [late])
    path = LINK.findall((await reader.guest.see("/")).text)[0]
    text = (await reader.guest.see(unescape(path))).text
    prose = text[text.index('class="prose"') :]
    assert re.search(r'<img[^>]+src="/api/v1/images/[\w-]+/[\w-]+"', prose)
    assert "pictures.example" not in re.sub(r"/api/v1/images/\S+", "", prose)
    assert re.search(r'<video controls="" preload="none"[^>]+ src="/api/v1/media/video-\d+/[\w-]+/[\w-]+"', prose)
    assert 'href="https://media.example/v.mp4"' in prose
    assert "<h1" not in prose
    assert prose.count('rel="noopener noreferrer nofollow"') == 2


@pytest.mark.parametrize("path", ["/items/0", "/items/x", "/items/99999999999999999999", "/items/-1"])
async def test_an_article_that_is_not_there_is_not_found(reader, path):
    assert (await reader.guest.see(path)).status == 404


async def opened(reader, **over) -> tuple[str, str]:
    """The newest row of the inbox, and the page of its article."""
    late = an_item("late", at=reader.app.time(), **over)
    await release_items(reader.app, reader.sample_shelf.feeds[0], [late])
    inbox = (await reader.guest.see("/")).text
    row = inbox[inbox.index("<article") :].partition("</article>")[0]
    return row, (await reader.guest.see(unescape(LINK.findall(inbox)[0]))).text


PICTURE = "https://pictures.example/boat.png"


def pictures_shown(html: str) -> list[str]:
    """Where the pictures of an article, or of a row, come from at last."""
    found = re.findall(r'<img[^>]+src="/api/v1/images/[\w-]+/([\w-]+)', html)
    return [base64.urlsafe_b64decode(each + "==").decode() for each in found]


def prose_of(page: str) -> str:
    return page[page.index('class="prose"') : page.index("</article>")]


async def test_a_post_without_a_title_is_known_by_its_words(reader):
    """R103: the words are not said twice."""
    content = "<p>Twelve boats left the harbour before dawn and nobody on the quay could say where they were going.</p>"
    row, page = await opened(reader, title="", content=content)
    title = "Twelve boats left the harbour before dawn and nobody on the quay could say…"
    assert f">{title}</a>" in row
    assert "<p>where they were going.</div>" in row
    assert f"<title>{title} · Tsuzuki</title>" in page
    assert f'<h1 class="hidden-title">{title}</h1>' in page
    assert "Untitled" not in row + page


async def test_a_post_with_only_a_time_is_titled_by_it(reader):
    row, page = await opened(reader, title="", content="", link=None)
    assert re.search(r"<a [^>]+>(\d+ \w+ \d{4}, [\d:]+|\w+ \d)", row[row.index("<h3>") :])
    assert "Untitled" not in row + page


async def test_an_items_pictures_are_shown_and_files_are_not(reader):
    """R104."""
    enclosures = [
        Enclosure(PICTURE, media_type="image/png", title="A boat"),
        Enclosure("https://pictures.example/second.jpg?x=1"),
        Enclosure("https://files.example/notes.pdf", media_type="application/pdf"),
    ]
    row, page = await opened(reader, content="<p>Words</p>", enclosures=enclosures, image_url=PICTURE)
    assert pictures_shown(row) == [PICTURE]
    assert pictures_shown(prose_of(page)) == [PICTURE, "https://pictures.example/second.jpg?x=1"]
    assert "<figcaption>A boat</figcaption>" in prose_of(page)
    assert re.findall(r'class="medium" href="([^"]+)"', page) == ["https://files.example/notes.pdf"]


@pytest.mark.parametrize(
    ("content", "over", "shown"),
    [
        ("<p>Words</p>", {"image_url": PICTURE}, [PICTURE]),
        (f'<p><img src="{PICTURE}"></p>', {"image_url": "https://pictures.example/boat-300x200.png"}, [PICTURE]),
        (f'<p><img src="{PICTURE}"></p>', {"page_urls": [PICTURE]}, [PICTURE]),
        (f'<p><img src="{PICTURE}?w=640&amp;h=2"></p>', {"enclosures": [Enclosure(PICTURE)]}, [f"{PICTURE}?w=640&h=2"]),
        ("", {"page_urls": [PICTURE, "https://pictures.example/two.png"]}, [PICTURE, "https://pictures.example/two.png"]),
        ('<img src="https://cdn.example/300/a-long-name.jpg">',
         {"enclosures": [Enclosure("https://pictures.example/a-long-name.jpg")]}, ["https://cdn.example/300/a-long-name.jpg"]),
    ],
)  # fmt: skip
async def test_a_picture_is_shown_once(reader, content, over, shown):
    """R104."""
    _, page = await opened(reader, content=content, **over)
    assert pictures_shown(prose_of(page)) == shown


async def test_a_recording_says_how_long_it_is_and_plays_once(reader):
    """R104."""
    talk = Enclosure("https://media.example/talk.mp3", media_type="audio/mpeg", duration_seconds=3723, length=5_000_000)
    content = '<p>Words</p><audio src="https://media.example/other.mp3" controls=""></audio>'
    other = Enclosure("https://media.example/other.mp3", media_type="audio/mpeg")
    _, page = await opened(reader, content=content, enclosures=[talk, other])
    assert "1:02:03" in page
    assert page.count("<audio") == 2


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('<p><img src="{}" title="A joke" alt="x"></p>', r"<figure><img[^>]+><figcaption>A joke</figcaption></figure>"),
        ('<img src="{}" title="A joke">', r"<figure><img[^>]+><figcaption>A joke</figcaption></figure>"),
        ('<p><a href="https://x.example/"><img src="{}" title="A joke"></a></p>',
         r"<figure><a [^>]+><img[^>]+></a><figcaption>A joke</figcaption></figure>"),
        ('<figure><img src="{}" title="A joke"></figure>',
         r"<figure><img[^>]+><figcaption>A joke</figcaption></figure>"),
        ('<figure><img src="{}" title="A joke"><figcaption>Said</figcaption></figure>',
         r"<figure><img[^>]+><figcaption>Said</figcaption></figure>"),
        ('<p>One <img src="{}" title="A joke"> two</p>',
         r'<p>One <img[^>]+><small class="caption">A joke</small> two</p>'),
        ('<p><img src="{}" title="&lt;b&gt; &amp; c"></p>', r"<figcaption>&lt;b&gt; &amp; c</figcaption>"),
        ('<p><img src="{}" title="boat"></p>', r"<p><img[^>]+></p>"),
        ('<p><img src="{}" title="A title"></p>', r"<p><img[^>]+></p>"),
        ('<table><tr><td><img src="{}" title="A joke"></td><td>words</td></tr></table>',
         r"<div><figure>.*A joke</figcaption></figure></div><div>words</div>"),
        ('<p><img src="{}" title="IMG_1234"></p>', r"<p><img[^>]+></p>"),
    ],
)  # fmt: skip
async def test_a_hover_text_is_a_caption(reader, content, expected):
    """R104."""
    _, page = await opened(reader, title="A title", content=content.replace("{}", PICTURE))
    assert re.search(expected, prose_of(page)), prose_of(page)
    assert "title=" not in prose_of(page)


async def test_a_footnote_stays_on_the_page(reader):
    """R105."""
    content = '<p>Words<a href="#item-n1" rel="noopener noreferrer">1</a></p><p id="item-n1">Note</p>'
    prose = prose_of((await opened(reader, content=content))[1])
    assert '<a href="#item-n1" rel="noopener noreferrer">1</a>' in prose
    assert '<p id="item-n1">' in prose
    assert "_blank" not in prose


async def test_too_deeply_nested_content_is_shown_as_text(reader):
    """SEC-20."""
    started = time.process_time()
    _, page = await opened(reader, content="<div>" * 27_000 + "down there" + "</div>" * 27_000)
    assert "down there" in prose_of(page)
    assert time.process_time() - started < 3


async def test_one_film_in_several_sizes_has_one_player(reader):
    films = [Enclosure(f"https://v.example/{n}.mp4", media_type="video/mp4", duration_seconds=60) for n in (720, 480)]
    _, page = await opened(reader, enclosures=films)
    assert page.count("<video") == 1
    assert len(re.findall(r'class="medium" href="https://v.example/', page)) == 2


async def test_a_post_with_only_a_picture_is_titled_by_it(reader):
    """R103: and what stands for a picture is no text of the post."""
    row, page = await opened(reader, title="", content=f'<img src="{PICTURE}" alt="A boat at dawn">')
    assert ">A boat at dawn</a>" in row
    assert row.count("<p>") == 2, "no text beside where it is from and what can be done"
    assert '<h1 class="hidden-title">A boat at dawn</h1>' in page


async def test_an_article_is_tagged_and_its_tag_is_a_list(reader):
    item = reader.sample_shelf.items[0]
    page = await reader.guest.see(f"/items/{item}")
    found = re.search(r'name="entry" value="(\d+)"', page.text)
    assert found is not None
    entry = found[1]
    form = {"entry": entry, "back": f"/items/{item}"}
    await reader.guest.send("/inbox/tags", form | {"add": 'Sea & "sky"'})
    text = (await reader.guest.see(f"/items/{item}")).text
    link = re.search(r'<a class="tag" href="([^"]+)">Sea &amp; &#34;sky&#34;</a>', text)
    assert link is not None
    listed = (await reader.guest.see(unescape(link[1]))).text
    assert re.findall(r"/items/(\d+)\?", "".join(LINK.findall(listed))) == [str(item)]
    assert "<h1>Sea &amp; &#34;sky&#34;</h1>" in listed
    await reader.guest.send("/inbox/tags", form | {"remove": 'sea & "SKY"'})
    assert 'class="tag" href="/?tag=' not in (await reader.guest.see(f"/items/{item}")).text
