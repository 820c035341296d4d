-- name: share_feed
-- Held to the end of the transaction, together with others who deliver, apart from those who subscribe: an item that is
-- not yet committed and a subscription that is not yet committed cannot see each other, and the entry would be lost.
select pg_advisory_xact_lock_shared(1, cast(cast(:feed_id as bigint) % 2147483647 as integer));

-- name: share_series
-- The same for chapters and follows.
select pg_advisory_xact_lock_shared(3, cast(cast(:series_id as bigint) % 2147483647 as integer));

-- name: hold_series
select pg_advisory_xact_lock(3, cast(cast(:series_id as bigint) % 2147483647 as integer));

-- name: hold_feed
select pg_advisory_xact_lock(1, cast(cast(:feed_id as bigint) % 2147483647 as integer));
