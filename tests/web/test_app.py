"""The other pages of a reader without scripts: search, bookmarks, settings, notifications, and the app to install."""

import re
from typing import Literal

import pytest

from tests.web.guests import Guest, error_of, value_of
from tests.web.reader_setup import follow_to
from tests.web.sample_shelf import PARAGRAPHS
from tsuzuki.notifications.kinds import KINDS
from tsuzuki.notifications.kinds.base import ChannelConfig, ChannelKind, post


async def test_a_search_finds_articles_feeds_and_shows_hits_as_marks(reader):
    page = await reader.guest.see("/search?q=lantern")
    assert "The Paper Lantern" in page.text
    marked = await reader.guest.see("/search?q=waiting")
    assert "A morning at the type foundry" in marked.text
    assert "Much of it is <mark>waiting</mark>" in marked.text
    assert "Nothing found." in (await reader.guest.see("/search?q=zzzzzz")).text


async def test_a_bookmark_is_read_noted_and_deleted(reader):
    await reader.guest.send("/inbox/mark", {"save": f"i{reader.sample_shelf.items[0]}"})
    [path] = set(re.findall(r'href="(/bookmarks/[\w-]+)"', (await reader.guest.see("/bookmarks")).text))
    assert "Much of it is waiting." in PARAGRAPHS
    assert "Much of it is waiting." in (await reader.guest.see(path)).text
    noted = await follow_to(reader.guest, await reader.guest.send(f"{path}/note", {"note": "For <later>"}))
    assert "For &lt;later&gt;</textarea>" in noted.text
    after = await follow_to(reader.guest, await reader.guest.send(f"{path}/delete"))
    assert "No bookmarks yet." in after.text


async def test_settings_are_kept_and_shown_by_the_first_paint(reader):
    sent = {"is_whole": "1", "theme": "dark", "density": "compact", "text_size": "large", "marks_on_scroll": "on"}
    after = await follow_to(reader.guest, await reader.guest.send("/settings", sent | {"time_zone": "Asia/Tokyo"}))
    assert 'class="theme-dark density-compact text-large reading-serif width-normal"' in after.text
    assert "data-marks-on-scroll" in (await reader.guest.see("/")).text
    assert "If empty, taken from your browser." in after.text
    for sent_now, ticked in (({"opds_turns_pages": "on"}, True), ({"is_whole": "1"}, False)):
        shown = await follow_to(reader.guest, await reader.guest.send("/settings", sent_now))
        assert ('name="opds_turns_pages" checked' in shown.text) is ticked
    wrong = await reader.guest.send("/settings", {"time_zone": "Atlantis"})
    assert (wrong.status, error_of(wrong, "time_zone")) == (400, "Unknown time zone.")
    assert (await reader.guest.send("/settings", {"theme": "pink"})).status == 400


async def test_a_channel_shows_its_secret_once(reader):
    form = {"kind": "webhook", "name": "Mine"}
    refused = await reader.guest.send("/notifications", form | {"config.url": "http://127.0.0.1/"})
    assert (refused.status, value_of(refused, "name")) == (400, "Mine")
    assert error_of(refused, "config.url") is not None
    made = await reader.guest.send("/notifications", form | {"config.url": "http://93.184.216.34/hook"})
    [secret] = re.findall(r'<output class="secret" id="secret">([^<]+)<', made.text)
    listed = await reader.guest.see("/notifications")
    assert "Remove Mine" in listed.text
    assert secret not in listed.text


async def test_trying_a_channel_is_limited_and_needs_it_on(reader):
    form = {"kind": "webhook", "name": "Mine", "config.url": "http://93.184.216.34/hook"}
    await reader.guest.send("/notifications", form)
    path = re.findall(r'action="(/notifications/[\w-]+)/test"', (await reader.guest.see("/notifications")).text)[0]
    sent = [await reader.guest.send(f"{path}/test") for _ in range(11)]
    assert [answer.status for answer in sent] == [303] * 10 + [429]
    assert re.search(r"Too many attempts\. Try again in \d+ seconds\.", sent[-1].text)
    assert "retry-after" in sent[-1].headers
    assert "Remove Mine" in sent[-1].text  # it is the page itself that says so
    await reader.guest.send(f"{path}/switch", {"enabled": "off"})
    assert f"{path}/test" not in (await reader.guest.see("/notifications")).text
    off = await reader.guest.send(f"{path}/test")
    assert (off.status, "Turn it on first." in off.text) == (409, True)


