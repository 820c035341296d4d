-- name: add_item_entries
-- Rows are an item, its feed, the lot that it belongs to, and when it arrived.
{item_entries}
returning shelf_id, item_id as installment_id, 1 as count, id as newest;

-- fragment: item_entries
-- I2: a repeat meets entry_item, inserts nothing and returns no row. In the order of the key: two that overlap then wait
-- for each other and do not deadlock. Suspended in the future: what a refresh by hand brings is still let in.
-- CROSS JOIN: SQLite begins with what is new, not with all that the feed ever had.
insert into entry (shelf_id, feed_id, item_id, sort_at, created_at)
select subscription.shelf_id, item.feed_id, item.id, item.sort_at, cast(wanted.value ->> 3 as bigint)
from json_each(cast(:rows as text)) as wanted
cross join {wanted_item}
join subscription on subscription.feed_id = item.feed_id
  and (subscription.suspended_at is null or subscription.suspended_at > :now)
where item.id = cast(wanted.value ->> 0 as bigint) and item.feed_id = cast(wanted.value ->> 1 as bigint)
  and not exists (  -- REL-39d
    select 1 from entry_tombstone
    where entry_tombstone.feed_id = item.feed_id and entry_tombstone.key = item.key
      and entry_tombstone.shelf_id = subscription.shelf_id
  )
order by subscription.shelf_id, item.id
on conflict (shelf_id, item_id) where item_id is not null do nothing

-- fragment: wanted_item
item

-- fragment: wanted_chapter
chapter

-- fragment: chapter_time
-- R30: the earlier of published and first seen, though none sorts before 1970.
case
  when chapter.published_at < 0 then 0
  when chapter.published_at < chapter.first_seen_at then chapter.published_at
  else chapter.first_seen_at
end

-- name: add_chapter_entries
-- I2, R7: by the logical chapter, whichever source brought it.
insert into entry (shelf_id, series_id, chapter_id, sort_at, created_at)
select
  follow.shelf_id, chapter.series_id, chapter.id,
  {chapter_time},
  cast(:now as bigint)
from json_each(cast(:rows as text)) as wanted
cross join {wanted_chapter}
join follow on follow.series_id = chapter.series_id and follow.status <> 'dropped' and follow.held_at is null
where chapter.id = cast(wanted.value ->> 0 as bigint) and chapter.series_id = :series_id
order by follow.shelf_id, chapter.id
on conflict (shelf_id, chapter_id) where chapter_id is not null do nothing
returning shelf_id, chapter_id as installment_id, 1 as count, id as newest;

-- name: feed_readers
select subscription.feed_id as of_id, subscription.shelf_id, subscription.public_id as shown_id,
  case when subscription.name = '' then feed.title else subscription.name end as name,
  subscription.notify and exists (
    select 1 from channel where channel.shelf_id = subscription.shelf_id and channel.is_enabled
  ) as is_told
from json_each(cast(:rows as text)) as wanted
cross join subscription
join feed on feed.id = subscription.feed_id
where subscription.feed_id = cast(wanted.value ->> 0 as bigint)
  -- Whoever let in what a refresh by hand brings is told of it too.
  and (subscription.suspended_at is null or subscription.suspended_at > :now);

-- name: series_readers
select follow.series_id as of_id, follow.shelf_id, series.public_id as shown_id, series.title as name,
  follow.notify and exists (
    select 1 from channel where channel.shelf_id = follow.shelf_id and channel.is_enabled
  ) as is_told
from follow
join series on series.id = follow.series_id
where follow.series_id = :id and follow.status <> 'dropped' and follow.held_at is null;

-- name: count_burst
-- Serialises the batches of one poll for the rest of their transactions, so that exactly one of them is the first of a
-- flood. A burst that began in the future is none: the clock was wrong. Rows are whose it is, how many, if a flood, and
-- which harvest's.
insert into surge (kind, of_id, since, count, floods, harvest)
select cast(:kind as text), cast(value ->> 0 as bigint) as wanted, cast(:now as bigint), cast(value ->> 1 as bigint),
  cast(value ->> 2 as bigint), value ->> 3
from json_each(cast(:rows as text))
where true
order by wanted
on conflict (kind, of_id) do update set
  since = case when {is_same} then surge.since else excluded.since end,
  count = case when {is_same} then surge.count + excluded.count else excluded.count end,
  floods = case
    when not ({is_same}) then excluded.floods
    when surge.floods > 0 or excluded.floods > 0 or surge.count + excluded.count > :flood then surge.floods + 1
    else 0
  end,
  harvest = case when {is_same} and surge.floods > 0 then surge.harvest else excluded.harvest end,
  told_at = case when {is_same} then surge.told_at end
returning of_id, since, count, floods;

-- fragment: is_same
-- What comes after its readers were told is no part of it, but for the rest of the same harvest.
surge.since > cast(:fresh as bigint) and surge.since <= excluded.since
  and (surge.told_at is null or (surge.harvest <> '' and surge.harvest = excluded.harvest))

-- name: prune_bursts
delete from surge where since < :before;
