-- fragment: place
-- R97: what waits for its host keeps the place it had when it fell due. Never later than next_check_at, which alone
-- decides when it is due (I5).
case when waits_since < next_check_at then waits_since else next_check_at end

-- fragment: claimed
id, lease_token, feed_id, series_source_id, host, priority, etag, last_modified, validators_url, body_hash,
consecutive_failures, last_checked_at, {place} as waits_since, unended - 1 as unended

-- fragment: lease
-- No column of an index: PostgreSQL writes the row alone.
update watch
set lease_token = lease_token + 1, lease_until = :until, unended = unended + 1

-- fragment: due
-- The place comes first: by it the index is walked.
suspended_at is null and {place} <= :now and next_check_at <= :now and {is_free} and {not_of_busy_shelf}

-- fragment: not_of_busy_shelf
(
  cast(:shelves as text) = '[]' or watch.feed_id is null or not coalesce(
    {sole_shelf} in (select cast(value ->> 0 as bigint) from json_each(cast(:shelves as text))), false
  )
)

-- fragment: of_free_host
-- Those of full hosts are passed over, `ahead` of them at most: behind a host's long line others are found by their
-- hosts (waiting_watches), so that a claim costs the same however many are due.
host not in (select value ->> 0 from json_each(cast(:hosts as text)))

-- name: claim_due_watches
-- R25: one statement takes the lease, so two schedulers never poll the same watch. I5: it stays due while the lease is
-- held; a claimer that dies leaves it to others when the lease ends, with its place (R97).
{lease}
where id in (
  select id from (
    select id from (select id, host from watch where priority = 1 and {due} order by {place} limit :ahead) as line
    where {of_free_host} limit :hot
  ) as hot
  union all
  select id from (
    select id from (select id, host from watch where priority = 2 and {due} order by {place} limit :ahead) as line
    where {of_free_host} limit :warm
  ) as warm
  union all
  select id from (
    select id from (select id, host from watch where priority = 3 and {due} order by {place} limit :ahead) as line
    where {of_free_host} limit :cold
  ) as cold
)
returning {claimed};

-- name: claim_new_watches
-- As claim_due_watches, of those that were never looked at: somebody waits for them.
{lease}
where id in (
  select id from (select id, host from watch where last_checked_at is null and {due} order by {place} limit :ahead) as line
  where {of_free_host} limit :most
)
returning {claimed};

-- name: claim_chosen_watches
-- As claim_due_watches, of these alone.
{lease}
where {chosen} and {due}
returning {claimed};

-- fragment: first_of_hosts
id, host from (
  select id, host, place, row_number() over (partition by host order by place) as nth
  from waiting where {of_free_host}
) as line
where nth <= :each order by nth, place limit :most

-- name: waiting_watches
-- What is due or leased, the first few of each host that is not full. It reads all that is due: not for every claim.
with waiting as (
  select id, host, {place} as place from watch
  where priority in (1, 2, 3) and suspended_at is null and {place} <= :now and next_check_at <= :now
)
select {first_of_hosts};

-- name: waiting_new_watches
-- As waiting_watches, of what was never looked at.
with waiting as (
  select id, host, {place} as place from watch
  where last_checked_at is null and suspended_at is null and {place} <= :now and next_check_at <= :now
)
select {first_of_hosts};

-- fragment: chosen
watch.id in (select cast(value ->> 'id' as bigint) from json_each(cast(:rows as text)))

