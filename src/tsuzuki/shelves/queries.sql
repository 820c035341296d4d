-- name: search_items
-- Only the newest 1,000 matches are ranked: ranking 76,000 costs a hundred times as much and nobody reads that far.
-- Ids grow with time, so the newest are the highest. What narrows a search down is asked of the entry.
select item.id, entry.feed_id, item.title, item.sort_at, entry.unread
from (
  select rowid as id, bm25(item_search, 4.0, 1.0) as score
  from item_search
  where item_search match :match
    and exists (select 1 from entry where entry.shelf_id = :shelf_id and entry.item_id = item_search.rowid and {narrowed})
  order by rowid desc
  limit 1000
) as hit
cross join item  -- or SQLite would begin with all that the shelf has
cross join entry
where item.id = hit.id and entry.item_id = hit.id and entry.shelf_id = :shelf_id
order by hit.score, item.id desc
limit :most;

-- fragment: narrowed
(cast(:unread as boolean) is null or entry.unread = cast(:unread as boolean))
and (cast(:saved as boolean) is null or entry.saved = cast(:saved as boolean))
and entry.sort_at < :before
and (cast(:feeds as text) is null or entry.feed_id in (
  select cast(value as bigint) from json_each(cast(:feeds as text))
))

-- name: item_texts
-- What a hit is shown by: only for those that are shown.
select id, substr(case when content = '' then coalesce(summary, '') else content end, 1, cast(:longest as integer)) as text,
  published_at
from item where id in (select cast(value as bigint) from json_each(cast(:ids as text)));

-- name: search_series
-- Every series can be found, followed or not.
select series.id, series.public_id, series.title, series.author, series.cover_url, series.last_chapter_at,
  series.description,
  (
    select min(series_source.id) from series_source
    where series_source.series_id = series.id and series_source.cover_url is not null
  ) as cover_id
from (
  select rowid as id, bm25(series_search, 4.0, 1.0) as score
  from series_search
  where series_search match :match
  order by rowid desc
  limit 1000
) as hit
cross join series
where series.id = hit.id
order by hit.score, series.id desc
limit :most;

-- name: mark_entries
-- A mark that comes late does not undo that an entry was read since then: the newest counts.
update entry
set unread = :unread, read_at = :read_at
where shelf_id = :shelf_id and unread <> :unread and coalesce(read_at, 0) <= :until
  and id in (select cast(value as bigint) from json_each(cast(:ids as text)));

-- name: shelf_terms
-- inline: by two keys, wherever something is added to a shelf
select shelf.plan, shelf.status, coalesce(billing_switch.is_on, false) as is_billed
from shelf left join billing_switch on billing_switch.id = 1
where shelf.id = :shelf_id;

-- name: lock_shelf
-- One writer at a time: nothing to hold.
select id from shelf where id = :shelf_id;

-- name: count_follows
select
  (select count(*) from subscription where subscription.shelf_id = :shelf_id)
  + (select count(*) from follow where follow.shelf_id = :shelf_id) as used;

-- name: count_kept_chapters
select count(*) as used from kept_chapter where shelf_id = :shelf_id;

-- name: desync_shelf
-- What is added takes its pace from the plan: the reactor is to look.
update shelf set synced = false where id = :shelf_id and synced;

-- name: is_held
select held_at is not null as is_held from subscription where id = :id;
