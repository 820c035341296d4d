-- fragment: columns
chapter_id, page, furthest_page, is_read, is_bookmarked, device, paged_at, marked_at, updated_at

-- fragment: is_newer
excluded.paged_at is not null and (
  progress.paged_at is null or excluded.paged_at > progress.paged_at or (
    excluded.paged_at = progress.paged_at
    and (excluded.page, coalesce(excluded.device, '')) > (progress.page, coalesce(progress.device, ''))
  )
)

-- fragment: decides
excluded.marked_at is not null and (
  progress.marked_at is null or excluded.marked_at > progress.marked_at
  or (excluded.marked_at = progress.marked_at and excluded.is_read)
)

-- name: write_progress
-- Each of page and is_read is the newest that was said, whatever order it arrives in; the furthest page never goes back.
insert into progress (
  shelf_id, chapter_id, page, furthest_page, is_read, is_bookmarked, device, paged_at, marked_at, opened_at, updated_at
)
values (
  :shelf_id, :chapter_id, :page, :page, :is_read, coalesce(cast(:is_bookmarked as boolean), false), :device, :paged_at,
  :marked_at, :paged_at, :now
)
on conflict (shelf_id, chapter_id) do update set
  page = case when {is_newer} then excluded.page else progress.page end,
  device = case when {is_newer} then excluded.device else progress.device end,
  paged_at = case when {is_newer} then excluded.paged_at else progress.paged_at end,
  opened_at = case when {is_newer} then excluded.paged_at else progress.opened_at end,
  furthest_page = case
    when excluded.furthest_page > progress.furthest_page then excluded.furthest_page else progress.furthest_page
  end,
  is_read = case when {decides} then excluded.is_read else progress.is_read end,
  marked_at = case when {decides} then excluded.marked_at else progress.marked_at end,
  is_bookmarked = coalesce(cast(:is_bookmarked as boolean), progress.is_bookmarked),
  updated_at = excluded.updated_at
returning {columns};

-- name: find_progress
select {columns} from progress where shelf_id = :shelf_id and chapter_id = :chapter_id;

-- fragment: chapter
chapter.id, chapter.series_id,
  coalesce((select max(release.page_count) from release where release.chapter_id = chapter.id), -1) as page_count

-- name: find_chapter
select {chapter} from chapter where chapter.id = :id and chapter.series_id = :series_id;

-- name: find_chapter_keyed
-- For a device that has been away while chapters were merged: their ids went, their numbers did not.
select {chapter} from chapter where chapter.series_id = :series_id and chapter.key = :key;

-- fragment: is_meant
chapter.series_id = :series_id and (
  (cast(:ids as text) is null or chapter.id in (select cast(value as bigint) from json_each(cast(:ids as text))))
  and (cast(:up_to as bigint) is null or chapter.number_sort <= cast(:up_to as bigint))
  and (cast(:before as bigint) is null or exists (
    select 1 from chapter as stop
    where stop.id = cast(:before as bigint) and stop.series_id = chapter.series_id and (
      chapter.number_sort < stop.number_sort or (cast(:is_inclusive as boolean) and chapter.id = stop.id) or (
        stop.number_sort is null and chapter.number_sort is null and
        (coalesce(chapter.published_at, chapter.first_seen_at), chapter.id)
          < (coalesce(stop.published_at, stop.first_seen_at), stop.id)
      )
    )
  ))
)

-- name: mark_read
-- A mark that comes late does not undo what was said since then: the newest counts.
insert into progress (shelf_id, chapter_id, is_read, marked_at, updated_at)
select cast(:shelf_id as bigint), chapter.id, true, cast(:now as bigint), cast(:now as bigint)
from chapter where {is_meant}
order by chapter.id
on conflict (shelf_id, chapter_id) do update set
  is_read = true, marked_at = excluded.marked_at, updated_at = excluded.updated_at
where not progress.is_read and coalesce(progress.marked_at, 0) <= excluded.marked_at;

-- name: mark_unread
update progress set is_read = false, marked_at = :now, updated_at = :now
where shelf_id = :shelf_id and is_read and coalesce(marked_at, 0) <= :now
  and chapter_id in (select chapter.id from chapter where {is_meant});

-- name: mark_again
-- The undo of marking unread: what became unread at this very moment.
update progress set is_read = true, marked_at = :now, updated_at = :now
where shelf_id = :shelf_id and not is_read and marked_at = :at
  and chapter_id in (select chapter.id from chapter where chapter.series_id = :series_id);

