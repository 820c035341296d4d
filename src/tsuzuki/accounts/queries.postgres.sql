-- name: lock_people
-- 0x74736c70: a number that nothing else of ours locks. It is held until the transaction ends.
select 1 as locked from pg_advisory_xact_lock(1953721456);
