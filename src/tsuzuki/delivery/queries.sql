-- name: add_item_entries
-- Rows are an item, its feed, the lot that it belongs to, and when it arrived.
{item_entries}
returning shelf_id, item_id as installment_id, 1 as count, id as newest;

-- fragment: item_entries
-- I2: a repeat meets entry_item, inserts nothing and returns no row. In the order of the key: two that overlap then wait
-- for each other and do not deadlock. Suspended in the future: what a refresh by hand brings is still let in.
-- CROSS JOIN: SQLite begins with what is new, not with all that the feed ever had. Of a delivery in portions :now is when
-- it was stored: who suspended since then, or is held since then, had it coming.
insert into entry (shelf_id, feed_id, item_id, sort_at, created_at, appeared_at)
select subscription.shelf_id, item.feed_id, item.id, item.sort_at, cast(wanted.value ->> 3 as bigint),
  case when cast(:appeared_at as bigint) > cast(wanted.value ->> 3 as bigint) then cast(:appeared_at as bigint) end
from json_each(cast(:rows as text)) as wanted
cross join {wanted_item}
join subscription on subscription.feed_id = item.feed_id
  and (subscription.suspended_at is null or subscription.suspended_at > :now) and {subscription_in_reach}
where item.id = cast(wanted.value ->> 0 as bigint) and item.feed_id = cast(wanted.value ->> 1 as bigint)
  and not exists (  -- REL-39d
    select 1 from entry_tombstone
    where entry_tombstone.feed_id = item.feed_id and entry_tombstone.key = item.key
      and entry_tombstone.shelf_id = subscription.shelf_id
  )
order by subscription.shelf_id, item.id
on conflict (shelf_id, item_id) where item_id is not null do nothing

-- fragment: subscription_in_reach
subscription.shelf_id > :after and subscription.shelf_id <= :upto and subscription.id <= :newest

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
insert into entry (shelf_id, series_id, chapter_id, sort_at, created_at, appeared_at)
select
  follow.shelf_id, chapter.series_id, chapter.id,
  {chapter_time},
  cast(:now as bigint), case when cast(:appeared_at as bigint) > cast(:now as bigint) then cast(:appeared_at as bigint) end
from json_each(cast(:rows as text)) as wanted
cross join {wanted_chapter}
join follow on follow.series_id = chapter.series_id and {follow_gets_it}
where chapter.id = cast(wanted.value ->> 0 as bigint) and chapter.series_id = :series_id
order by follow.shelf_id, chapter.id
on conflict (shelf_id, chapter_id) where chapter_id is not null do nothing
returning shelf_id, chapter_id as installment_id, 1 as count, id as newest;

-- fragment: follow_gets_it
follow.status <> 'dropped' and (follow.held_at is null or follow.held_at > :now)
  and follow.shelf_id > :after and follow.shelf_id <= :upto and follow.id <= :newest

-- name: feed_readers
select subscription.feed_id as of_id, subscription.shelf_id, subscription.public_id as shown_id,
  case when subscription.name = '' then feed.title else subscription.name end as name,
  subscription.notify and exists (
    select 1 from channel where channel.shelf_id = subscription.shelf_id and channel.is_enabled
  ) as is_notified
from json_each(cast(:rows as text)) as wanted
cross join subscription
join feed on feed.id = subscription.feed_id
where subscription.feed_id = cast(wanted.value ->> 0 as bigint)
  -- Whoever let in what a refresh by hand brings is told of it too.
  and (subscription.suspended_at is null or subscription.suspended_at > :now) and {subscription_in_reach};

-- name: series_readers
select follow.series_id as of_id, follow.shelf_id, series.public_id as shown_id, series.title as name,
  follow.notify and exists (
    select 1 from channel where channel.shelf_id = follow.shelf_id and channel.is_enabled
  ) as is_notified
from follow
join series on series.id = follow.series_id
where follow.series_id = :id and {follow_gets_it};

