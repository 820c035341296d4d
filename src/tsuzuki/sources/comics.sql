-- fragment: comic_columns
series.id, series.public_id, series.title, series.author, series.cover_url, series.latest_number,
  (select count(*) from series_source where series_source.series_id = series.id) as sources,
  (select count(*) from chapter where chapter.series_id = series.id) as chapters, series.created_at, series.updated_at

-- fragment: comic_filter
(cast(:pattern as text) is null or lower(title) like cast(:pattern as text) escape '\')

-- name: list_comics
select {comic_columns} from series where {comic_filter} order by title, id limit :most offset :skip;

-- name: count_comics
select count(*) from series where {comic_filter};

-- name: find_comic
select {comic_columns} from series where public_id = :public_id;

-- fragment: mapping
select
  series_source.id, series_source.series_id, series.public_id as comic_id, series_source.source_id,
  source.name as source_name, source.slug as source_slug, source.base_url as source_base_url, source.connector,
  series_source.source_key, series_source.url, series_source.is_active, watch.last_success_at as last_crawled_at,
  series_source.created_at, series_source.updated_at
from series_source
left join watch on watch.series_source_id = series_source.id
join series on series.id = series_source.series_id
join source on source.id = series_source.source_id

-- name: list_mappings
{mapping}
where series_source.series_id = :series_id
order by series_source.id;

-- name: list_source_comics
-- What was only looked at in a catalogue has no watch, and is no mapping that is crawled.
select
  series_source.id, series.public_id as comic_id, series.title, series_source.url, series_source.is_active,
  watch.last_success_at, watch.next_check_at, watch.consecutive_failures, watch.last_error
from series_source
join watch on watch.series_source_id = series_source.id
join series on series.id = series_source.series_id
where series_source.source_id = :source_id
order by watch.consecutive_failures desc, series_source.id
limit :most offset :skip;

-- name: count_source_comics
select count(*) from series_source join watch on watch.series_source_id = series_source.id
where series_source.source_id = :source_id;

-- name: find_mapping
{mapping}
where series_source.id = :id and series_source.series_id = :series_id;

-- name: change_mapping
update series_source
set source_key = :source_key, url = :url, is_active = :is_active, updated_at = :now
where id = :id;

-- name: delete_mapping
-- Its watch, releases and appearances go along; chapters, and what readers have of them, stay (I9).
delete from series_source where id = :id;

-- name: move_watch
-- Another address or another switch: due at once, or not at all. The token outdates a poll that is under way.
update watch
set host = :host, suspended_at = case when :is_active then null else cast(:now as bigint) end,
  suspended_reason = case when :is_active then null else cast(:reason as text) end,
  next_check_at = :now, next_check_why = '', lease_token = lease_token + 1, lease_until = null, gone_since = null,
  consecutive_failures = 0
where series_source_id = :series_source_id;

-- name: matching_comics
-- At most two are of interest: one is a match, more are none. What the source has already is another edition of it.
select id from series
where match_key = :match_key and not exists (
  select 1 from series_source where series_source.series_id = series.id and series_source.source_id = :source_id
)
limit 2;

-- name: known_series
-- A person may have mapped it by another key: then the address is the same.
select value ->> 'key' as key from json_each(cast(:rows as text))
where exists (
  select 1 from series_source where series_source.source_id = :source_id and series_source.source_key = value ->> 'key'
) or exists (
  select 1 from series_source where series_source.source_id = :source_id and series_source.url = value ->> 'url'
);

-- name: describe_comic
-- What nobody knew yet; what is there stays.
update series set cover_url = coalesce(cover_url, :cover_url), description = coalesce(description, :description)
where id = :id;