-- fragment: answers
(
  select
    cast(value ->> 'id' as bigint) as id, cast(value ->> 'lease_token' as bigint) as lease_token,
    cast(value ->> 'now' as bigint) as now, cast(value ->> 'as_of' as bigint) as as_of,
    cast(value ->> 'next_check_at' as bigint) as next_check_at, value ->> 'why' as why,
    cast(value ->> 'priority' as bigint) as priority, cast(value ->> 'status' as bigint) as status, value ->> 'etag' as etag,
    value ->> 'last_modified' as last_modified, value ->> 'validators_url' as validators_url,
    value ->> 'cache_control' as cache_control, cast(value ->> 'ttl' as bigint) as ttl,
    cast(value ->> 'skip_hours' as bigint) as skip_hours, cast(value ->> 'skip_days' as bigint) as skip_days,
    cast(value ->> 'expires_at' as bigint) as expires_at,
    cast(value ->> 'retry_after_until' as bigint) as retry_after_until, unhex(value ->> 'body_hash') as body_hash,
    cast(value ->> 'last_full_at' as bigint) as last_full_at, cast(value ->> 'harvested_at' as bigint) as harvested_at,
    value ->> 'moved_to' as moved_to, cast(value ->> 'moved_count' as bigint) as moved_count,
    cast(value ->> 'moved_since' as bigint) as moved_since, cast(value ->> 'suspended_at' as bigint) as suspended_at,
    value ->> 'suspended_reason' as suspended_reason
  from json_each(cast(:rows as text))
) as new

-- fragment: answered
-- I4: fenced. The counter, the next check and the validators are one write (R22).
update watch
set lease_until = null, waits_since = null, unended = 0, refresh_at = null, next_check_at = new.next_check_at,
  next_check_why = new.why, priority = new.priority, etag = new.etag, last_modified = new.last_modified,
  validators_url = new.validators_url, cache_control = new.cache_control, expires_at = new.expires_at, ttl = new.ttl,
  skip_hours = new.skip_hours, skip_days = new.skip_days,
  retry_after_until = new.retry_after_until, body_hash = new.body_hash, last_checked_at = new.now,
  last_full_at = coalesce(new.last_full_at, watch.last_full_at), last_http_status = new.status,
  last_success_at = coalesce(new.as_of, new.now), last_error = null, last_error_code = null, consecutive_failures = 0,
  first_harvest_at = coalesce(watch.first_harvest_at, new.harvested_at),
  harvested_at = coalesce(new.harvested_at, watch.harvested_at), moved_to = new.moved_to,
  moved_count = new.moved_count, moved_since = new.moved_since, gone_since = null,
  suspended_at = coalesce(watch.suspended_at, new.suspended_at),
  suspended_reason = coalesce(watch.suspended_reason, new.suspended_reason)
from {answers}
where watch.id = new.id and watch.lease_token = new.lease_token

-- fragment: lease_wanted
update watch
set lease_token = lease_token + 1, lease_until = :until, refresh_at = null, unended = unended + 1,
  next_check_at = case when next_check_at < :now then next_check_at else cast(:now as bigint) end

-- fragment: is_free
(lease_until is null or lease_until <= :now)

-- name: claim_watch
-- R25: as claim_due_watches, for one watch that a person wants now; none when somebody is polling it.
{lease_wanted}
where id = :id and {is_free}
returning {claimed};

-- name: claim_wanted_watches
-- As claim_watch, for many, unless somebody polled them since they were wanted; on PostgreSQL those that somebody holds
-- are passed over, and still wanted.
{lease_wanted}
where {chosen} and {is_free} and refresh_at is not null
returning {claimed};

-- fragment: sole_shelf
-- Whose alone a watch is: nobody else wants it. Two are enough to know that; some have a million. Ordered, here and in
-- feed_targets, so that it is the beginning of an index: PostgreSQL read the whole table where one feed has most of it.
(
  select min(wanting.shelf_id) from (
    select shelf_id from subscription
    where subscription.feed_id = watch.feed_id and subscription.suspended_at is null
    order by shelf_id limit 2
  ) as wanting
  having count(*) = 1
)

-- name: claim_gate
-- Ordered, so that it is the beginning of an index: an EXISTS read a million rows where PostgreSQL had not counted them yet.
select
  exists (select 1 from crawler_pause where id = 1) as is_paused,
  (select refresh_at from watch where refresh_at is not null order by refresh_at limit 1) is not null as is_wanted,
  coalesce(
    (
      select {place} from watch
      where suspended_at is null and last_checked_at is null and next_check_at <= :now and {is_free}
      order by {place} limit 1
    ) <= :now, false
  ) as is_new,
  exists (select 1 from shelf limit 1 offset 1) as is_shared;

