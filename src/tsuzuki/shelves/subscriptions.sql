-- fragment: columns
subscription.id, subscription.public_id, subscription.feed_id, subscription.group_id,
shelf_group.public_id as group_public_id, subscription.name, feed.title, feed.link,
coalesce(subscription.site_url, feed.site_url) as site_url, feed.proxy, feed.icon_url,
subscription.suspended_at, watch.suspended_at as watch_suspended_at, watch.suspended_reason,
subscription.notify, subscription.full_text, subscription.poll_interval, subscription.retention,
coalesce(tally.unread, 0) as unread_count, coalesce(tally.entries, 0) as item_count,
subscription.created_at, subscription.updated_at,
watch.id as watch_id, watch.etag, watch.last_modified, watch.cache_control, watch.expires_at, watch.retry_after_until,
watch.last_checked_at, watch.next_check_at, watch.next_check_why, watch.refresh_at, watch.last_http_status,
watch.last_success_at, watch.last_error_at, watch.last_error, watch.last_error_code, watch.consecutive_failures,
(select at from crawler_pause where id = 1) as paused_at, (select reason from crawler_pause where id = 1) as paused_reason

-- fragment: tables
subscription
join feed on feed.id = subscription.feed_id
join watch on watch.feed_id = feed.id
join shelf_group on shelf_group.id = subscription.group_id
left join tally on tally.shelf_id = subscription.shelf_id and tally.kind = 'item' and tally.of_id = subscription.feed_id

-- name: list_subscriptions
-- The counts are exact at any moment: triggers keep them in the transaction of the entries (REL-19h).
select {columns} from {tables}
where subscription.shelf_id = :shelf_id
  and (cast(:group_id as bigint) is null or subscription.group_id = cast(:group_id as bigint))
order by subscription.id;

-- name: find_subscription
-- inline: by unique keys, for one feed at a time
-- I8: another shelf's subscription is not found.
select {columns} from {tables}
where subscription.shelf_id = :shelf_id and subscription.public_id = :public_id;

-- name: find_subscriptions
-- I8: another shelf's subscriptions are not found.
select {columns} from {tables}
where subscription.shelf_id = :shelf_id
  and subscription.public_id in (select unhex(value ->> 'id') from json_each(cast(:rows as text)));

-- name: refreshing
-- What waits to be looked at because somebody wants it, and what is being looked at.
select
  count(case when watch.refresh_at is not null and coalesce(watch.lease_until, 0) <= :now then 1 end) as waiting,
  count(case when watch.lease_until > :now then 1 end) as checking
from subscription join watch on watch.feed_id = subscription.feed_id
where subscription.shelf_id = :shelf_id;

-- name: feed_names
-- Without the states and counts, which a search does not need of all. What is not ASCII folds in ways that no engine knows:
-- whether that is meant, its caller decides.
select subscription.public_id, subscription.feed_id, subscription.name, feed.title, feed.link
from subscription join feed on feed.id = subscription.feed_id
where subscription.shelf_id = :shelf_id and (
  {name_has_part}
  or octet_length(feed.title) <> length(feed.title)
  or octet_length(feed.link) <> length(feed.link)
  or octet_length(subscription.name) <> length(subscription.name)
)
order by subscription.id;

-- fragment: name_has_part
-- LIKE does not look at the case of ASCII.
feed.title like '%' || :part || '%' or feed.link like '%' || :part || '%' or subscription.name like '%' || :part || '%'

-- name: find_subscription_to
select subscription.public_id from subscription
join feed on feed.id = subscription.feed_id
where subscription.shelf_id = :shelf_id and feed.link = :link and feed.proxy = :proxy;

-- name: add_subscription
-- The unique (shelf_id, feed_id) refuses a second one.
insert into subscription (
  public_id, shelf_id, feed_id, group_id, name, site_url, suspended_at, notify, full_text, poll_interval, retention,
  created_at, updated_at
)
values (
  :public_id, :shelf_id, :feed_id, :group_id, :name, :site_url, :suspended_at, :notify, :full_text, :poll_interval,
  :retention, coalesce(cast(:created_at as bigint), :now), :now
);

-- name: change_subscription
update subscription
set group_id = :group_id, name = :name, site_url = coalesce(cast(:site_url as text), site_url),
  suspended_at = :suspended_at, notify = :notify, full_text = :full_text, poll_interval = :poll_interval,
  retention = :retention, updated_at = :now
where id = :id;

-- name: let_in
-- A refresh by hand of a suspended feed: until then, delivery puts what it brings on this shelf too.
update subscription set suspended_at = :until where id = :id and suspended_at is not null;

-- name: point_subscription
-- Another link is another feed; the unique (shelf_id, feed_id) refuses one that the shelf has.
update subscription set feed_id = :feed_id, updated_at = :now where id = :id;

-- name: carry_states
-- I9: the same item, by its key, stays read and saved when a subscription moves to another feed.
update entry
set unread = before.unread, saved = before.saved, read_at = before.read_at
from entry as before
join item as old_item on old_item.id = before.item_id
join item as new_item on new_item.feed_id = :new_feed_id and new_item.key = old_item.key
where before.shelf_id = :shelf_id and before.feed_id = :old_feed_id and entry.shelf_id = :shelf_id and entry.feed_id = :new_feed_id
  and new_item.id = entry.item_id;

