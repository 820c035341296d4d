"""Feeds out, as feed readers fetch them."""

import feedparser

from tests.api.people import a_running_app
from tests.app import in_settings
from tests.protocols.people import an_app_reader
from tsuzuki.connectors.feed.parser import parse_fast
from tsuzuki.inbox.feeds_out.types import FORMATS, NewFeedOut


async def test_a_feed_is_read_back(empty_database_url, tmp_path):
    async with a_running_app(tmp_path, database_url=in_settings(empty_database_url)) as app:
        ann = await an_app_reader(app)
        await ann.add_feed("The Gull Letters", items=2)
        await ann.add_series("The Lighthouse Cat", group="Comics")
        feed = await app.feeds_out.add(ann.shelf, ann.user.id, NewFeedOut(name="All of it"))
        for form in FORMATS:
            answer = await app.client.ask("GET", feed.path(form))
            print(answer.status, answer.headers, answer.text)
            harvest = parse_fast(answer.body, "http://x/")
            print([(i.key, i.title, i.link) for i in harvest.items])
            print(feedparser.parse(answer.body).entries[:1] if form != "json" else "")
            again = await app.client.ask("GET", feed.path(form), headers={"if-none-match": answer.headers["etag"]})
            assert again.status == 304
    assert False
