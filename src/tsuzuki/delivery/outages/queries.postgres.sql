-- name: lock_origin
-- Two series of one source that break at the same moment must see each other, or a reader is told twice.
select pg_advisory_xact_lock(2, cast(cast(:source_id as bigint) % 2147483647 as integer));
