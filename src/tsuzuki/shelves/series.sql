-- name: details
select id, public_id, title, author, artist, description, cover_url, language, status, is_nsfw, latest_number,
  last_chapter_at, created_at, updated_at,
  (
    select min(series_source.id) from series_source
    where series_source.series_id = series.id and series_source.cover_url is not null
  ) as cover_id
from series where id = :series_id;

-- name: sources
select series_source.id, series_source.source_id, source.name as source_name, source.lang as language,
  series_source.title, coalesce(series_source.real_url, series_source.url) as url,
  (source.is_enabled and series_source.is_active) as is_on, source.is_enabled as is_source_on,
  source.consecutive_fails as source_failures, watch.last_checked_at, watch.last_success_at,
  watch.next_check_at, watch.suspended_reason, watch.last_error, coalesce(watch.consecutive_failures, 0) as failures,
  (select at from crawler_pause where id = 1) as paused_at,
  (select reason from crawler_pause where id = 1) as paused_reason,
  (select count(*) from release where release.series_source_id = series_source.id) as releases
from series_source
join source on source.id = series_source.source_id
left join watch on watch.series_source_id = series_source.id
where series_source.series_id = :series_id
order by series_source.id;

-- fragment: chapter
select chapter.id, chapter.number, chapter.volume, chapter.title, chapter.published_at, chapter.first_seen_at,
  coalesce(progress.is_read, false) as is_read, coalesce(progress.is_bookmarked, false) as is_bookmarked,
  coalesce(progress.page, 0) as page, coalesce(progress.furthest_page, 0) as furthest_page, progress.device,
  progress.paged_at, coalesce(entry.unread, false) as is_new

-- fragment: reading
left join progress on progress.shelf_id = :shelf_id and progress.chapter_id = chapter.id
left join entry on entry.shelf_id = :shelf_id and entry.chapter_id = chapter.id

-- name: chapters
-- Newest first (R11): by number; those without one come after, by when they came.
{chapter}
from (
  select id, number, number_sort, volume, title, published_at, first_seen_at from chapter where series_id = :series_id
  order by number_sort desc nulls last, coalesce(published_at, first_seen_at) desc, id desc
  limit :most offset :skip
) as chapter
{reading}
order by chapter.number_sort desc nulls last, coalesce(chapter.published_at, chapter.first_seen_at) desc, chapter.id desc;

-- name: chapter_order
-- All of them in the order of `chapters`, for jumping from one to another.
select chapter.id, chapter.number, chapter.volume, chapter.title, coalesce(progress.is_read, false) as is_read
from chapter
left join progress on progress.shelf_id = :shelf_id and progress.chapter_id = chapter.id
where chapter.series_id = :series_id
order by chapter.number_sort desc nulls last, coalesce(chapter.published_at, chapter.first_seen_at) desc, chapter.id desc
limit :most;

-- name: groups
select distinct release.group_name from release
join series_source on series_source.id = release.series_source_id
where series_source.series_id = :series_id and release.group_name is not null
order by release.group_name limit :most;

-- name: languages
select distinct release.language from release
join series_source on series_source.id = release.series_source_id
where series_source.series_id = :series_id and release.language is not null
order by release.language limit :most;

-- name: find_chapter
{chapter}
from chapter
{reading}
where chapter.id = :id and chapter.series_id = :series_id;

-- name: releases
select release.id, release.chapter_id, release.series_source_id, series_source.source_id, source.name as source_name,
  coalesce(release.real_url, release.url) as url, release.title, release.language, release.group_name,
  release.published_at, release.first_seen_at, release.page_count, release.is_available, release.is_readable,
  (source.is_enabled and series_source.is_active) as is_on
from release
join series_source on series_source.id = release.series_source_id
join source on source.id = series_source.source_id
where release.chapter_id in (select cast(value as bigint) from json_each(cast(:ids as text)))
order by release.id;

-- name: preferences_of
-- What this shelf wants of the releases of these chapters.
select chapter.id as chapter_id, follow.preferences from chapter
join follow on follow.shelf_id = :shelf_id and follow.series_id = chapter.series_id
where chapter.id in (select cast(value as bigint) from json_each(cast(:ids as text)));

-- name: numbers
select number_sort from chapter where series_id = :series_id and number_sort is not null order by number_sort;

-- name: volumes
select distinct volume from chapter where series_id = :series_id and number_sort is null and volume is not null;

-- name: counted
select count(*) as chapters, count(*) - coalesce(sum(case when progress.is_read then 1 else 0 end), 0) as unread,
  max(progress.opened_at) as last_read_at
from chapter
left join progress on progress.shelf_id = :shelf_id and progress.chapter_id = chapter.id
where chapter.series_id = :series_id;
