-- name: lock_reading
select 1 from pg_advisory_xact_lock(hashtextextended(cast(:name as text), 0));