-- name: demand
-- How many polls fall due a second in the ordinary way: by what was planned, or what is usual where that makes no sense.
select
  cast(
    coalesce(
      sum(
        1000.0 / case
          when next_check_at - last_checked_at >= cast(:shortest as bigint) then next_check_at - last_checked_at
          else cast(:usual as bigint)
        end
      ), 0
    ) as double precision
  ) as per_second
from watch where suspended_at is null and last_checked_at is not null;

-- name: store_fetch
insert into looked_at (url, reply, at) values (:url, :reply, :now)
on conflict (url) do update set reply = excluded.reply, at = excluded.at;

-- name: delete_old_fetches
-- What is old, or beyond what is kept.
delete from looked_at where at < :oldest or at < (select at from looked_at order by at desc limit 1 offset :most);

-- name: take_fetch
delete from looked_at where url = :url and at >= :oldest returning reply;

-- name: refreshes
-- What people asked for and nobody polls yet, the oldest wish first; full hosts are passed over, as in a claim.
-- R96: never before a Retry-After is over.
select id, host, {sole_shelf} as shelf_id from (
  select id, host, feed_id from watch
  where refresh_at is not null and {is_free}
    and (retry_after_until is null or retry_after_until <= :now)
  order by refresh_at
  limit :ahead
) as watch
where host not in (select value ->> 0 from json_each(cast(:hosts as text)))
limit :most;

-- fragment: may_be_asked
-- R96: never before a Retry-After is over; and what was seen just now is not asked for again.
(retry_after_until is null or retry_after_until <= :now)
  and (last_checked_at is null or last_checked_at <= :before or last_checked_at > :soon)

-- fragment: of_shelf
suspended_at is null and feed_id in (
  select feed_id from subscription where shelf_id = :shelf_id and suspended_at is null
)

-- name: ask_refresh
update watch set refresh_at = :now where id = :id and refresh_at is null and {may_be_asked};

-- name: why_not_asked
-- inline: by primary key
select
  case when retry_after_until > :now then retry_after_until end as not_before, refresh_at is not null as is_asked
from watch where id = :id;

-- name: ask_refresh_all
-- The manual refresh of every feed of a shelf that is not suspended.
update watch set refresh_at = :now where refresh_at is null and {of_shelf} and {may_be_asked};

-- name: why_none_asked
select min(case when retry_after_until > :now then retry_after_until end) as not_before,
  coalesce(max(case when refresh_at is not null then 1 else 0 end), 0) = 1 as is_asked
from watch where {of_shelf};

-- name: give_back
-- I4: fenced. Claimed, and not polled: due as it was, with its place (R97).
update watch
set lease_until = null, unended = unended - 1
from (
  select cast(value ->> 'id' as bigint) as id, cast(value ->> 'lease_token' as bigint) as lease_token
  from json_each(cast(:rows as text))
) as held
where watch.id = held.id and watch.lease_token = held.lease_token and watch.lease_until is not null
returning watch.id;

-- name: put_off
-- I4: fenced, as every write of a poll. R97: whoever waits for its host keeps its place.
update watch
set lease_until = null, next_check_at = :until, next_check_why = :why, unended = 0,
  waits_since = case when :keeps_place then {place} end
where id = :id and lease_token = :lease_token;

-- name: extend_lease
-- I4. One that was saved just now has no lease to keep, and has lost none.
update watch
set lease_until = case when lease_until is null then null else cast(:until as bigint) end
where id = :id and lease_token = :lease_token;

-- fragment: is_ahead
-- It was looked at by a clock that was ahead: all that was written then lies so much too late.
coalesce(last_checked_at, created_at) > :soon

