-- name: series_of
-- inline: by primary key
select series_id from series_source where id = :id;

-- name: upsert_chapters
-- I1, R1: `revision = 0` in RETURNING means that this statement inserted the row. An unchanged row is neither written
-- nor returned. R6: an empty title or date never overwrites a stored one; first_seen_at never changes.
insert into chapter (series_id, key, number, number_sort, volume, title, published_at, first_seen_at, updated_at)
select
  cast(:series_id as bigint), value ->> 'key', value ->> 'number', cast(value ->> 'number_sort' as bigint),
  value ->> 'volume', value ->> 'title', cast(value ->> 'published_at' as bigint), cast(:now as bigint), cast(:now as bigint)
from json_each(cast(:rows as text))
where true
on conflict (series_id, key) do update set
  volume = coalesce(excluded.volume, chapter.volume),
  title = case when excluded.title = '' then chapter.title else excluded.title end,
  published_at = coalesce(excluded.published_at, chapter.published_at),
  updated_at = excluded.updated_at,
  revision = chapter.revision + 1
where (excluded.title <> '' and excluded.title <> chapter.title)
  or (excluded.volume is not null and excluded.volume is distinct from chapter.volume)
  or (excluded.published_at is not null and excluded.published_at is distinct from chapter.published_at)
returning id, key, number, number_sort, title, revision = 0 as is_new;

-- name: raise_latest
-- R6, REL-05: the latest chapter never goes down, whatever comes last.
update series
set latest_number = :number, latest_sort = :number_sort, last_chapter_at = :now, updated_at = :now
where id = :series_id and (latest_sort is null or latest_sort < :number_sort);

-- name: upsert_releases
-- I1, R5: the address is an attribute; a new one updates the row in place. Newness as in upsert_chapters. R100:
-- last_seen_at moves at most once a day. R101: so is the group. Pages of another chapter are fetched anew.
insert into release (
  chapter_id, series_source_id, key, source_key, url, real_url, title, language, group_name, published_at, source_order,
  page_count, is_readable, content_hash, first_seen_at, last_seen_at
)
select
  chapter.id, cast(:series_source_id as bigint), value ->> 'key', value ->> 'source_key', value ->> 'url',
  value ->> 'real_url', value ->> 'title', value ->> 'language', value ->> 'group_name',
  cast(value ->> 'published_at' as bigint), cast(value ->> 'source_order' as bigint),
  cast(value ->> 'page_count' as bigint), {as_boolean}, unhex(value ->> 'content_hash'), cast(:now as bigint), cast(:now as bigint)
from json_each(cast(:rows as text))
cross join chapter
where chapter.series_id = :series_id and chapter.key = value ->> 'chapter_key'
on conflict (series_source_id, key) do update set
  chapter_id = excluded.chapter_id,
  source_key = coalesce(excluded.source_key, release.source_key),
  url = excluded.url,
  real_url = coalesce(excluded.real_url, release.real_url),
  title = case when excluded.title = '' then release.title else excluded.title end,
  language = coalesce(excluded.language, release.language),
  group_name = coalesce(excluded.group_name, release.group_name),
  published_at = coalesce(excluded.published_at, release.published_at),
  source_order = excluded.source_order,
  is_readable = excluded.is_readable,
  is_available = true,
  absences = 0,
  pages_fetched_at = case when excluded.chapter_id = release.chapter_id then release.pages_fetched_at end,
  content_hash = excluded.content_hash,
  last_seen_at = case
    when excluded.last_seen_at - release.last_seen_at >= 86400000 then excluded.last_seen_at else release.last_seen_at
  end,
  revision = release.revision + 1
where excluded.content_hash <> release.content_hash
returning id, chapter_id, key, revision = 0 as is_new;

-- fragment: as_boolean
cast(value ->> 'is_readable' as bigint)

