-- Locked: whoever changes one of these at that moment must not be overwritten. SQLite has one writer.

-- name: channels_after
select id, name, config from channel where id > :after order by id limit :most for update;

-- name: sources_after
select id, name, config from source where id > :after order by id limit :most for update;

-- name: proxies_after
select id, link as name, proxy as value from feed where id > :after and proxy <> '' order by id limit :most for update;

-- name: notes_after
select source_id as id, key as name, value from source_meta where source_id > :after order by source_id limit :most for update;