-- fragment: latest
case when skip_days > 0 then cast(:latest_of_skipping as bigint) else cast(:latest as bigint) end

-- name: repair_watches
-- REL-19g, I5: planned or leased by a clock that was ahead. What was planned then is planned by as much from now on; what
-- is still further off than anything may be is due now; nothing keeps a lease longer than one lasts.
update watch
set
  next_check_at = case
    when {is_ahead} and next_check_at - coalesce(last_checked_at, created_at) + cast(:now as bigint) <= {latest}
      then next_check_at - coalesce(last_checked_at, created_at) + cast(:now as bigint)
    when {is_ahead} or next_check_at > {latest} then cast(:now as bigint)
    else next_check_at
  end,
  waits_since = case when waits_since > :now then null else waits_since end,
  lease_until = case when lease_until > :lease_end then cast(:lease_end as bigint) else lease_until end,
  expires_at = case when {is_ahead} then expires_at - coalesce(last_checked_at, created_at) + cast(:now as bigint) else expires_at end,
  retry_after_until = case
    when {is_ahead} then retry_after_until - coalesce(last_checked_at, created_at) + cast(:now as bigint)
    when retry_after_until > :latest then null
    else retry_after_until
  end,
  last_checked_at = case when last_checked_at > :now then cast(:now as bigint) else last_checked_at end,
  last_full_at = case when last_full_at > :now then cast(:now as bigint) else last_full_at end,
  last_success_at = case when last_success_at > :now then cast(:now as bigint) else last_success_at end,
  last_error_at = case when last_error_at > :now then cast(:now as bigint) else last_error_at end,
  last_release_at = case when last_release_at > :now then cast(:now as bigint) else last_release_at end,
  moved_since = case when moved_since > :now then cast(:now as bigint) else moved_since end,
  gone_since = case when gone_since > :now then cast(:now as bigint) else gone_since end,
  created_at = case when created_at > :now then cast(:now as bigint) else created_at end
where {is_ahead} or next_check_at > {latest} or lease_until > :lease_end or retry_after_until > :latest;

-- name: feed_targets
-- By primary key, and by the beginning of an index each, however many follow.
select
  feed.id as feed_id, cast(:now as bigint) as seen_at, feed.link, feed.proxy, watch.last_full_at, watch.first_harvest_at, watch.last_release_at,
  watch.harvested_at, watch.last_success_at, watch.cache_control, watch.expires_at, watch.ttl, watch.skip_hours, watch.skip_days, watch.poll_floor, watch.moved_to, watch.moved_count, watch.moved_since,
  watch.gone_since,
  case
    when (select 1 from subscription where subscription.feed_id = feed.id order by shelf_id limit 1 offset :many) is not null
      then cast(:many as bigint) + 1
    else 1
  end as followers,
  (
    select min(poll_interval) from subscription
    where subscription.feed_id = feed.id and subscription.poll_interval is not null and subscription.suspended_at is null
  ) as wished_interval,
  (
    select 1 from subscription
    where subscription.feed_id = feed.id and subscription.poll_interval is null and subscription.suspended_at is null
    order by shelf_id limit 1
  ) is not null as has_usual,
  {sole_shelf} as shelf_id,
  exists (select 1 from item where item.feed_id = feed.id) as has_content, {is_its_own} and feed.has_unstable_keys as has_unstable_keys,
  -- REL-08: what was found last time could not be stored, and no validator or hash may keep us from finding it again;
  -- nor may a poll that failed since, or one that began before it was given up.
  exists (
    select 1 from dead_letter
    where dead_letter.queue = 'item-ingest' and replayed_at is null and discarded_at is null
      and dead_letter.key >= 'ingest-' || watch.id || '-' and dead_letter.key < 'ingest-' || watch.id || '.'
      and last_failed_at >= watch.last_success_at
  ) as has_letters,
  feed_digest.digests, feed_digest.compared_at
from watch join feed on feed.id = watch.feed_id
left join feed_digest on feed_digest.feed_id = feed.id
where {chosen};

