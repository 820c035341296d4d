"""What apps and pages show of icons: anybody who was told an address has the picture, nobody can guess one."""

import base64

import pytest

from tests.api.people import a_running_app
from tests.app import in_settings, settings_for
from tests.images.builders import a_picture
from tests.images.test_icons import IconSite
from tests.net.builders import a_server
from tests.protocols.people import an_app_reader
from tests.protocols.reader_client import ReaderClient
from tsuzuki.app.bootstrap import _extra_work, open_tsuzuki
from tsuzuki.db.queries import parse_queries
from tsuzuki.images.icons import Icons

q = parse_queries(
    "tests",
    """
-- name: set_icon
update feed set icon_url = :icon_url where id = :id;
""",
)


@pytest.fixture
async def site():
    site = IconSite()
    async with a_server(site.handle) as server:
        site.server = server
        site.put("/red.png", a_picture("PNG", (40, 40), color="red"))
        yield site


async def test_apps_and_pages_show_a_feeds_icon(empty_database_url, tmp_path, site):
    url, allowed = in_settings(empty_database_url), "127.0.0.0/8"
    async with a_running_app(tmp_path, database_url=url, allow_private_networks=allowed) as app:
        ann = await an_app_reader(app, "fever", "greader", "miniflux")
        feed = await ann.add_feed("The Gull Letters")
        await ann.add_feed("Another")
        await app.db.with_tx(lambda tx: tx.run(q.set_icon, id=feed, icon_url=f"{site.url}/red.png"))
        icons: Icons = app.pictures.icons
        await icons.work()
        [icon] = (await icons.of_shelf(ann.shelf)).values()
        answer = await app.client.get(icon.path)
        assert (answer.status, answer.headers["content-type"]) == (200, "image/png")
        assert answer.headers["cache-control"].endswith("immutable")
        assert "sandbox" in answer.headers["content-security-policy"]
        feeds = (await ann.fever("api&feeds"))["feeds"]
        assert [one["favicon_id"] for one in feeds] == [icon.id, 0]
        [shown] = (await ann.fever("api&favicons"))["favicons"]
        assert shown == {"id": icon.id, "data": "image/png;base64," + base64.b64encode(answer.body).decode()}
        listed = await (await ReaderClient(ann).sign_in()).get("subscription/list")
        assert [one["iconUrl"] for one in listed["subscriptions"]] == [app.client.base + icon.path, ""]
        key = {"x-auth-token": ann.key}
        first, second = (await app.client.get("/miniflux/v1/feeds", headers=key)).json()
        assert (first["icon"]["icon_id"], second["icon"]) == (icon.id, None)
        for path in (f"/miniflux/v1/feeds/{first['id']}/icon", f"/miniflux/v1/icons/{icon.id}"):
            found = (await app.client.get(path, headers=key)).json()
            assert found == {"id": icon.id, "mime_type": "image/png", "data": shown["data"]}
        assert (await app.client.get(f"/miniflux/v1/feeds/{second['id']}/icon", headers=key)).status == 404
        page = await app.client.get("/feeds", headers=(await app.signed_in(ann.user)).headers)
        assert page.text.count(f'src="{icon.path}"') == 1
        stranger = await an_app_reader(app, "fever")
        assert (await stranger.fever("api&favicons"))["favicons"] == []


async def test_an_unknown_icon_is_a_404(tmp_path):
    async with a_running_app(tmp_path) as app:
        for name in ("1", "0" * 32, "%00" * 32):
            assert (await app.client.get(f"/icons/{name}")).status == 404


@pytest.mark.parametrize("is_on", [True, False])
async def test_the_operator_may_have_none_fetched(tmp_path, is_on):
    async with open_tsuzuki(settings_for(tmp_path, icons="on" if is_on else "off")) as opened:
        assert any(chore.name == "icons" for chore in _extra_work(opened).chores) == is_on
