-- name: lock_comic_matching
select 1 from pg_advisory_xact_lock(7302061001);