-- name: add_books
-- One row for each: two files of one name, of several releases of a chapter, would touch a row twice.
insert into chapter_book (digest, chapter_id, release_id, page_count)
select value ->> 'digest', release.chapter_id, max(release.id), max(cast(value ->> 'page_count' as bigint))
from json_each(cast(:rows as text))
cross join release
where release.series_source_id = :series_source_id and release.key = value ->> 'key'
group by value ->> 'digest', release.chapter_id
on conflict (digest, chapter_id) do update set release_id = excluded.release_id, page_count = excluded.page_count;

-- name: upsert_items
-- I1, R32: an item whose content changed is updated in place.
insert into item (
  feed_id, key, title, link, link_key, author, content, summary, published_at, published_raw, sort_at, categories, enclosures,
  page_urls, image_url, comments_url, content_hash, created_at
)
select
  found.feed_id, found.key, found.title, found.link, found.link_key, found.author, found.content, found.summary,
  found.published_at, found.published_raw, found.sort_at, found.categories, found.enclosures, found.page_urls,
  found.image_url, found.comments_url, unhex(found.content_hash), cast(:now as bigint)
from {found_items}
where not exists (  -- REL-39d: removed since the poll found it
  select 1 from item_tombstone where item_tombstone.feed_id = found.feed_id and item_tombstone.key = found.key
)
order by found.place  -- ids in the order of the feed: it is what tells items of the same moment apart
on conflict (feed_id, key) do update set
  title = excluded.title,
  link = coalesce(excluded.link, item.link),
  link_key = coalesce(excluded.link_key, item.link_key),
  author = coalesce(excluded.author, item.author),
  content = excluded.content,
  summary = excluded.summary,
  categories = excluded.categories,
  enclosures = excluded.enclosures,
  page_urls = excluded.page_urls,
  image_url = coalesce(excluded.image_url, item.image_url),
  comments_url = coalesce(excluded.comments_url, item.comments_url),
  content_hash = excluded.content_hash,
  updated_at = excluded.created_at,
  revision = item.revision + 1
where excluded.content_hash <> item.content_hash
returning id, feed_id, key, revision = 0 as is_new, link_key;

-- fragment: found_items
(
  select cast(value ->> 'feed_id' as bigint) as feed_id, value ->> 'key' as key, value ->> 'title' as title,
    value ->> 'link' as link, value ->> 'link_key' as link_key, value ->> 'author' as author,
    value ->> 'content' as content, value ->> 'summary' as summary,
    cast(value ->> 'published_at' as bigint) as published_at, value ->> 'published_raw' as published_raw,
    cast(value ->> 'sort_at' as bigint) as sort_at, value ->> 'categories' as categories,
    value ->> 'enclosures' as enclosures, value ->> 'page_urls' as page_urls, value ->> 'image_url' as image_url,
    value ->> 'comments_url' as comments_url, value ->> 'content_hash' as content_hash, json_each.id as place
  from json_each(cast(:rows as text))
) as found

-- name: index_items
-- The index is a table of its own: nothing but a changed title or content touches it.
insert or replace into item_search (rowid, title, body)
select cast(value ->> 'id' as bigint), value ->> 'title', value ->> 'body'
from json_each(cast(:rows as text));

-- name: index_series
insert or replace into series_search (rowid, title, body)
select cast(value ->> 'id' as bigint), value ->> 'title', value ->> 'body'
from json_each(cast(:rows as text));

-- name: index_chapters
insert or replace into chapter_search (rowid, title, body)
select cast(value ->> 'id' as bigint), value ->> 'title', value ->> 'body'
from json_each(cast(:rows as text));

-- name: existing_watches
select watch.id
from json_each(cast(:rows as text)) as wanted
join watch on watch.id = cast(wanted.value ->> 0 as bigint);

-- name: add_appearances
-- R4: "chapter N appeared on source S" happens once.
insert into appearance (series_source_id, chapter_id, at)
select cast(:series_source_id as bigint), chapter.id, cast(:now as bigint)
from json_each(cast(:rows as text))
cross join chapter
where chapter.series_id = :series_id and chapter.key = value ->> 'key'
on conflict (series_source_id, chapter_id) do nothing
returning chapter_id;

