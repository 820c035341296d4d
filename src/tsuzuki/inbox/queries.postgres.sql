-- fragment: by_unread
entry

-- fragment: by_unread_published
entry

-- fragment: by_saved
entry

-- fragment: first_page
item.page_urls ->> 0

-- fragment: hits
select item_id as found from item_search where document @@ cast(:match as tsquery) offset 0

-- fragment: hit_entries
-- By the key of each hit: a plan made for any words would begin with all that the shelf has.
hit cross join lateral (
  select id, shelf_id, feed_id, item_id, series_id, chapter_id, unread, saved, sort_at, created_at from entry
  where entry.shelf_id = :shelf_id and entry.item_id = hit.found
  offset 0
) as entry

-- name: horizon
-- The lowest transaction of this database that may still run. Transactions end in another order than they began: below
-- this all have ended, so the next statement sees what they wrote, and what is written later has a higher txid.
-- pg_snapshot_xmin would say the same and would wait for the long transactions of other databases too.
with bound as (select cast(cast(pg_snapshot_xmax(pg_current_snapshot()) as text) as bigint) as next)
select cast(min(next - behind) as bigint) as horizon
from (
  select next, 0 as behind from bound
  union all
  -- backend_xid has 32 bits: how far it lies behind is what counts. One that lies ahead began after our snapshot.
  select next, (next - cast(cast(backend_xid as text) as bigint)) & 4294967295
  from bound cross join pg_stat_activity
  where datname = current_database() and backend_xid is not null
) as running
where behind < 2147483648;

-- fragment: is_settled
-- By this statement's own snapshot: what it cannot see yet comes after.
txid < cast(cast(pg_snapshot_xmin(pg_current_snapshot()) as text) as bigint)

-- fragment: these
-- In the order of the key: PostgreSQL marks 10,000 entries in two thirds of the time then.
= any (cast((select cast(translate(cast(:ids as text), '[]', '{}') as bigint[])) as bigint[]))

-- fragment: changed
changed_at = cast(extract(epoch from clock_timestamp()) * 1000 as bigint)
