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

-- name: feed_tellees
select channel.id as channel_id, channel.public_id as channel_public_id,
  case when subscription.name = '' then feed.title else subscription.name end as name
from subscription
join feed on feed.id = subscription.feed_id
join channel on channel.shelf_id = subscription.shelf_id
where subscription.feed_id = :feed_id and subscription.notify and subscription.suspended_at is null and channel.is_enabled
order by channel.id;

-- name: source_tellees
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

-- name: operator_tellees
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