-- name: series_target
select
  series_source.id as series_source_id, series_source.series_id, series_source.url, series_source.update_strategy,
  source.id as source_id, source.name as source_name, source.slug as source_slug, source.lang, source.base_url,
  source.connector, source.config, source.is_enabled,
  watch.first_harvest_at, watch.last_release_at, watch.poll_floor, watch.gone_since,
  (select count(*) from follow where follow.series_id = series_source.series_id) as followers,
  exists (select 1 from release where release.series_source_id = series_source.id) as has_content
from watch
join series_source on series_source.id = watch.series_source_id
join source on source.id = series_source.source_id
where watch.id = :id;

-- name: last_release
select last_release_at from watch where id = :id;

-- name: known_items
-- What is stored under these keys of these feeds, with what content, and under these pages, whatever its key (REL-27),
-- the newest of a page that all items share.
-- One may come twice. REL-39d: what retention removed is known too, since `pruned_at`.
select item.feed_id, item.key, item.link_key, item.content_hash, null as pruned_at from json_each(cast(:rows as text))
join item on item.feed_id = cast(value ->> 0 as bigint) and item.key = value ->> 1
union all
select item.feed_id, item.key, item.link_key, item.content_hash, null from json_each(cast(:rows as text))
join item on item.id in (
  select page.id from item as page
  where page.feed_id = cast(value ->> 0 as bigint) and page.link_key = value ->> 2 order by page.id desc limit 1000
)
union all
select gone.feed_id, gone.key, gone.link_key, gone.content_hash, gone.at from json_each(cast(:rows as text))
cross join item_tombstone as gone
where gone.feed_id = cast(value ->> 0 as bigint) and gone.key = value ->> 1
union all
select gone.feed_id, gone.key, gone.link_key, gone.content_hash, gone.at from json_each(cast(:rows as text))
join item_tombstone as gone on gone.feed_id = cast(value ->> 0 as bigint) and gone.key in (
  select page.key from item_tombstone as page
  where page.feed_id = cast(value ->> 0 as bigint) and page.link_key = value ->> 2 order by page.at desc limit 1000
);

-- name: said_items
select item.key, item.title, item.published_at from json_each(cast(:rows as text))
cross join item
where item.feed_id = :feed_id and item.key = value ->> 0;

-- name: rekey_item
-- R93, I1: never onto a key that is stored.
update item set key = :key
where feed_id = :feed_id and key = :old
  and not exists (select 1 from item as other where other.feed_id = :feed_id and other.key = :key);

-- name: rekey_tombstone
update item_tombstone set key = :key
where feed_id = :feed_id and key = :old
  and not exists (select 1 from item_tombstone as other where other.feed_id = :feed_id and other.key = :key);

-- name: touch_tombstones
-- The publisher still lists them.
update item_tombstone set at = :now
where feed_id = :feed_id and key in (select value ->> 0 from json_each(cast(:rows as text)));

-- name: touch_last_listed
-- The document that listed them stayed as it was until then.
update item_tombstone set at = :until where feed_id = :feed_id and at >= :since and at < :until;

-- name: save_answer
-- It waits for whoever has the row locked.
{answered}
returning watch.id, watch.lease_token;

-- name: save_answers
-- Many; on PostgreSQL those that somebody holds are passed over.
{answered}
returning watch.id, watch.lease_token;

-- name: save_failure
-- R22, R46: one failure per poll, written with the moment that follows from it. Freshness stays what it was.
update watch
set lease_until = null, waits_since = null, unended = 0, refresh_at = null, next_check_at = :next_check_at,
  next_check_why = :why, priority = :priority,
  retry_after_until = :retry_after_until, last_checked_at = :now, last_http_status = coalesce(:status, last_http_status),
  last_error_at = :now, last_error = :error, last_error_code = :error_code,
  consecutive_failures = consecutive_failures + 1, gone_since = :gone_since,
  suspended_at = coalesce(suspended_at, :suspended_at), suspended_reason = coalesce(suspended_reason, :suspended_reason)