-- name: released
-- R24, R98: something new makes a watch hot at once, whoever found it, and a series is looked at again by that class. Says
-- whether others hold installments of it that are not stored yet. Rows are a watch and the task that stores it now.
update watch
set last_release_at = case when last_release_at > cast(:now as bigint) then last_release_at else cast(:now as bigint) end,
  priority = 1, next_check_at = case when {is_too_late} then {hot_at} else next_check_at end,
  next_check_why = case when {is_too_late} then :hot_why else next_check_why end
where {is_wanted}
returning id, first_harvest_at,
  exists (select 1 from task where {is_waiting}) or exists (select 1 from dead_letter where {is_given_up}) as is_awaited;

-- fragment: hot_at
-- Never faster than the fastest plan among its readers allows.
(cast(:now as bigint) + case when poll_floor > cast(:hot as bigint) then poll_floor else cast(:hot as bigint) end)

-- fragment: is_too_late
-- Who polls it now decides by what is stored; a Retry-After holds.
series_source_id is not null and suspended_at is null and (lease_until is null or lease_until <= :now)
  and (retry_after_until is null or retry_after_until <= {hot_at}) and next_check_at > {hot_at}

-- fragment: is_wanted
id in (select cast(value ->> 0 as bigint) from json_each(cast(:rows as text)))

-- fragment: is_waiting
-- By task_active: the keys that begin with this watch's prefix.
task.queue = :queue and task.status in ('queued', 'running')
  and task.key >= 'ingest-' || watch.id || '-' and task.key < 'ingest-' || watch.id || '.'
  and task.id not in (select cast(value ->> 1 as bigint) from json_each(cast(:rows as text)))

-- fragment: is_given_up
dead_letter.queue = :queue and dead_letter.replayed_at is null and dead_letter.discarded_at is null
  and dead_letter.key >= 'ingest-' || watch.id || '-' and dead_letter.key < 'ingest-' || watch.id || '.'

-- name: unstored
-- R8: what other tasks of these watches carry, and what was given up of them.
select watch.id, payload
from json_each(cast(:rows as text)) as wanted cross join watch cross join task
where watch.id = cast(wanted.value ->> 0 as bigint) and {is_waiting}
union all
select watch.id, payload
from json_each(cast(:rows as text)) as wanted cross join watch cross join dead_letter
where watch.id = cast(wanted.value ->> 0 as bigint) and {is_given_up};

-- name: count_unknown_items
select count(*) from json_each(cast(:rows as text)) as found
where not exists (select 1 from item where item.feed_id = :feed_id and item.key = found.value ->> 0)
  and not exists (
    select 1 from item_tombstone where item_tombstone.feed_id = :feed_id and item_tombstone.key = found.value ->> 0
  );

-- name: count_unknown_chapters
select count(*) from json_each(cast(:rows as text)) as found
where not exists (select 1 from chapter where chapter.series_id = :series_id and chapter.key = found.value ->> 0);

-- name: prune_item_tombstones
-- One that was in the last document that was read stays, though that may be long ago: see `touch_tombstones`.
delete from item_tombstone where (feed_id, key) in (
  select gone.feed_id, gone.key from item_tombstone as gone
  join watch on watch.feed_id = gone.feed_id
  where gone.at < :before and gone.at < watch.harvested_at - :touched
  order by gone.at limit :most
);

-- name: prune_tombstones
delete from entry_tombstone where (feed_id, key, shelf_id) in (
  select feed_id, key, shelf_id from entry_tombstone where at < :before order by at limit :most
);

-- name: pageless_releases
select id, url, title from release
where series_source_id = :series_source_id and pages_fetched_at is null and is_readable
order by source_order desc
limit :most;

-- name: upsert_pages
-- R63, REL-17: a list that is read again changes what changed.
insert into page (release_id, position, url, image_url)
select cast(:release_id as bigint), cast(value ->> 'index' as bigint), value ->> 'url', value ->> 'image_url'
from json_each(cast(:rows as text))
where true
on conflict (release_id, position) do update set url = excluded.url, image_url = excluded.image_url;

