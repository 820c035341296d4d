-- fragment: others_have
(
  exists (
    select 1 from follow where follow.series_id in (:series_id, target.series_id) and follow.shelf_id <> :shelf_id
  )
  or exists (
    select 1 from former_follow
    where former_follow.series_id in (:series_id, target.series_id) and former_follow.shelf_id <> :shelf_id
  )
  or exists (
    select 1 from chapter join progress on progress.chapter_id = chapter.id
    where chapter.series_id in (:series_id, target.series_id) and progress.shelf_id <> :shelf_id
  )
)

-- name: sides
select cast(:series_id as bigint) as series_id, target.series_id as target_id, series.public_id as target,
  exists (select 1 from series_source where series_source.series_id = :series_id) as has_source,
  {others_have} as is_shared
from series_source as target
join series on series.id = target.series_id
where target.id = :manga_id;

-- fragment: is_later
excluded.paged_at is not null and (progress.paged_at is null or progress.paged_at < excluded.paged_at)

-- name: copy_progress
insert into progress (
  shelf_id, chapter_id, page, furthest_page, is_read, is_bookmarked, device, paged_at, marked_at, opened_at, updated_at
)
select
  cast(:shelf_id as bigint), target.id, read.page, read.furthest_page, read.is_read, read.is_bookmarked, read.device,
  read.paged_at, read.marked_at, read.opened_at, cast(:now as bigint)
from chapter
join progress as read on read.shelf_id = :shelf_id and read.chapter_id = chapter.id
join chapter as target on target.series_id = :into_id and target.key = chapter.key
where chapter.series_id = :from_id
order by target.id
on conflict (shelf_id, chapter_id) do update set
  page = case when {is_later} then excluded.page else progress.page end,
  device = case when {is_later} then excluded.device else progress.device end,
  paged_at = case when {is_later} then excluded.paged_at else progress.paged_at end,
  opened_at = case when {is_later} then excluded.opened_at else progress.opened_at end,
  furthest_page = case
    when excluded.furthest_page > progress.furthest_page then excluded.furthest_page else progress.furthest_page
  end,
  marked_at = case when excluded.is_read and not progress.is_read then excluded.marked_at else progress.marked_at end,
  is_read = progress.is_read or excluded.is_read,
  is_bookmarked = progress.is_bookmarked or excluded.is_bookmarked,
  updated_at = excluded.updated_at;

-- name: point_follow
update follow set series_id = :into_id, updated_at = :now
where shelf_id = :shelf_id and series_id = :from_id and not exists (
  select 1 from follow as other where other.shelf_id = :shelf_id and other.series_id = :into_id
);

-- name: drop_follow
delete from follow where shelf_id = :shelf_id and series_id = :series_id;

-- name: point_backups
update backup_series set series_id = :into_id where shelf_id = :shelf_id and series_id = :from_id;
