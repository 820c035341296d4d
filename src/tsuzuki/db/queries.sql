-- name: take_locks
-- SQLite has one writer: there is nobody to wait for.
select 1 where :number is not null and :ids is not null;

-- name: take_shared_locks
select 1 where :number is not null and :ids is not null;

-- name: lock_shelf
select id from shelf where id = :shelf_id;

-- name: has_feed
-- inline: by primary key
select id from feed where id = :id;
