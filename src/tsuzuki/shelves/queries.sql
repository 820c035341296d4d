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

-- name: add_events
insert into event (shelf_id, kind, payload, created_at)
select cast(value ->> 0 as bigint), value ->> 1, value ->> 2, cast(:now as bigint)
from json_each(cast(:rows as text));

-- name: admin_shelves
-- The shelf that each of those who run this server reads from.
select distinct shelf_member.shelf_id
from user_account
join shelf_member on shelf_member.user_id = user_account.id and shelf_member.shelf_id = coalesce(
  user_account.default_shelf_id,
  (select min(own.shelf_id) from shelf_member as own where own.user_id = user_account.id)
)
where user_account.role = 'admin' and user_account.disabled_at is null
order by shelf_member.shelf_id;

-- name: prune_events
delete from event where id in (select id from event where created_at < :before or {is_foreign} limit :most);

-- fragment: is_foreign
false

-- name: feed_name
select subscription.public_id as shown_id,
  case when subscription.name = '' then feed.title else subscription.name end as name
from subscription join feed on feed.id = subscription.feed_id
where subscription.shelf_id = :shelf_id and subscription.feed_id = :feed_id;

-- name: series_name
select series.public_id as shown_id, series.title as name
from follow join series on series.id = follow.series_id
where follow.shelf_id = :shelf_id and follow.series_id = :series_id
  and follow.status <> 'dropped' and follow.held_at is null;

-- name: add_known_entries
-- R8: the newest items of a feed that was known before the shelf subscribed, or those since it was held back.
insert into entry (shelf_id, feed_id, item_id, sort_at, created_at)
select cast(:shelf_id as bigint), feed_id, id, sort_at, cast(:now as bigint)
from (
  select id, feed_id, sort_at from item where feed_id = :feed_id and created_at >= :since
  order by sort_at desc, id desc limit :most
) as newest
where true
order by id
on conflict (shelf_id, item_id) where item_id is not null do nothing
returning id;

-- name: count_chapters
select count(*) from chapter where series_id = :series_id;

-- name: knew_chapters
select exists (
  select 1 from chapter where series_id = :series_id and first_seen_at < :since
) as knew;

-- fragment: chapter_time
-- R30: the earlier of published and first seen, though none sorts before 1970.
case
  when chapter.published_at < 0 then 0
  when chapter.published_at < chapter.first_seen_at then chapter.published_at
  else chapter.first_seen_at
end

-- name: add_missed_chapters
-- The newest that came while a plan held the follow back. What was read meanwhile is no news.
insert into entry (shelf_id, series_id, chapter_id, saved, sort_at, created_at)
select cast(:shelf_id as bigint), chapter.series_id, chapter.id, coalesce(progress.is_bookmarked, false),
  {chapter_time},
  cast(:now as bigint)
from (
  select id from chapter where series_id = :series_id and first_seen_at >= :since
  order by first_seen_at desc, id desc limit :most
) as missed
join chapter on chapter.id = missed.id
left join progress on progress.shelf_id = :shelf_id and progress.chapter_id = chapter.id
where not coalesce(progress.is_read, false)
order by chapter.id
on conflict (shelf_id, chapter_id) where chapter_id is not null do nothing
returning id;
