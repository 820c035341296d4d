-- name: add_feed
-- R70: a feed that is known is shared, not stored again; a repeat returns no row.
insert into feed (link, proxy, title, created_at, updated_at)
values (:link, :proxy, '', :now, :now)
on conflict (link, proxy) do nothing
returning id;

-- name: find_feed
-- inline: by its unique key
select id from feed where link = :link and proxy = :proxy;

-- name: add_series
insert into series (public_id, title, match_key, author, created_at, updated_at)
values (:public_id, :title, :match_key, :author, :now, :now)
returning id;

-- name: add_series_source
-- REL-10: a repeat meets the unique (source_id, source_key), inserts nothing and returns no row.
insert into series_source (series_id, source_id, source_key, url, title, created_at, updated_at)
values (:series_id, :source_id, :source_key, :url, :title, :now, :now)
on conflict (source_id, source_key) do nothing
returning id;

-- name: add_watch
-- One watch per feed or series source: the unique keys refuse a second.
insert into watch (feed_id, series_source_id, host, priority, next_check_at, created_at)
values (:feed_id, :series_source_id, :host, :priority, :next_check_at, :now)
returning id;

-- name: known_feeds
select id from feed
where (link, proxy) in (select value ->> 0, value ->> 1 from json_each(cast(:rows as text)))
order by id;

-- name: find_feed_watch
select id from watch where feed_id = :feed_id;

-- name: count_followers
-- With those who may still come back to it as it was.
select
  (select count(*) from subscription where subscription.feed_id = :feed_id)
  + (select count(*) from former_subscription where former_subscription.feed_id = :feed_id) as followers;

-- name: relink_feed
-- Only for a feed that a single shelf follows: what it said of itself is shown until the new address says something.
update feed set link = :link, proxy = :proxy, described_at = null, updated_at = :now where id = :id;

-- name: keep_tombstones
-- What the feed has and the shelf has not: when another address brings it, it is no news.
insert into entry_tombstone (shelf_id, feed_id, key, at)
select subscription.shelf_id, item.feed_id, item.key, cast(:now as bigint)
from subscription join item on item.feed_id = subscription.feed_id
where subscription.feed_id = :feed_id and not exists (
  select 1 from entry where entry.shelf_id = subscription.shelf_id and entry.item_id = item.id
)
on conflict (feed_id, key, shelf_id) do nothing;

-- name: add_tombstones_for_readers
-- What was removed as no shelf had it is no news to those who followed then, at another address neither. `target` is the
-- feed that they follow from now on. In the order of the key, as everybody who writes here.
insert into entry_tombstone (shelf_id, feed_id, key, at)
select subscription.shelf_id, cast(:target as bigint), gone.key, cast(:now as bigint)
from item_tombstone as gone
join subscription on subscription.feed_id = gone.feed_id
where gone.feed_id = :feed_id
order by gone.key, subscription.shelf_id
on conflict (feed_id, key, shelf_id) do nothing;

-- name: drop_item_tombstones
delete from item_tombstone
where feed_id = :feed_id and key not in (select value ->> 0 from json_each(cast(:rows as text)));

-- name: detach_items
-- What shelves have of them stays theirs; it is no longer the feed's. `link_key`: whoever `is_trusted` knows the item
-- again by its key alone, else it has to be of the same page (ingest: adoptable).
update item set feed_id = null, link_key = case when cast(:is_trusted as boolean) then null else coalesce(link_key, '') end
where feed_id = :feed_id and key not in (select value ->> 0 from json_each(cast(:rows as text))) and (
  exists (select 1 from entry where entry.item_id = item.id)
  or exists (select 1 from former_entry where former_entry.item_id = item.id)
  or exists (select 1 from bookmark where bookmark.item_id = item.id)
);

-- name: drop_items
delete from item where feed_id = :feed_id and key not in (select value ->> 0 from json_each(cast(:rows as text)));

