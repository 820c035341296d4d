-- name: shelf_terms
-- inline: by two keys, wherever something is added to a shelf
select shelf.plan, shelf.status, coalesce(billing_switch.is_on, false) as is_billed
from shelf left join billing_switch on billing_switch.id = 1
where shelf.id = :shelf_id;

-- name: count_follows
select
  (select count(*) from subscription where subscription.shelf_id = :shelf_id)
  + (select count(*) from follow where follow.shelf_id = :shelf_id) as used;

-- name: count_kept_chapters
select count(*) as used from kept_chapter where shelf_id = :shelf_id;

-- name: desync_shelf
-- What is added takes its pace from the plan: the enforcer is to look.
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
delete from event where id in (select id from event where created_at < :before limit :most);

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