where id = :id and lease_token = :lease_token
returning consecutive_failures;

-- name: save_digests
insert into feed_digest (feed_id, digests, compared_at)
select cast(value ->> 0 as bigint), unhex(value ->> 1), cast(value ->> 2 as bigint)
from json_each(cast(:rows as text))
where true
order by cast(value ->> 0 as bigint)
on conflict (feed_id) do update set digests = excluded.digests, compared_at = excluded.compared_at
returning feed_id;

-- name: move_feed
-- R29: the new address is believed; nothing happens when another feed has it.
update feed set link = :link, described_at = null, updated_at = :now
where id = :feed_id and not exists (
  select 1 from feed as other where other.link = :link and other.proxy = feed.proxy and other.id <> feed.id
);

-- name: describe_feeds
-- What feeds say of themselves; silence never blanks what is known, and what is known already is not written. Where it
-- was not this feed at this address that said it (described_at is null), nothing of it stays.
update feed
set title = case when new.title = '' and {is_its_own} then feed.title else new.title end,
  site_url = coalesce(new.site_url, case when {is_its_own} then feed.site_url end),
  description = coalesce(new.description, case when {is_its_own} then feed.description end),
  language = coalesce(new.language, case when {is_its_own} then feed.language end),
  icon_url = coalesce(new.icon_url, case when {is_its_own} then feed.icon_url end),
  hub_url = coalesce(new.hub_url, case when {is_its_own} then feed.hub_url end),
  has_unstable_keys = new.has_unstable_keys, described_at = new.now, updated_at = new.now
from (
  select
    cast(value ->> 'id' as bigint) as id, cast(value ->> 'now' as bigint) as now, value ->> 'title' as title,
    value ->> 'site_url' as site_url, value ->> 'description' as description, value ->> 'language' as language,
    value ->> 'icon_url' as icon_url, value ->> 'hub_url' as hub_url, {as_boolean} as has_unstable_keys
  from json_each(cast(:rows as text))
) as new
where feed.id = new.id and {described} and (
  not {is_its_own} or (new.title <> '' and new.title <> feed.title) or new.site_url <> coalesce(feed.site_url, '')
  or new.description <> coalesce(feed.description, '') or new.language <> coalesce(feed.language, '')
  or new.icon_url <> coalesce(feed.icon_url, '') or new.hub_url <> coalesce(feed.hub_url, '')
  or new.has_unstable_keys <> feed.has_unstable_keys
);

-- fragment: is_its_own
(feed.described_at is not null)

-- fragment: as_boolean
value ->> 'has_unstable_keys'

-- fragment: described
feed.id in (select cast(value ->> 'id' as bigint) from json_each(cast(:rows as text)))

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

-- name: join_tags
-- What is tagged at the old address is tagged at the new one, and so is the feed.
insert into tagging (tag_id, item_id, feed_id)
select tag.id, twin.id, null
from {twin}
join tagging on tagging.item_id = former.id
join tag on tag.id = tagging.tag_id
where exists (
    select 1 from entry as before
    where before.item_id = former.id and before.shelf_id = tag.shelf_id and before.feed_id = :feed_id
  )
  or exists (
    select 1 from former_entry as before
    where before.item_id = former.id and before.shelf_id = tag.shelf_id and before.feed_id = :feed_id
  )
union all
select tag_id, null, cast(:target as bigint) from tagging where feed_id = :feed_id
on conflict do nothing;

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

-- name: find_full_text
select content, error, fetched_at from item_full_text where item_id = :item_id;

-- name: keep_full_text
-- R70: one fetch serves everyone. A failure never takes a text away that was had before.
insert into item_full_text (item_id, content, error, fetched_at)
values (:item_id, :content, :error, :now)
on conflict (item_id) do update set
  content = case when excluded.content = '' then item_full_text.content else excluded.content end,
  error = excluded.error,
  fetched_at = excluded.fetched_at;