-- name: carry_tags
-- The shelf's tags too: those of the same items, and those of the feed.
insert into tagging (tag_id, item_id, feed_id)
select tag.id, new_item.id, null
from tag
join tagging on tagging.tag_id = tag.id
join item as old_item on old_item.id = tagging.item_id and old_item.feed_id = :old_feed_id
join item as new_item on new_item.feed_id = :new_feed_id and new_item.key = old_item.key
where tag.shelf_id = :shelf_id
union all
select tag.id, null, cast(:new_feed_id as bigint)
from tag join tagging on tagging.tag_id = tag.id
where tag.shelf_id = :shelf_id and tagging.feed_id = :old_feed_id
on conflict do nothing;

-- name: delete_entries
delete from entry where shelf_id = :shelf_id and feed_id = :feed_id;

-- name: detach_bookmarks
-- The snapshot stays; what it was taken of is no longer on this shelf.
update bookmark set item_id = null where shelf_id = :shelf_id and feed_id = :feed_id;

-- name: delete_subscription
delete from subscription where id = :id;

-- name: drop_former
-- Its entries go along.
delete from former_subscription where shelf_id = :shelf_id and feed_id = :feed_id;

-- name: store_former
insert into former_subscription (
  shelf_id, feed_id, public_id, group_id, name, site_url, suspended_at, notify, full_text, poll_interval, retention,
  created_at, left_at
)
select shelf_id, feed_id, public_id, group_id, name, site_url, suspended_at, notify, full_text, poll_interval,
  retention, created_at, cast(:now as bigint)
from subscription where id = :id;

-- name: store_former_entries
-- I9: read and saved as they are, with the bookmark that a saved one has.
insert into former_entry (
  shelf_id, feed_id, item_id, unread, saved, sort_at, read_at, created_at, bookmark_id
)
select entry.shelf_id, entry.feed_id, entry.item_id, entry.unread, entry.saved, entry.sort_at, entry.read_at,
  entry.created_at, (
    select max(bookmark.id) from bookmark
    where bookmark.shelf_id = entry.shelf_id and bookmark.item_id = entry.item_id
  )
from entry where entry.shelf_id = :shelf_id and entry.feed_id = :feed_id;

-- name: take_former
-- Whoever else wants it, to restore or to forget it, waits for the end of this transaction.
update former_subscription set left_at = left_at
where shelf_id = :shelf_id and left_at >= :since
  and (public_id = :public_id or feed_id = cast(:feed_id as bigint))
returning feed_id, public_id, group_id, name, site_url, suspended_at, notify, full_text, poll_interval, retention,
  created_at, left_at;

-- name: find_former_name
select case
  when former_subscription.name <> '' then former_subscription.name
  when feed.title <> '' then feed.title
  else feed.link
end as name
from former_subscription join feed on feed.id = former_subscription.feed_id
where former_subscription.shelf_id = :shelf_id and former_subscription.public_id = :public_id;

-- name: restore_entries
-- As they were, but new to apps; one whose bookmark was deleted meanwhile is no longer saved.
insert into entry (shelf_id, feed_id, item_id, unread, saved, sort_at, read_at, created_at, appeared_at)
select former_entry.shelf_id, former_entry.feed_id, former_entry.item_id, former_entry.unread,
  former_entry.saved and (former_entry.bookmark_id is null or exists ({bookmark_left})),
  former_entry.sort_at, former_entry.read_at, former_entry.created_at, cast(:now as bigint)
from former_entry
where former_entry.shelf_id = :shelf_id and former_entry.feed_id = :feed_id
order by former_entry.item_id
on conflict (shelf_id, item_id) where item_id is not null do nothing;

-- fragment: bookmark_left
select 1 from bookmark
where bookmark.id = former_entry.bookmark_id and bookmark.shelf_id = former_entry.shelf_id
  and bookmark.item_id is null

-- name: attach_bookmarks
update bookmark set item_id = former_entry.item_id
from former_entry
where former_entry.shelf_id = :shelf_id and former_entry.feed_id = :feed_id
  and bookmark.id = former_entry.bookmark_id and bookmark.shelf_id = former_entry.shelf_id
  and bookmark.item_id is null;

-- name: add_missed
-- What the feed has brought for others since then: the newest, as for everyone who comes later (R8).
insert into entry (shelf_id, feed_id, item_id, sort_at, created_at)
select cast(:shelf_id as bigint), feed_id, id, sort_at, cast(:now as bigint)
from (
  select id, feed_id, sort_at from item where feed_id = :feed_id and created_at > :since
  order by sort_at desc, id desc limit :most
) as missed
where true
order by id
on conflict (shelf_id, item_id) where item_id is not null do nothing;

-- name: forget_former
delete from former_subscription
where public_id in (
  select public_id from former_subscription where left_at < :before order by left_at limit :most
)
returning feed_id;
