-- name: is_leased
-- I4: whoever lost the watch merges nothing. The row is held, as by every write of a poll.
update watch set lease_until = lease_until where id = :id and lease_token = :lease_token;

-- name: followers
select shelf_id from subscription where feed_id = :feed_id order by shelf_id;

-- name: add_missed
-- What came out at the new address since the shelf subscribed, and the old one never showed.
insert into entry (shelf_id, feed_id, item_id, sort_at, created_at)
select subscription.shelf_id, item.feed_id, item.id, item.sort_at, cast(:now as bigint)
from subscription
join item on item.feed_id = :target and item.created_at >= subscription.created_at
where subscription.feed_id = :feed_id and subscription.suspended_at is null
  and not exists (select 1 from item as known where known.feed_id = :feed_id and known.key = item.key)
  and not exists (select 1 from item_tombstone as known where known.feed_id = :feed_id and known.key = item.key)
  and not exists (
    select 1 from item as known join entry on entry.item_id = known.id
    where known.feed_id is null and known.key = item.key
      and entry.shelf_id = subscription.shelf_id and entry.feed_id = :feed_id
  )
  and not exists (
    select 1 from entry_tombstone as known
    where known.feed_id = :feed_id and known.key = item.key and known.shelf_id = subscription.shelf_id
  )
order by subscription.shelf_id, item.id
on conflict (shelf_id, item_id) where item_id is not null do nothing;

-- fragment: twin
-- The same item at both addresses, as `former`, whoever brought it there, and `twin`, which the target itself showed.
item as former join item as twin on twin.feed_id = :target and twin.key = former.key

-- name: join_entries
-- I9: on a shelf that has both, what was read or saved at either address is read or saved.
update entry
set unread = case when before.unread then entry.unread else false end,
  saved = case when before.saved then true else entry.saved end, read_at = coalesce(entry.read_at, before.read_at)
from {twin}
join entry as before on before.item_id = former.id
where before.feed_id = :feed_id and entry.shelf_id = before.shelf_id and entry.item_id = twin.id;

-- name: move_twin_entries
-- On a shelf that has only the old one, the entry becomes one of the new item, as it is.
update entry set feed_id = :target, item_id = moved.twin_id
from (
  select min(before.id) as id, twin.id as twin_id from {twin}
  join entry as before on before.item_id = former.id
  where before.feed_id = :feed_id and not exists (
    select 1 from entry as other where other.shelf_id = before.shelf_id and other.item_id = twin.id
  )
  group by before.shelf_id, twin.id
) as moved
where entry.id = moved.id;

-- name: drop_twin_entries
delete from entry where feed_id = :feed_id and item_id in (select former.id from {twin});

-- name: move_twin_former
-- The same where somebody left, and may come back.
update former_entry set item_id = moved.twin_id
from (
  select before.shelf_id, min(before.item_id) as item_id, twin.id as twin_id from {twin}
  join former_entry as before on before.item_id = former.id
  where before.feed_id = :feed_id and not exists (
    select 1 from former_entry as other where other.shelf_id = before.shelf_id and other.item_id = twin.id
  )
  group by before.shelf_id, twin.id
) as moved
where former_entry.shelf_id = moved.shelf_id and former_entry.item_id = moved.item_id;

-- name: move_twin_bookmarks
-- R71: one that would be the second without a link keeps its snapshot, and points to no item.
update bookmark set item_id = moved.twin_id
from (
  select min(before.id) as id, twin.id as twin_id from {twin}
  join bookmark as before on before.item_id = former.id
  where before.feed_id = :feed_id and not exists (
    select 1 from bookmark as other
    where other.shelf_id = before.shelf_id and other.item_id = twin.id and other.link = ''
  )
  group by before.shelf_id, twin.id
) as moved
where bookmark.id = moved.id;

-- name: drop_twins
delete from item where feed_id = :feed_id and exists (
  select 1 from item as twin where twin.feed_id = :target and twin.key = item.key
);

-- name: move_entries
update entry set feed_id = :target where feed_id = :feed_id;

-- name: move_bookmarks
update bookmark set feed_id = :target where feed_id = :feed_id;

-- name: move_tombstones
insert into entry_tombstone (shelf_id, feed_id, key, at)
select shelf_id, cast(:target as bigint), key, at from entry_tombstone as former where former.feed_id = :feed_id
on conflict (feed_id, key, shelf_id) do nothing;

-- name: drop_second_subscriptions
-- A shelf that follows both keeps its subscription to the new address.
delete from subscription where feed_id = :feed_id and exists (
  select 1 from subscription as other where other.shelf_id = subscription.shelf_id and other.feed_id = :target
);

-- name: move_subscriptions
update subscription set feed_id = :target, updated_at = :now where feed_id = :feed_id;

-- name: drop_second_former
-- A shelf that follows, or left, the other one as well has its way back from there.
delete from former_subscription
where feed_id = :feed_id and (
  exists (
    select 1 from former_subscription as other
    where other.feed_id = :target and other.shelf_id = former_subscription.shelf_id
  ) or exists (
    select 1 from subscription where subscription.feed_id = :target and subscription.shelf_id = former_subscription.shelf_id
  )
);

-- name: move_former
-- I9: what can be had back can be had back from there; the entries that are remembered go along.
update former_subscription set feed_id = :target where feed_id = :feed_id;