-- name: entries_follow
-- Read once is read everywhere: the entry says what progress says.
update entry
set unread = not progress.is_read, read_at = case when progress.is_read then cast(:now as bigint) end
from progress
where progress.shelf_id = entry.shelf_id and progress.chapter_id = entry.chapter_id
  and entry.shelf_id = :shelf_id and entry.series_id = :series_id and entry.unread = progress.is_read;

-- name: saved_follows
update entry set saved = :saved where shelf_id = :shelf_id and chapter_id = :chapter_id and saved <> :saved;

-- name: bookmarks_follow
-- What is saved in the inbox is bookmarked in its series.
insert into progress (shelf_id, chapter_id, is_bookmarked, updated_at)
select shelf_id, chapter_id, saved, created_at from entry
where shelf_id = :shelf_id and chapter_id is not null
  and id in (select cast(value as bigint) from json_each(cast(:ids as text)))
order by chapter_id
on conflict (shelf_id, chapter_id) do update set is_bookmarked = excluded.is_bookmarked;

-- fragment: said_anew
on conflict (shelf_id, chapter_id) do update set
  is_read = excluded.is_read, marked_at = excluded.marked_at, updated_at = excluded.updated_at
where progress.is_read <> excluded.is_read

-- name: progress_follows
-- The other way round: what these entries say of their chapters.
insert into progress (shelf_id, chapter_id, is_read, is_bookmarked, marked_at, updated_at)
select entry.shelf_id, entry.chapter_id, not entry.unread, entry.saved, cast(:now as bigint), cast(:now as bigint)
from entry
where entry.shelf_id = :shelf_id and entry.chapter_id is not null
  and entry.id in (select cast(value as bigint) from json_each(cast(:ids as text)))
order by entry.chapter_id
{said_anew};

-- name: progress_follows_read
-- The same after a mass mark: entries that were marked read at this moment.
insert into progress (shelf_id, chapter_id, is_read, is_bookmarked, marked_at, updated_at)
select entry.shelf_id, entry.chapter_id, true, entry.saved, cast(:now as bigint), cast(:now as bigint)
from entry
where entry.shelf_id = :shelf_id and entry.series_id is not null and not entry.unread and entry.read_at = :now
order by entry.chapter_id
{said_anew};

-- name: progress_follows_unread
update progress set is_read = false, marked_at = :now, updated_at = :now
where shelf_id = :shelf_id and is_read and chapter_id in (
  select chapter_id from entry where shelf_id = :shelf_id and unread and series_id is not null
);

-- name: unmark_since
-- The undo of a mass mark reaches chapters that never came into the inbox.
update progress set is_read = false, marked_at = :now, updated_at = :now
where shelf_id = :shelf_id and is_read and marked_at = :at;

-- name: history
select progress.opened_at, progress.chapter_id, series.public_id as series_public_id, series.title as series_title,
  series.cover_url, chapter.title, chapter.number, chapter.volume, progress.page, progress.furthest_page,
  progress.is_read, progress.device,
  (
    select min(series_source.id) from series_source
    where series_source.series_id = series.id and series_source.cover_url is not null
  ) as cover_id
from progress
join chapter on chapter.id = progress.chapter_id
join series on series.id = chapter.series_id
where progress.shelf_id = :shelf_id and progress.opened_at is not null
  and (cast(:series_id as bigint) is null or chapter.series_id = cast(:series_id as bigint))
  and (progress.opened_at, progress.chapter_id) < (cast(:at as bigint), cast(:id as bigint))
order by progress.opened_at desc, progress.chapter_id desc
limit :most;

-- name: count_history
select count(*) from progress where shelf_id = :shelf_id and opened_at is not null;

-- name: find_opened
select opened_at from progress where shelf_id = :shelf_id and chapter_id = :chapter_id and opened_at is not null;

-- name: recall_one
-- The undo of forgetting one; what was opened anew meanwhile stays as it is.
update progress set opened_at = :at where shelf_id = :shelf_id and chapter_id = :chapter_id and opened_at is null;

-- name: forget_one
-- The history forgets it; how far it was read stays.
update progress set opened_at = null where shelf_id = :shelf_id and chapter_id = :chapter_id and opened_at is not null;

-- name: forget_all
update progress set opened_at = null where shelf_id = :shelf_id and opened_at is not null;
