-- name: server_state
-- SQLite has no replicas.
select 0 as system, '' as database, false as is_standby, '' as timeline, '' as started, 0 as position
where not exists (select 1 from entry limit 0);

-- name: committed_position
select 0 as position, '' as timeline;

-- name: has_replayed
select :position = 0;
