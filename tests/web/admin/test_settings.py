"""The settings as the operator sees them."""

from tests.api.people import PASSWORD, a_running_app
from tests.web.guests import a_guest
from tsuzuki.app.front import effective_settings
from tsuzuki.settings import read_settings, variables


def test_every_setting_is_described_without_secrets(tmp_path):
    environ = {"TSUZUKI_DATA_DIR": str(tmp_path), "TSUZUKI_PASSWORD": "s3cret word", "TSUZUKI_PULL_INTERVAL": "15m"}
    environ["TSUZUKI_DATABASE_URL"] = "postgresql://me:s3cret@db/tsuzuki"
    rows = {row.name: row for row in effective_settings(read_settings(environ), environ)}
    assert set(rows) == set(variables())
    assert (rows["TSUZUKI_PULL_INTERVAL"].value, rows["TSUZUKI_PULL_INTERVAL"].is_set) == ("15m", True)
    assert (rows["TSUZUKI_PULL_CONCURRENCY"].value, rows["TSUZUKI_PULL_CONCURRENCY"].is_set) == ("10", False)
    assert rows["TSUZUKI_DATABASE_URL"].value == "postgresql://me:***@db/tsuzuki"
    assert not [row for row in rows.values() if "s3cret" in row.value]


async def test_the_page_has_all_of_them_in_their_groups(tmp_path):
    async with a_running_app(tmp_path) as app:
        page = await (await a_guest(app, await app.admin())).see("/admin/settings")
    assert all(name in page.text for name in variables())
    assert "Fetching" in page.text
    assert PASSWORD not in page.text
