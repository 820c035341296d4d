"""Dead letters on the admin pages (R55), and the log of what was done."""

import re

import pytest

from tests.api.people import RunningApp
from tests.crawler.builders import a_dead_letter, given_up
from tests.delivery.builders import a_channel, a_reader
from tsuzuki.accounts.sharing import shelf_user
from tsuzuki.accounts.types import SYSTEM
from tsuzuki.db.queries import parse_queries
from tsuzuki.model.ids import show_id
from tsuzuki.model.times import HOUR, Millis
from tsuzuki.notifications.tasks import SENDS, Message, Send
from tsuzuki.queue.service import ANY

_q = parse_queries(
    "tests",
    """
-- name: rest
update channel set rests_until = :until;
""",
)


async def open_letters(app: RunningApp) -> int:
    return len(await app.pipeline.tasks.letters(ANY))


async def test_a_letter_shows_its_queue_and_payload(app, operator):
    number = await a_dead_letter(app.db, app.time())
    for query in ("", "?queue=nobody", "?code=broken", "?before=nonsense"):
        assert f'href="/admin/dead-letters/{number}"' in (await operator.see(f"/admin/dead-letters{query}")).text
    assert "No results." in (await operator.see("/admin/dead-letters?queue=other")).text
    shown = await operator.see(f"/admin/dead-letters/{number}")
    for word in ("It broke.", "broken", "here", "{}"):
        assert word in shown.text
    assert (await operator.see("/admin/dead-letters/999")).status == 404


async def test_more_letters_than_a_page_has_are_on_the_next(app, operator):
    for _ in range(51):
        await a_dead_letter(app.db, app.time())
    first = await operator.see("/admin/dead-letters?queue=nobody")
    [older] = re.findall(r'href="(/admin/dead-letters\?queue=nobody&amp;before=\d+)"', first.text)
    second = await operator.see(older.replace("&amp;", "&"))
    both = [set(re.findall(r"/admin/dead-letters/(\d+)\"", page.text)) for page in (first, second)]
    assert [len(found) for found in both] == [50, 1]
    assert not both[0] & both[1]


async def test_r55_a_letter_is_replayed_once_and_its_page_says_so(app, operator):
    number = await a_dead_letter(app.db, app.time())
    path = f"/admin/dead-letters/{number}"
    assert (await operator.send(f"{path}/replay")).headers["location"] == f"{path}?done=letter_replayed"
    assert (await operator.send(f"{path}/replay")).status == 303
    assert "Replayed" in (await operator.see(path)).text
    assert await open_letters(app) == 0


async def test_a_letter_of_a_resting_channel_shows_its_retry(app, operator):
    shelf = await a_reader(app.db)
    await a_channel(app.db, shelf)
    now = Millis(app.time())
    await app.db.with_tx(lambda tx: tx.run(_q.rest, until=now + HOUR))
    message = Message(type="item.new", title="A feed", text="An item", at=now)
    number = await given_up(app.db, SENDS, Send(channel_id=1, delivery_id="1", message=message), now)
    path = f"/admin/dead-letters/{number}"
    assert "Its channel is paused after too many failures." in (await operator.see(path)).text
    await operator.send(f"{path}/replay")
    assert "What you replay is sent at " in (await operator.see(path)).text


async def test_replaying_all_says_when_a_resting_channel_is_called(app, operator):
    shelf = await a_reader(app.db)
    await a_channel(app.db, shelf)
    now = Millis(app.time())
    await app.db.with_tx(lambda tx: tx.run(_q.rest, until=now + HOUR))
    message = Message(type="item.new", title="A feed", text="An item", at=now)
    for delivery in ("1", "2"):
        await given_up(app.db, SENDS, Send(channel_id=1, delivery_id=delivery, message=message), now)
    done = await operator.send("/admin/dead-letters/replay", {"queue": SENDS.name})
    assert done.headers["location"] == f"/admin/dead-letters?done=letters_replayed&until={now + HOUR}"
    assert "They are sent at " in (await operator.see(done.headers["location"])).text
    assert "They are sent at " not in (await operator.see("/admin/dead-letters?until=1")).text
    await a_dead_letter(app.db, now)
    assert "until" not in (await operator.send("/admin/dead-letters/replay")).headers["location"]


