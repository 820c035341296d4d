"""An article without scripts: read beside its neighbours, with everything in it by way of this server."""

import re
from html import unescape

import pytest

from tests.web.home import LINK, unread
from tests.web.stage import an_item, release_items


async def test_an_article_is_read_with_its_neighbours_of_the_list_it_was_opened_from(home):
    links = [unescape(link) for link in LINK.findall((await home.guest.see("/?kind=item")).text)]
    page = await home.guest.see(links[3])
    assert "The last panel is decided" in page.text
    assert page.text.count("<h1") == 1
    ids = [re.findall(r"/items/(\d+)", link)[0] for link in links]
    assert f"/items/{ids[2]}?kind=item" in page.text
    assert f"/items/{ids[4]}?kind=item" in page.text
    assert 'href="/?kind=item"' in page.text  # back to the list


async def test_sec_16_opening_an_article_by_its_address_marks_nothing(home):
    before = unread(await home.guest.see("/"))
    page = await home.guest.see(f"/items/{home.stage.items[0]}")
    assert "data-unread=" in page.text  # a script posts it
    assert unread(await home.guest.see("/")) == before


async def test_i7_pictures_and_recordings_come_through_us(home):
    content = (
        '<p>One</p><img src="https://pictures.example/a.png" srcset="https://pictures.example/b.png 2x" alt="A boat">'
        '<video src="https://media.example/v.mp4" controls></video><h1>Loud</h1>'
        '<a href="https://example.org/x">there</a>'
    )
    late = an_item("media", at=home.town.time(), title="Media", content=content)
    await release_items(home.town, home.stage.feeds[0], [late])
    path = LINK.findall((await home.guest.see("/")).text)[0]
    text = (await home.guest.see(unescape(path))).text
    prose = text[text.index('class="prose"') :]
    assert re.search(r'<img[^>]+src="/api/v1/images/[\w-]+/[\w-]+"', prose)
    assert "pictures.example" not in re.sub(r"/api/v1/images/\S+", "", prose)
    assert re.search(r'<video controls="" preload="none"[^>]+ src="/api/v1/media/video-\d+/[\w-]+/[\w-]+"', prose)
    assert 'href="https://media.example/v.mp4"' in prose
    assert "<h1" not in prose
    assert prose.count('rel="noopener noreferrer nofollow"') == 2


@pytest.mark.parametrize("path", ["/items/0", "/items/x", "/items/99999999999999999999", "/items/-1"])
async def test_an_article_that_is_not_there_is_not_found(home, path):
    assert (await home.guest.see(path)).status == 404
