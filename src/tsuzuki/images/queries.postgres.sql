-- name: lock_download
-- A lock, and what is seen after it: who keeps this copy in the same moment is waited for.
select id from chapter_copy where release_id = :release_id for update;