async def test_discarding_asks_first_and_a_discarded_letter_is_not_replayed(app, operator):
    number = await a_dead_letter(app.db, app.time())
    path = f"/admin/dead-letters/{number}"
    assert "will not be done" in (await operator.see(f"{path}/discard")).text
    assert await open_letters(app) == 1
    await operator.send(f"{path}/discard")
    assert await open_letters(app) == 0
    refused = await operator.send(f"{path}/replay")
    assert refused.status == 409
    assert "was discarded" in refused.text


async def test_all_letters_of_one_kind_are_replayed_or_discarded(app, operator):
    for _ in range(3):
        await a_dead_letter(app.db, app.time())
    await operator.send("/admin/dead-letters/replay", {"queue": "other"})
    await operator.send("/admin/dead-letters/discard", {"code": "other"})
    assert await open_letters(app) == 3
    assert 'name="code" value="broken"' in (await operator.see("/admin/dead-letters/discard?code=broken")).text
    await operator.send("/admin/dead-letters/discard", {"code": "broken"})
    assert await open_letters(app) == 0
    await a_dead_letter(app.db, app.time())
    await operator.send("/admin/dead-letters/replay", {"queue": "nobody"})
    assert await open_letters(app) == 0


# -- the log


async def test_what_was_done_is_found_by_who_what_and_when(app, operator):
    number = await a_dead_letter(app.db, app.time())
    await operator.send(f"/admin/dead-letters/{number}/discard")
    found = "deadletter.discard"
    for query in ("", "?actor=admin", "?action=deadletter", "?type=deadletter", f"?id={number}", "?from=2020-01-01"):
        assert f"<strong>{found}</strong>" in (await operator.see(f"/admin/audit{query}")).text, query
    for query in ("?actor=system", "?actor=nobody", "?action=user", "?type=user", "?to=2020-01-01", "?from=2999-01-01"):
        assert f"<strong>{found}</strong>" not in (await operator.see(f"/admin/audit{query}")).text, query
    assert f"<strong>{found}</strong>" in (await operator.see("/admin/audit?from=yesterday&page=0")).text


async def test_the_log_names_people_and_shelves(app, operator):
    owner, other = await app.add(username="owner"), await app.add(username="other")
    shelf = await app.accounts.current_user.shelf_of(owner)
    await app.accounts.sharing.share(shelf_user(owner, SYSTEM), shelf.public_id, "other", "reader")
    text = (await operator.see("/admin/audit")).text
    shown = " ".join(re.sub(r"<[^>]+>", "", text).split())
    assert f"shelf.share shelf {shelf.name} " in shown
    assert "user.create user other " in shown
    assert f'title="{show_id(shelf.public_id)}"' in text
    await app.accounts.users.delete(SYSTEM, other.public_id)
    assert f"user.create user {show_id(other.public_id)} " in " ".join(
        re.sub(r"<[^>]+>", "", (await operator.see("/admin/audit?action=user.create")).text).split()
    )


async def test_the_log_has_pages_that_keep_their_filter(app, operator):
    for _ in range(51):
        await app.add()
    first = await operator.see("/admin/audit?action=user")
    assert "Page 1 of 2" in first.text
    assert "/admin/audit?action=user&amp;page=2" in first.text
    assert "Page 2 of 2" in (await operator.see("/admin/audit?action=user&page=2")).text


async def test_pausing_is_shown_to_the_operator_and_in_the_log(app, operator):
    await operator.send("/admin/crawler", {"pause": "on", "reason": "moving house"})
    assert "All sources are paused since" in (await operator.see("/admin")).text
    assert "moving house" in (await operator.see("/admin/audit?action=crawler")).text
    await operator.send("/admin/crawler")
    assert "All sources are paused since" not in (await operator.see("/admin")).text


@pytest.mark.parametrize(
    ("path", "narrowed", "empty"),
    [
        ("/admin/sources", "q=zzz", "A source is a site with comics."),
        ("/admin/jobs", "status=cancelled", "Start a crawl on the page of a source"),
        ("/admin/dead-letters", "code=zzz", "No task has failed for good"),
        ("/admin/audit", "action=zzz", None),
    ],
)
async def test_an_empty_filtered_list_leads_back(operator, path, narrowed, empty):
    """It is no empty list: that one says what to do."""
    page = await operator.see(f"{path}?{narrowed}")
    assert "No results." in page.text
    assert f'<a class="button quiet" href="{path}">Show all</a>' in page.text
    whole = await operator.see(path)
    assert "No results." not in whole.text
    assert empty is None or empty in whole.text