-- name: drop_surplus_pages
-- R63: a list that has shrunk.
delete from page where release_id = :release_id and position >= :count;

-- name: pages_fetched
update release set page_count = :count, pages_fetched_at = :now where id = :release_id;

-- name: known_releases
select key, content_hash, source_key, url, is_available, absences, last_seen_at
from release where series_source_id = :series_source_id;

-- name: rename_releases
-- R101: the key follows what it is made of. What is stored under the new key already stays as it is.
update release set key = renamed.key
from (
  select known.id, value ->> 'key' as key from json_each(cast(:rows as text)) cross join release as known
  where known.series_source_id = :series_source_id and known.key = value ->> 'previous_key'
) as renamed
where release.id = renamed.id and not exists (
  select 1 from release as other where other.series_source_id = :series_source_id and other.key = renamed.key
);

-- name: mark_seen
-- R100: it is there again; last_seen_at moves at most once a day.
update release
set is_available = true, absences = 0,
  last_seen_at = case when cast(:now as bigint) - last_seen_at >= 86400000 then cast(:now as bigint) else last_seen_at end
where series_source_id = :series_source_id and key in (select value ->> 'key' from json_each(cast(:rows as text)));

-- name: mark_absent
-- R100: unavailable when the second listing in a row lacks it.
update release set absences = absences + 1, is_available = is_available and absences + 1 < :most_absences
where series_source_id = :series_source_id and key in (select value ->> 'key' from json_each(cast(:rows as text)));

-- name: is_subscribed
select exists (select 1 from subscription where shelf_id = :shelf_id and feed_id = :feed_id) as is_subscribed;

-- name: shelf_items
-- Of these keys, what the shelf has under this feed: the feed's own last, so that it counts. Both branches by the
-- unique (feed_id, key).
select item.key, item.id from json_each(cast(:rows as text))
cross join item
join entry on entry.shelf_id = :shelf_id and entry.item_id = item.id and entry.feed_id = :feed_id
where item.feed_id is null and item.key = value ->> 0
union all
select item.key, item.id from json_each(cast(:rows as text))
cross join item
join entry on entry.shelf_id = :shelf_id and entry.item_id = item.id
where item.feed_id = :feed_id and item.key = value ->> 0;

-- name: feed_items
select item.key, item.id from json_each(cast(:rows as text))
cross join item
where item.feed_id = :feed_id and item.key = value ->> 0;

-- name: add_detached
-- In the order of the rows, so that ties are listed in the same order. Without a link_key: for the shelf that brought
-- it, the key is enough to know it again (see `adoptable`).
insert into item (
  key, title, link, author, content, summary, published_at, published_raw, sort_at, categories, enclosures, page_urls,
  image_url, comments_url, content_hash, created_at, updated_at
)
select
  value ->> 'key', value ->> 'title', value ->> 'link', value ->> 'author', value ->> 'content', value ->> 'summary',
  cast(value ->> 'published_at' as bigint), value ->> 'published_raw', cast(value ->> 'sort_at' as bigint), {item_json},
  value ->> 'image_url', value ->> 'comments_url', unhex(value ->> 'content_hash'),
  cast(value ->> 'created_at' as bigint), cast(value ->> 'updated_at' as bigint)
from json_each(cast(:rows as text))
order by cast(value ->> 'n' as bigint)
returning key, id;

-- fragment: item_json
value ->> 'categories', value ->> 'enclosures', value ->> 'page_urls'

-- name: put_entries
-- I2. What is read or saved on either side stays so.
insert into entry (shelf_id, feed_id, item_id, unread, saved, sort_at, read_at, created_at, appeared_at)
select cast(:shelf_id as bigint), cast(:feed_id as bigint), cast(value ->> 'item_id' as bigint),
  cast(value ->> 'unread' as boolean), cast(value ->> 'saved' as boolean), cast(value ->> 'sort_at' as bigint),
  cast(value ->> 'read_at' as bigint), cast(value ->> 'created_at' as bigint),
  case when cast(:now as bigint) > cast(value ->> 'created_at' as bigint) then cast(:now as bigint) end
