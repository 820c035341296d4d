"""Fever, as its apps speak it."""

from tests.api.people import a_running_app
from tests.app import in_settings
from tests.protocols.people import an_app_reader


async def test_an_app_lists_reads_marks_and_saves(empty_database_url, tmp_path):
    async with a_running_app(tmp_path, database_url=in_settings(empty_database_url)) as app:
        ann = await an_app_reader(app)
        await ann.add_feed("The Gull Letters", items=2)
        await ann.add_series("The Lighthouse Cat", group="Comics")
        groups = await ann.fever("api&groups")
        assert (groups["api_version"], groups["auth"]) == (3, 1)
        assert [group["title"] for group in groups["groups"]] == ["Default", "Comics"]
        feeds = (await ann.fever("api&feeds"))["feeds"]
        assert [feed["title"] for feed in feeds] == ["The Gull Letters", "The Lighthouse Cat"]
        found = await ann.fever("api&items&since_id=0")
        assert found["total_items"] == len(found["items"]) == 5
        ids = [item["id"] for item in found["items"]]
        assert ids == sorted(ids)
        unread = (await ann.fever("api&unread_item_ids"))["unread_item_ids"]
        assert unread == ",".join(map(str, ids))
        await ann.fever("api", mark="item", **{"as": "read"}, id=str(ids[0]))
        await ann.fever("api", mark="item", **{"as": "saved"}, id=str(ids[-1]))
        after = await ann.fever("api&unread_item_ids&saved_item_ids")
        assert after["unread_item_ids"] == ",".join(map(str, ids[1:]))
        assert after["saved_item_ids"] == str(ids[-1])
        await ann.fever("api", mark="group", **{"as": "read"}, id="0", before="0")
        assert (await ann.fever("api&unread_item_ids"))["unread_item_ids"] == ""
