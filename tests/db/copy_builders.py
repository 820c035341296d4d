"""A SQLite database with something in many tables."""

from pathlib import Path

from tsuzuki.db import DatabaseOptions
from tsuzuki.db.migrate import migrate
from tsuzuki.db.sqlite_file import connect

NOW = 1_771_761_600_000
"""2026-02-22T12:00:00Z."""

FILL = """
insert into tenant (id, public_id, name, anchor_at, created_at, updated_at) values (7, zeroblob(16), '続き', 1, 2, 3);
insert into shelf (id, public_id, tenant_id, name, plan, created_at, updated_at)
  values (8, randomblob(16), 7, 'mine', 'self-hosted', 1, 2);
insert into user_account (id, public_id, tenant_id, default_shelf_id, username, role, created_at, updated_at)
  values (9, randomblob(16), 7, 8, 'reader', 'reader', 1, 2);
insert into source (uid, name, slug, base_url, connector, config, created_at, updated_at)
  values (9223372036854775807, 'S', 's', 'https://s.example', 'org.example.s', '{"b": [1, 2.5], "a": null}', 1, 2);
insert into source_meta (source_id, key, value) select id, 'key', 'a "value"' from source;
insert into series (id, public_id, title, match_key, is_nsfw, created_at, updated_at)
  values (3, randomblob(16), 'One', 'one', 1, 1, 2), (4, randomblob(16), 'Two', 'two', 0, 1, 2);
delete from series where id = 4;
insert into series_source (series_id, source_id, source_key, url, genres, created_at, updated_at)
  select 3, id, 'k', 'https://s.example/k', '["a","b"]', 1, 2 from source;
insert into chapter (id, series_id, key, number, number_sort, first_seen_at, updated_at)
  values (11, 3, '1.5', '1.5', 1500000, 1, 1);
insert into feed (id, link, title, created_at, updated_at) values (5, 'https://f.example/', 'F', 1, 2);
insert into watch (id, feed_id, host, next_check_at, created_at) values (6, 5, 'f.example', 9, 1);
insert into item (feed_id, key, title, content, sort_at, categories, content_hash, created_at)
  with recursive n (n) as (select 1 union all select n + 1 from n where n < ITEMS)
  select 5, 'k' || n, 'Title ' || n, '<p>' || n || '</p>', n, '["x"]', randomblob(32), n from n;
insert into entry (shelf_id, feed_id, item_id, unread, sort_at, created_at)
  select 8, 5, id, id % 3 = 0, sort_at, 1 from item where id <= 1000;
insert into entry (shelf_id, series_id, chapter_id, sort_at, created_at) values (8, 3, 11, 1, 1);
insert into progress (shelf_id, chapter_id, page, furthest_page, is_read, updated_at) values (8, 11, 3, 4, 0, 1);
insert into crawl_log (id, job_id, level, message, meta, created_at)
  values (randomblob(16), 1, 'info', 'hi', '{"n":1}', NOW);
insert into task (queue, key, payload, run_at, created_at) values ('q', 'k', '{"a":1}', 1, 1);
delete from task;
"""


async def filled(file: Path, items: int, now: int) -> DatabaseOptions:
    """The options of a migrated database with so many items of one feed, and a little of everything else."""
    options = DatabaseOptions(f"sqlite://{file}")
    await migrate(options, now=now)
    connection = connect(file)
    connection.execute(FILL.replace("ITEMS", str(items)).replace("NOW", str(now)))
    connection.close()
    return options
