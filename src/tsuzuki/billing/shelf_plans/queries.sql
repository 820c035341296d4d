-- fragment: columns
id, public_id, tenant_id, name, plan, status, synced, sync_error, sync_attempts, sync_at, created_at, updated_at

-- fragment: pending
-- R80: whatever changes, the reactor has to look again, and its earlier failures count no more.
synced = false, sync_error = '', sync_attempts = 0, sync_at = null, updated_at = :now

-- name: list_shelves_for_tenant
select {columns} from shelf where tenant_id = :tenant_id order by id;

-- name: list_use_for_tenant
select shelf.public_id,
  (select count(*) from subscription where subscription.shelf_id = shelf.id)
  + (select count(*) from follow where follow.shelf_id = shelf.id) as follows,
  (select count(*) from kept_chapter where kept_chapter.shelf_id = shelf.id) as kept_chapters
from shelf where shelf.tenant_id = :tenant_id
order by shelf.id;

-- name: find_rented
select {columns} from shelf where public_id = :public_id;

-- name: get_rented
select {columns} from shelf where id = :id;

-- name: rename_shelf
update shelf set name = :name, {pending} where id = :id
returning {columns};

-- name: set_shelf_plan
update shelf set plan = :plan, {pending} where id = :id
returning {columns};

-- name: set_shelf_status
update shelf set status = :status, {pending} where id = :id
returning {columns};

-- The reactor -----------------------------------------------------------------------------------------------

-- name: list_shelves_pending_sync
select id from shelf
where (not synced or sync_error <> '') and (sync_at is null or sync_at <= :now)
order by id
limit :most;

-- name: complete_shelf_sync
update shelf set synced = true, sync_error = '', sync_attempts = 0, sync_at = null where id = :id;

-- name: fail_shelf_sync
update shelf set sync_error = :error, sync_attempts = sync_attempts + 1 where id = :id
returning sync_attempts;

-- name: put_off_sync
update shelf set sync_at = :at where id = :id;

-- name: set_retention
update shelf set retention = :retention where id = :id;

-- fragment: places
-- The oldest of feeds and series have the room; :room is 0 for a shelf that sleeps.
select kind, of_id, row_number() over (order by created_at, kind, of_id) as place
from (
  select 'feed' as kind, id as of_id, created_at from subscription where shelf_id = :shelf_id
  union all
  select 'series', id, created_at from follow where shelf_id = :shelf_id
) as both_kinds

-- name: feeds_to_sync
-- What is about to be held or released, so that it can be locked before: in the order of everybody who locks several.
select subscription.feed_id as of_id, subscription.held_at
from subscription
join ({places}) as placed on placed.kind = 'feed' and placed.of_id = subscription.id
where case
  when placed.place > :room then subscription.suspended_at is null or subscription.suspended_at > :now
  else subscription.held_at is not null
end
order by subscription.feed_id;

-- name: series_to_sync
select follow.series_id as of_id, follow.held_at
from follow
join ({places}) as placed on placed.kind = 'series' and placed.of_id = follow.id
where (placed.place > :room) = (follow.held_at is null)
order by follow.series_id;

-- name: suspend_subscriptions
-- What its reader suspended rests already, and stays the reader's to wake.
update subscription set held_at = :now, suspended_at = :now
where shelf_id = :shelf_id and (suspended_at is null or suspended_at > :now)
  and id in (select of_id from ({places}) as placed where kind = 'feed' and place > :room)
returning feed_id;

-- name: release_subscriptions
update subscription set held_at = null, suspended_at = null
where shelf_id = :shelf_id and held_at is not null
  and id in (select of_id from ({places}) as placed where kind = 'feed' and place <= :room)
returning feed_id;

-- name: suspend_follows
update follow set held_at = :now
where shelf_id = :shelf_id and held_at is null
  and id in (select of_id from ({places}) as placed where kind = 'series' and place > :room)
returning series_id;

-- name: release_follows
update follow set held_at = null
where shelf_id = :shelf_id and held_at is not null
  and id in (select of_id from ({places}) as placed where kind = 'series' and place <= :room)
returning series_id;