from json_each(cast(:rows as text))
where true
order by cast(value ->> 'n' as bigint)
on conflict (shelf_id, item_id) where item_id is not null do update set
  unread = entry.unread and excluded.unread, saved = entry.saved or excluded.saved,
  read_at = coalesce(entry.read_at, excluded.read_at)
where (entry.unread and not excluded.unread) or (excluded.saved and not entry.saved);

-- name: adoptable
-- I2: what a shelf has without its feed, and the feed has brought itself just now. An item that a merge or a move left
-- behind is somebody else's word (its link_key is never null): it must be of the same page too, or an address that is
-- given up could take a guid of its new home away from its readers. One for each shelf and item.
-- Rows are the item, its feed, its key and its link_key.
select shelf_id, item_id, min(detached_id) as detached_id
from (
  select entry.shelf_id, cast(value ->> 0 as bigint) as item_id, detached.id as detached_id
  from json_each(cast(:rows as text)) cross join item as detached cross join entry
  where {is_same} and entry.item_id = detached.id and entry.feed_id = cast(value ->> 1 as bigint)
  union all
  select former_entry.shelf_id, cast(value ->> 0 as bigint), detached.id
  from json_each(cast(:rows as text)) cross join item as detached cross join former_entry
  where {is_same} and former_entry.item_id = detached.id and former_entry.feed_id = cast(value ->> 1 as bigint)
) as found
group by shelf_id, item_id;

-- fragment: is_same
detached.feed_id is null and detached.key = value ->> 2
  and (detached.link_key is null or detached.link_key = value ->> 3)

-- name: adopt_entries
-- Rows are a shelf, the item, and the detached one. As they are: what was read stays read.
update entry set item_id = {adopted_item} from json_each(cast(:rows as text)) as adopted
where entry.shelf_id = {adopting_shelf} and entry.item_id = {adopted_from};

-- name: adopt_former_entries
update former_entry set item_id = {adopted_item} from json_each(cast(:rows as text)) as adopted
where former_entry.shelf_id = {adopting_shelf} and former_entry.item_id = {adopted_from};

-- name: adopt_tags
insert into tagging (tag_id, item_id)
select tagging.tag_id, {adopted_item}
from json_each(cast(:rows as text)) as adopted
cross join tagging
join tag on tag.id = tagging.tag_id
where tagging.item_id = {adopted_from} and tag.shelf_id = {adopting_shelf}
on conflict do nothing;

-- name: adopt_bookmarks
update bookmark set item_id = {adopted_item} from json_each(cast(:rows as text)) as adopted
where bookmark.shelf_id = {adopting_shelf} and bookmark.item_id = {adopted_from};

-- fragment: adopting_shelf
cast(adopted.value ->> 0 as bigint)

-- fragment: adopted_item
cast(adopted.value ->> 1 as bigint)

-- fragment: adopted_from
cast(adopted.value ->> 2 as bigint)

-- name: next_detached
select id from item where feed_id is null and id > :after order by id limit :most;

-- name: drop_unheld
-- What no shelf has any more, nor can have back.
delete from item
where feed_id is null and id in (select cast(value ->> 0 as bigint) from json_each(cast(:rows as text)))
  and not exists (select 1 from entry where entry.item_id = item.id)
  and not exists (select 1 from former_entry where former_entry.item_id = item.id)
  and not exists (select 1 from bookmark where bookmark.item_id = item.id);

-- name: unindexed_items
select id, title, content from item
where id > :after and not exists (select 1 from item_search where item_search.rowid = item.id)
order by id limit :most;

-- name: count_unindexed_items
select count(*) from item where not exists (select 1 from item_search where item_search.rowid = item.id);
