-- name: lock_feed
-- Held to the end of the transaction: who subscribes, who leaves and who drops the feed wait for each other, and for what
-- is being stored and delivered (delivery: lock_feeds_shared, the same lock). Not its row: a poll that is saved holds the watch
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
-- The one lock of a series, which ingest takes too (lock_ingest): whoever follows waits for a batch that is being stored
-- and delivered, and the next one for the follow.
select 1 from pg_advisory_xact_lock(hashtextextended(cast(:name as text), 0));
