"""Groups, and that every promised row is there."""

import re

from tests.api.reader.contract import GROUP, ROWS, is_time
from tsuzuki.api.binding import signature_of
from tsuzuki.api.build import ENDPOINTS
from tsuzuki.api.endpoints import Endpoint


def test_every_row_is_an_endpoint_with_the_promised_status():
    """Sessions, the provider's sign-in, lists of feeds and streams have their own tests; the other rows are beside."""
    offered = {f"{each.method} {re.sub(r'{[a-z_]+}', '{}', each.path)}": status_of(each) for each in ENDPOINTS}
    assert ROWS.keys() <= offered.keys()
    promised = {row: status for row, status in ROWS.items() if status is not None}
    assert {row: offered[row] for row in promised} == promised


def status_of(endpoint: Endpoint) -> int:
    """Whose handler answers nothing says so."""
    return 204 if signature_of(endpoint).answer in (None, type(None)) else endpoint.status


async def test_groups(me):
    [default] = await me.get("/groups")
    assert default.keys() >= GROUP
    assert (default["name"], default["is_default"]) == ("Default", True)
    assert is_time(default["created_at"])
    news = await me.post("/groups", {"name": " News "})
    assert (news["name"], news["is_default"]) == ("News", False)
    assert (await me.post("/groups", {"name": "News"}, expect=409))["code"] == "CONFLICT"
    assert (await me.post("/groups", {"name": "  "}, expect=400))["code"] == "VALIDATION_ERROR"
    assert (await me.get(f"/groups/{news['id']}"))["name"] == "News"
    renamed = await me.patch(f"/groups/{news['id']}", {"name": "Papers"})
    assert (renamed["id"], renamed["name"]) == (news["id"], "Papers")
    await me.patch(f"/groups/{news['id']}", {"name": "Default"}, expect=409)
    second = await me.post("/groups", {"name": "Second"})
    await me.patch(f"/groups/{second['id']}", {"position": 0})
    assert [one["name"] for one in await me.get("/groups")] == ["Default", "Second", "Papers"]
    assert (await me.delete(f"/groups/{default['id']}", expect=409))["code"] == "CONFLICT"
    await me.delete(f"/groups/{news['id']}")
    assert (await me.get(f"/groups/{news['id']}", expect=404))["code"] == "NOT_FOUND"
    await me.get("/groups/nonsense", expect=404)


async def test_deleting_a_group_moves_its_feeds_to_the_default_one(library, me):
    [default] = await me.get("/groups")
    group = await me.post("/groups", {"name": "News"})
    feed = await me.post("/feeds", {"link": library.press.publish("/a", "1"), "group_id": group["id"]})
    assert feed["group_id"] == group["id"]
    await me.delete(f"/groups/{group['id']}")
    assert (await me.get(f"/feeds/{feed['id']}"))["group_id"] == default["id"]