async def test_the_app_is_installable_and_caches_nothing_personal(reader):
    manifest = (await reader.guest.see("/manifest.webmanifest")).json()
    for icon in manifest["icons"]:
        assert (await reader.guest.see(icon["src"])).headers["content-type"] == "image/png"
    worker = await reader.guest.see("/sw.js")
    kept = re.findall(r'"(/[^"]*)"', worker.text.partition("\nconst name")[0])
    assert kept[0] == "/offline"
    assert all(path.startswith("/static/") for path in kept[1:])
    for path in kept:
        assert (await Guest(reader.app.client).see(path)).status == 200


async def test_the_form_of_a_channel_follows_its_config(reader):
    page = await reader.guest.see("/notifications")
    forms = dict(re.findall(r'name="kind" value="(\w+)">(.*?)</form>', page.text, re.DOTALL))
    fields = {kind: re.findall(r'name="config\.(\w+)"', form) for kind, form in forms.items()}
    assert (fields["webhook"], fields["ntfy"]) == (["url"], ["topic", "url", "token", "priority"])
    assert fields.keys() == {name for name, kind in KINDS.items() if not kind.is_browser}
    form = {"kind": "ntfy", "name": "Phone", "config.url": "http://93.184.216.34/", "config.token": "tk_1"}
    wrong = await reader.guest.send("/notifications", form | {"config.topic": "my-topic", "config.priority": "9"})
    assert (wrong.status, value_of(wrong, "config.priority")) == (400, "9")
    assert error_of(wrong, "config.priority") is not None
    assert "tk_1" not in wrong.text  # no secret is shown again
    assert value_of(wrong, "config.topic") == "my-topic"  # to be typed once, and seen: who mistypes it hears nothing
    right = form | {"config.topic": "news", "config.priority": "5"}
    made = await follow_to(reader.guest, await reader.guest.send("/notifications", right))
    assert "Channel added." in made.text
    assert "Remove Phone" in made.text


class OddConfig(ChannelConfig, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Shapes that none of ours has yet."""

    markdown: bool = False
    size: Literal["small", "large"] = "small"
    rooms: tuple[str, ...] = ()
    access_token: str | None = None


class OddKind(ChannelKind[OddConfig]):
    name = "odd"
    title = "Odd"
    config = OddConfig

    def compose(self, config, send, *, now):
        return post(config.url, {"id": send.delivery_id, "at": now})


@pytest.fixture
def odd_kind(monkeypatch):
    monkeypatch.setitem(KINDS, "odd", OddKind())


@pytest.mark.usefixtures("odd_kind")
async def test_a_channel_form_has_ticks_choices_and_lists(reader):
    form = {"kind": "odd", "name": "Mine", "config.markdown": "on", "config.size": "large", "config.rooms": "a\nb"}
    form |= {"config.access_token": "s3cret", "config.url": "http://127.0.0.1/"}
    wrong = await reader.guest.send("/notifications", form)
    assert wrong.status == 400
    assert re.search(r'type="checkbox" name="config.markdown" checked', wrong.text)
    assert "<option selected>large</option>" in wrong.text
    assert re.search(r'<textarea[^>]* name="config.rooms"[^>]*>a\nb</textarea>', wrong.text)
    assert "s3cret" not in wrong.text
    assert (await reader.guest.send("/notifications", form | {"config.url": "http://93.184.216.34/"})).status == 303
    [channel] = await reader.app.channels.list(reader.sample_shelf.shelf, reader.user.id)
    assert channel.config["markdown"] is True
    assert (channel.config["size"], channel.config["rooms"]) == ("large", ["a", "b"])


@pytest.mark.usefixtures("odd_kind")
async def test_a_secret_of_a_channel_is_not_readable_while_typed(reader):
    page = (await reader.guest.see("/notifications")).text
    types = dict(re.findall(r'<input id="([\w-]+)" name="config[^"]*" type="(\w+)"', page))
    assert (types["ntfy-token"], types["ntfy-topic"], types["odd-access_token"]) == ("password", "text", "password")
    assert (types["ntfy-url"], types["ntfy-priority"]) == ("url", "text")