-- name: count_subscribers
-- Of each feed, and no further than need be. Ordered, so that it is the beginning of an index.
select cast(value ->> 0 as bigint) as of_id, (
  select count(*) from (
    select 1 as one from subscription where subscription.feed_id = cast(wanted.value ->> 0 as bigint)
    order by shelf_id limit :most
  ) as counted
) as readers
from json_each(cast(:rows as text)) as wanted;

-- name: count_followers
select count(*) from (select 1 as one from follow where series_id = :id limit :most) as counted;

-- name: newest_subscription
select coalesce(max(id), 0) from subscription;

-- name: newest_follow
select coalesce(max(id), 0) from follow;

-- name: end_of_feed_portion
-- None when fewer are left.
select shelf_id from subscription where feed_id = :id and shelf_id > :after order by shelf_id limit 1 offset :others;

-- name: end_of_series_portion
select shelf_id from follow where series_id = :id and shelf_id > :after order by shelf_id limit 1 offset :others;

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

-- Outages ----------------------------------------------------------------------------------------------------

-- name: find_origin
select watch.id as watch_id, watch.feed_id, series_source.series_id, series_source.source_id,
  case when watch.feed_id is null then source.name else feed.title end as name
from watch
left join feed on feed.id = watch.feed_id
left join series_source on series_source.id = watch.series_source_id
left join source on source.id = series_source.source_id
where watch.id = :watch_id;

-- name: open_outage
-- One alert for each outage: a watch that is broken already meets outage_open and returns no row.
insert into outage (watch_id, source_id, reason, since)
values (:watch_id, :source_id, :reason, :now)
on conflict (watch_id) where healed_at is null do nothing
returning id;

-- name: close_outage
update outage set healed_at = :now where watch_id = :watch_id and healed_at is null returning id;

-- name: feed_recipients
select channel.id as channel_id, channel.public_id as channel_public_id,
  case when subscription.name = '' then feed.title else subscription.name end as name
from subscription
join feed on feed.id = subscription.feed_id
join channel on channel.shelf_id = subscription.shelf_id
where subscription.feed_id = :feed_id and subscription.notify and subscription.suspended_at is null and channel.is_enabled
order by channel.id;

-- name: source_recipients
-- A source often breaks for many series at once. A reader is told of the first that breaks and of the last that heals:
-- not while another of the same source, which they follow too, is broken.
select channel.id as channel_id, channel.public_id as channel_public_id, source.name
from follow
join source on source.id = :source_id
join channel on channel.shelf_id = follow.shelf_id
where follow.series_id = :series_id and follow.notify and follow.status <> 'dropped' and follow.held_at is null and channel.is_enabled
  and not exists (
    select 1
    from outage
    join watch on watch.id = outage.watch_id
    join series_source on series_source.id = watch.series_source_id
    join follow as other on other.series_id = series_source.series_id and other.shelf_id = follow.shelf_id
    where outage.source_id = source.id and outage.healed_at is null and outage.watch_id <> :watch_id
      and other.notify and other.status <> 'dropped'
  )
order by channel.id;

-- name: operator_recipients
-- The channels of those who run this server, on the shelf that each of them reads from; nobody else's there.
select distinct channel.id as channel_id, channel.public_id as channel_public_id, cast(:name as text) as name
from user_account
join shelf_member on shelf_member.user_id = user_account.id and shelf_member.shelf_id = coalesce(
  user_account.default_shelf_id,
  (select min(own.shelf_id) from shelf_member as own where own.user_id = user_account.id)
)
join channel on channel.shelf_id = shelf_member.shelf_id
where user_account.role = 'admin' and user_account.disabled_at is null and channel.is_enabled
  and (channel.member_id is null or channel.member_id = shelf_member.id)
order by channel_id;

-- name: prune_outages
delete from outage where id in (select id from outage where healed_at < :before limit :most);
