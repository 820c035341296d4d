-- name: claim_due_watches
-- SKIP LOCKED: without it four workers took 22,500 of 40,000 rows twice.
{lease}
where id = any (
  array(
    select id from (
      select id, host from watch where priority = 1 and {due} order by {place} limit :ahead for update skip locked
    ) as line
    where {of_free_host} limit :hot
  )
  || array(
    select id from (
      select id, host from watch where priority = 2 and {due} order by {place} limit :ahead for update skip locked
    ) as line
    where {of_free_host} limit :warm
  )
  || array(
    select id from (
      select id, host from watch where priority = 3 and {due} order by {place} limit :ahead for update skip locked
    ) as line
    where {of_free_host} limit :cold
  )
)
returning {claimed};

-- name: claim_new_watches
{lease}
where id = any (
  array(
    select id from (
      select id, host from watch where last_checked_at is null and {due} order by {place} limit :ahead for update skip locked
    ) as line
    where {of_free_host} limit :most
  )
)
returning {claimed};

-- name: claim_of_hosts
{lease}
where id = any (
  array(
    select line.id from json_each(cast(:hosts as text)) as waiting, lateral (
      select id from watch
      where host = waiting.value ->> 0 and {seen} = :is_seen and {due}
      order by {place}
      limit :each
      for update skip locked
    ) as line
    limit :most
  )
)
returning {claimed};

-- name: lock_feed
-- Held to the end of the transaction: who subscribes, who leaves and who drops the feed wait for each other, and for what
-- is being stored and delivered (delivery: share_feeds, the same lock). Not its row: a poll that is saved holds the watch
-- and then writes what the feed says of itself, while these go on to the watch.
select 1 from pg_advisory_xact_lock(1, cast(cast(:id as bigint) % 2147483647 as integer));

-- name: lock_known_feeds
-- By id: whoever else locks several feeds does it in this order.
select known.id
from (
  select id from feed
  where (link, proxy) in (select value ->> 0, value ->> 1 from json_each(cast(:rows as text)))
  order by id offset 0
) as known, pg_advisory_xact_lock(1, cast(known.id % 2147483647 as integer));

-- name: lock_series_merges_shared
-- Whoever writes on chapters shares this, as the first lock of the transaction; a merge or split holds it alone.
select 1 from pg_advisory_xact_lock_shared(7302061002);

-- name: lock_series_merges
select 1 from pg_advisory_xact_lock(7302061002);

-- name: lock_series
-- The one lock of a series, which ingest takes too (hold_ingest): whoever follows waits for a batch that is being stored
-- and delivered, and the next one for the follow.
select 1 from pg_advisory_xact_lock(hashtextextended(cast(:name as text), 0));