-- name: reset_watch
-- Another address: nothing that was learned of the old one counts. Due at once (I5); the lease's token outdates a poll
-- that is under way. `first_harvest_at` stays: what the same items bring again is no news, and what is new is.
update watch
set host = :host, next_check_at = :now, next_check_why = '', refresh_at = null, lease_token = lease_token + 1,
  lease_until = null, waits_since = null, unended = 0, ttl = null, skip_hours = 0, skip_days = 0, etag = null,
  last_modified = null, validators_url = null, cache_control = null, expires_at = null,
  retry_after_until = null, body_hash = null, last_checked_at = null, last_full_at = null, last_http_status = null,
  last_success_at = null, last_error_at = null, last_error = null, last_error_code = null, consecutive_failures = 0,
  moved_to = null, moved_count = 0, moved_since = null, gone_since = null
where feed_id = :feed_id;

-- name: import_fetch_state
-- Of a feed that came from elsewhere, which nobody has asked for here and nobody else follows. What it holds comes from
-- fetching it, so its validators count for a day only: then the whole of it is fetched (R26).
update watch
set etag = :etag, last_modified = :last_modified, next_check_at = coalesce(cast(:next_check_at as bigint), next_check_at),
  last_full_at = :full_at
where feed_id = :feed_id and last_checked_at is null and not exists (
  select 1 from subscription where subscription.feed_id = :feed_id and subscription.shelf_id <> :shelf_id
);

-- name: fetch_whole
-- Somebody else follows it now, and it holds nothing yet: nothing that was brought from elsewhere may keep it so, nor
-- what a poll that is under way brings by it.
update watch
set etag = null, last_modified = null, next_check_at = :now, lease_token = lease_token + 1, lease_until = null
where feed_id = :feed_id and (etag is not null or last_modified is not null)
  and not exists (select 1 from item where item.feed_id = :feed_id);

-- name: suspend_idle_watch
-- Nobody waits for it: it is not called until somebody does.
update watch set suspended_at = :now, suspended_reason = :reason
where feed_id = :feed_id and suspended_at is null
  and not exists (select 1 from subscription where subscription.feed_id = :feed_id and subscription.suspended_at is null);

-- name: wake_watch
-- Due at once. `reason` limits it to watches that rest for this reason; null wakes from any.
update watch
set suspended_at = null, suspended_reason = null, gone_since = null, next_check_at = :now, next_check_why = ''
where feed_id = :feed_id and suspended_at is not null
  and (cast(:reason as text) is null or suspended_reason = cast(:reason as text))
  and exists (select 1 from subscription where subscription.feed_id = :feed_id and subscription.suspended_at is null);

-- name: drop_feed
-- R70: the content goes when nobody follows it any more, nor may undo having left it; whoever subscribes holds the feed
-- first.
delete from feed where id = :id and not exists (select 1 from subscription where subscription.feed_id = :id)
  and not exists (select 1 from former_subscription where former_subscription.feed_id = :id);

-- name: find_series
-- One that was merged into another is found under its former id too.
select id from series where public_id = :public_id
union all
select series_id from former_series where public_id = :public_id;

-- name: unwatched
select series_source.id, series_source.url, source.base_url
from series_source
join source on source.id = series_source.source_id
where series_source.series_id = :series_id and series_source.is_active
  and not exists (select 1 from watch where watch.series_source_id = series_source.id);

-- fragment: waits
follow.status <> 'dropped' and follow.held_at is null

-- name: suspend_idle_series
-- Nobody waits for it: its watches are not called until somebody does.
update watch set suspended_at = :now, suspended_reason = :reason
where suspended_at is null
  and series_source_id in (select id from series_source where series_id = :series_id)
  and not exists (select 1 from follow where follow.series_id = :series_id and {waits});

-- name: wake_series
-- Due at once; only those that rest for this reason: what the operator switched off, or a 410 did, stays so.
update watch set suspended_at = null, suspended_reason = null, next_check_at = :now, next_check_why = ''
where suspended_reason = :reason
  and series_source_id in (select id from series_source where series_id = :series_id)
  and exists (select 1 from follow where follow.series_id = :series_id and {waits});
