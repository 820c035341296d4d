-- fragment: source_columns
id, uid, name, slug, lang, base_url, connector, config, is_enabled, is_nsfw, supports_latest, consecutive_fails,
  last_succeeded_at, last_failed_at, created_at, updated_at

-- fragment: source_filter
(cast(:is_enabled as boolean) is null or is_enabled = cast(:is_enabled as boolean))
  and (cast(:pattern as text) is null or lower(name) like cast(:pattern as text) escape '\')

-- name: list_sources
select {source_columns} from source where {source_filter} order by id limit :most offset :skip;

-- name: count_sources
select count(*) from source where {source_filter};

-- name: find_source
-- inline: by primary key
select {source_columns} from source where id = :id;

-- name: find_namesake
select name from source where name = :name or uid = :uid order by case when name = :name then 0 else 1 end limit 1;

-- name: lock_source
-- One writer at a time on SQLite; PostgreSQL locks the row.
select {source_columns} from source where id = :id;

-- name: register_source
insert into source (
  uid, name, slug, lang, base_url, connector, config, is_enabled, is_nsfw, supports_latest, created_at, updated_at
)
values (
  :uid, :name, :slug, :lang, :base_url, :connector, :config, :is_enabled, :is_nsfw, :supports_latest, :now, :now
)
returning {source_columns};

-- name: change_source
-- R46: enabling resets the count, whichever way it is done. The uid stays: readers know the source by it (R9).
update source
set name = :name, slug = :slug, base_url = :base_url, connector = :connector, config = :config, lang = :lang,
  is_nsfw = :is_nsfw, supports_latest = :supports_latest,
  consecutive_fails = case when :is_enabled and not is_enabled then 0 else consecutive_fails end,
  is_enabled = :is_enabled, updated_at = :now
where id = :id
returning {source_columns};

-- name: delete_source
-- Mappings, watches and releases go along; jobs and readers' state do not hang on it (R51).
delete from source where id = :id;

-- name: wake_source
-- After enabling: what was put off meanwhile is due now.
update watch set next_check_at = :now
where suspended_at is null and next_check_at > :now and (lease_until is null or lease_until <= :now)
  and series_source_id in (select id from series_source where source_id = :id);

-- name: source_failed
-- R46, REL-11: the count and the switch are one statement, and the job that threw the switch is written down with it.
update source
set consecutive_fails = consecutive_fails + 1, last_failed_at = :now, updated_at = :now,
  disabled_by_job = case when is_enabled and consecutive_fails + 1 >= :threshold then :job_id else disabled_by_job end,
  is_enabled = is_enabled and consecutive_fails + 1 < :threshold
where id = :id
returning name, consecutive_fails, coalesce(not is_enabled and disabled_by_job = :job_id, false) as is_disabled_now;

-- name: source_succeeded
update source set consecutive_fails = 0, last_succeeded_at = :now, updated_at = :now where id = :id;

-- name: source_polled
-- Written once a minute at most, so that a thousand polls do not queue for one row. R57: the count of failures is the
-- jobs' that people trigger; a series that fails on schedule has its own breaker (R23).
update source
set last_succeeded_at = case when cast(:is_well as boolean) then cast(:now as bigint) else last_succeeded_at end,
  last_failed_at = case when cast(:is_well as boolean) then last_failed_at else cast(:now as bigint) end
where id = :id
  and coalesce(case when cast(:is_well as boolean) then last_succeeded_at else last_failed_at end, 0) < :before;

-- name: find_pause
-- inline: one row at most
select at from crawler_pause where id = 1;

-- name: show_pause
-- inline: one row at most
select at, reason from crawler_pause where id = 1;

-- name: pause
insert into crawler_pause (id, at, reason) values (1, :now, :reason) on conflict (id) do nothing;

-- name: resume
delete from crawler_pause where id = 1;
