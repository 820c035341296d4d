-- Both verbs run alone (see share_shape): no chapter is stored, delivered, followed or read meanwhile.

-- fragment: about
title, match_key, author, artist, description, cover_url, language, status, is_nsfw, created_at

-- name: find_series
select id, public_id, {about} from series where id = :id;

-- name: list_sources
select series_source.id, series_source.title, series_source.author, series_source.artist, series_source.description,
  series_source.cover_url, series_source.status
from series_source
where series_source.series_id = :series_id
order by series_source.id;

-- Merging: what belongs to :from_id goes to :into_id. A pair is a chapter that both have, by its key (R3). ------------

-- fragment: pairs
(
  select gone.id as gone_id, stays.id as stays_id from chapter as gone
  join chapter as stays on stays.series_id = :into_id and stays.key = gone.key
  where gone.series_id = :from_id
) as pair

-- name: clashing_job
-- R43: one active job per source, kind and comic.
select source_name from crawl_job
where series_id = :from_id and status in ('queued', 'running') and exists (
  select 1 from crawl_job as other
  where other.series_id = :into_id and other.source_id = crawl_job.source_id and other.kind = crawl_job.kind
    and other.status in ('queued', 'running')
)
limit 1;

-- name: join_releases
update release set chapter_id = pair.stays_id from {pairs} where release.chapter_id = pair.gone_id;

-- name: join_appearances
-- R4: what appeared on a source stays so; the rows of the chapters that go, go along.
insert into appearance (series_source_id, chapter_id, at)
select appearance.series_source_id, pair.stays_id, appearance.at
from {pairs} join appearance on appearance.chapter_id = pair.gone_id
where true
on conflict (series_source_id, chapter_id) do nothing;

-- name: join_copies
update chapter_copy set chapter_id = pair.stays_id from {pairs} where chapter_copy.chapter_id = pair.gone_id;

-- name: join_books
-- Files that devices have are of the chapter that stays; the rows of the chapters that go, go along.
insert into chapter_book (digest, chapter_id, release_id, page_count)
select chapter_book.digest, pair.stays_id, chapter_book.release_id, chapter_book.page_count
from {pairs} join chapter_book on chapter_book.chapter_id = pair.gone_id
where true
on conflict (digest, chapter_id) do nothing;

-- name: join_entries
-- I2: one entry per shelf and chapter. Read once is read everywhere; what was saved stays saved.
update entry
set unread = entry.unread and other.unread, saved = entry.saved or other.saved,
  read_at = coalesce(entry.read_at, other.read_at),
  sort_at = case when other.sort_at < entry.sort_at then other.sort_at else entry.sort_at end,
  created_at = case when other.created_at < entry.created_at then other.created_at else entry.created_at end
from entry as other join {pairs} on pair.gone_id = other.chapter_id
where entry.chapter_id = pair.stays_id and entry.shelf_id = other.shelf_id;

-- name: join_tags
-- Tagged on either side is tagged.
insert into tagging (tag_id, chapter_id)
select tagging.tag_id, pair.stays_id from {pairs} join tagging on tagging.chapter_id = pair.gone_id
where true
on conflict do nothing;

-- name: drop_joined_entries
delete from entry
where chapter_id in (select id from chapter where series_id = :from_id) and exists (
  select 1 from {pairs} join entry as kept on kept.chapter_id = pair.stays_id
  where pair.gone_id = entry.chapter_id and kept.shelf_id = entry.shelf_id
);

-- name: move_entries
update entry set chapter_id = pair.stays_id from {pairs} where entry.chapter_id = pair.gone_id;

-- fragment: other_is_newer
other.paged_at is not null and (progress.paged_at is null or other.paged_at > progress.paged_at)

-- name: join_progress
-- I9: the newest page, the furthest page, and read if either was.
update progress
set page = case when {other_is_newer} then other.page else progress.page end,
  device = case when {other_is_newer} then other.device else progress.device end,
  paged_at = case when {other_is_newer} then other.paged_at else progress.paged_at end,
  opened_at = case
    when progress.opened_at is null or other.opened_at > progress.opened_at
    then coalesce(other.opened_at, progress.opened_at) else progress.opened_at
  end,
  furthest_page = case
    when other.furthest_page > progress.furthest_page then other.furthest_page else progress.furthest_page
  end,
  is_read = progress.is_read or other.is_read,
  is_bookmarked = progress.is_bookmarked or other.is_bookmarked,
  marked_at = case
    when progress.marked_at is null or other.marked_at > progress.marked_at
    then coalesce(other.marked_at, progress.marked_at) else progress.marked_at
  end,
  updated_at = case when other.updated_at > progress.updated_at then other.updated_at else progress.updated_at end
from progress as other join {pairs} on pair.gone_id = other.chapter_id
where progress.chapter_id = pair.stays_id and progress.shelf_id = other.shelf_id;

-- name: drop_joined_progress
delete from progress
where chapter_id in (select id from chapter where series_id = :from_id) and exists (
  select 1 from {pairs} join progress as kept on kept.chapter_id = pair.stays_id
  where pair.gone_id = progress.chapter_id and kept.shelf_id = progress.shelf_id
);

-- name: move_progress
update progress set chapter_id = pair.stays_id from {pairs} where progress.chapter_id = pair.gone_id;

-- What undoes imports goes along (transfer/archive/undo_log.py) ----------------------------------------------------

-- name: forget_own_logs
-- What is not as an import left it, its reader has read since: it is not undone.
delete from import_progress
where chapter_id in (select pair.gone_id from {pairs} union all select pair.stays_id from {pairs}) and exists (
  select 1 from shelf_import
  join progress on progress.shelf_id = shelf_import.shelf_id and progress.chapter_id = import_progress.chapter_id
  where shelf_import.id = import_progress.shelf_import_id and (
    (progress.page, progress.furthest_page, progress.is_read, progress.is_bookmarked) <> (
      import_progress.left_page, import_progress.left_furthest_page, import_progress.left_is_read,
      import_progress.left_is_bookmarked
    )
    or progress.paged_at is distinct from import_progress.left_paged_at
    or progress.marked_at is distinct from import_progress.left_marked_at
  )
);

-- name: add_joined_logs
-- What the chapter that stays had itself, it had before.
insert into import_progress (
  shelf_import_id, chapter_id, was_there, page, furthest_page, is_read, is_bookmarked, device, paged_at, marked_at,
  opened_at
)
select log.shelf_import_id, pair.stays_id, progress.chapter_id is not null, coalesce(progress.page, 0),
  coalesce(progress.furthest_page, 0), coalesce(progress.is_read, false), coalesce(progress.is_bookmarked, false),
  progress.device, progress.paged_at, progress.marked_at, progress.opened_at
from {pairs}
join import_progress as log on log.chapter_id = pair.gone_id
join shelf_import on shelf_import.id = log.shelf_import_id
left join progress on progress.shelf_id = shelf_import.shelf_id and progress.chapter_id = pair.stays_id
where true
on conflict (shelf_import_id, chapter_id) do nothing;

-- fragment: other_was_newer
other.paged_at is not null and (import_progress.paged_at is null or other.paged_at > import_progress.paged_at)

-- name: join_logs
-- And what the other had before, or has of its reader.
update import_progress
set was_there = import_progress.was_there or other.was_there,
  page = case when {other_was_newer} then other.page else import_progress.page end,
  device = case when {other_was_newer} then other.device else import_progress.device end,
  paged_at = case when {other_was_newer} then other.paged_at else import_progress.paged_at end,
  furthest_page = case
    when other.furthest_page > import_progress.furthest_page then other.furthest_page
    else import_progress.furthest_page
  end,
  is_read = import_progress.is_read or other.is_read,
  is_bookmarked = import_progress.is_bookmarked or other.is_bookmarked,
  marked_at = case
    when import_progress.marked_at is null or other.marked_at > import_progress.marked_at
    then coalesce(other.marked_at, import_progress.marked_at) else import_progress.marked_at
  end,
  opened_at = case
    when import_progress.opened_at is null or other.opened_at > import_progress.opened_at
    then coalesce(other.opened_at, import_progress.opened_at) else import_progress.opened_at
  end
from (
  select shelf_import.id as import_id, pair.stays_id,
    case when log.chapter_id is null then true else log.was_there end as was_there,
    case when log.chapter_id is null then progress.page else log.page end as page,
    case when log.chapter_id is null then progress.furthest_page else log.furthest_page end as furthest_page,
    case when log.chapter_id is null then progress.is_read else log.is_read end as is_read,
    case when log.chapter_id is null then progress.is_bookmarked else log.is_bookmarked end as is_bookmarked,
    case when log.chapter_id is null then progress.device else log.device end as device,
    case when log.chapter_id is null then progress.paged_at else log.paged_at end as paged_at,
    case when log.chapter_id is null then progress.marked_at else log.marked_at end as marked_at,
    case when log.chapter_id is null then progress.opened_at else log.opened_at end as opened_at
  from {pairs}
  join progress on progress.chapter_id = pair.gone_id
  join shelf_import on shelf_import.shelf_id = progress.shelf_id
  left join import_progress as log on log.chapter_id = pair.gone_id and log.shelf_import_id = shelf_import.id
) as other
where import_progress.chapter_id = other.stays_id and import_progress.shelf_import_id = other.import_id;

-- name: leave_joined_logs
update import_progress
set left_page = progress.page, left_furthest_page = progress.furthest_page, left_is_read = progress.is_read,
  left_is_bookmarked = progress.is_bookmarked, left_paged_at = progress.paged_at, left_marked_at = progress.marked_at,
  left_opened_at = progress.opened_at
from progress, shelf_import, {pairs}
where import_progress.chapter_id = pair.stays_id and progress.chapter_id = pair.stays_id
  and shelf_import.id = import_progress.shelf_import_id and progress.shelf_id = shelf_import.shelf_id;

-- name: own_joined_follows
-- A follow that an import made, and the reader's own become one: it is the reader's.
delete from import_made
where kind = 'follow' and of_id in (
  select kept.id from follow as kept
  join follow as other on other.series_id = :from_id and other.shelf_id = kept.shelf_id
  where kept.series_id = :into_id and not exists (
    select 1 from import_made as its
    where its.kind = 'follow' and its.of_id = other.id and its.public_id = other.public_id
      and its.shelf_import_id = import_made.shelf_import_id
  )
);

-- name: fill_chapters
-- R6: what the chapter lacked; its first sight stays.
update chapter
set title = case when chapter.title = '' then gone.title else chapter.title end,
  volume = coalesce(chapter.volume, gone.volume), published_at = coalesce(chapter.published_at, gone.published_at)
from chapter as gone
where chapter.series_id = :into_id and gone.series_id = :from_id and gone.key = chapter.key
  and (chapter.title = '' or chapter.volume is null or chapter.published_at is null);

-- name: titled_pairs
select stays.id, stays.title from chapter as stays
join chapter as gone on gone.series_id = :from_id and gone.key = stays.key
where stays.series_id = :into_id and stays.title <> '';

-- name: point_former_chapters
-- What came into a chapter that goes now, goes along.
update former_chapter set chapter_id = pair.stays_id from {pairs} where former_chapter.chapter_id = pair.gone_id;

-- name: add_former_chapters
-- Apps keep ids of chapters for ever.
insert into former_chapter (id, chapter_id) select pair.gone_id, pair.stays_id from {pairs};

-- name: drop_joined_chapters
delete from chapter
where series_id = :from_id and exists (
  select 1 from chapter as stays where stays.series_id = :into_id and stays.key = chapter.key
);

-- name: move_chapters
update chapter set series_id = :into_id where series_id = :from_id;

-- name: entries_follow_chapters
-- The entry's series is its chapter's.
update entry set series_id = :series_id
where chapter_id in (select id from chapter where series_id = :series_id) and series_id <> :series_id;

-- name: entries_follow_progress
-- Read once is read everywhere, also where only one side had an entry.
update entry set unread = false, read_at = coalesce(progress.marked_at, cast(:now as bigint))
from progress
where progress.shelf_id = entry.shelf_id and progress.chapter_id = entry.chapter_id and progress.is_read and entry.unread
  and entry.chapter_id in (select id from chapter where series_id = :series_id);

-- name: progress_follows_entries
-- And where the other side's progress was not read: its entry was, now.
update progress set is_read = true, marked_at = coalesce(entry.read_at, cast(:now as bigint)), updated_at = :now
from entry
where progress.shelf_id = entry.shelf_id and progress.chapter_id = entry.chapter_id and not entry.unread
  and not progress.is_read and entry.chapter_id in (select id from chapter where series_id = :series_id);

-- name: move_sources
update series_source set series_id = :into_id, updated_at = :now where series_id = :from_id;

-- name: join_follows
-- The livelier status, and notices if either wants them.
update follow
set status = case
    when 'reading' in (follow.status, other.status) then 'reading'
    when 'plan' in (follow.status, other.status) then 'plan'
    when 'done' in (follow.status, other.status) then 'done'
    else 'dropped'
  end,
  notify = follow.notify or other.notify,
  preferences = case when cast(follow.preferences as text) = '{}' then other.preferences else follow.preferences end,
  created_at = case when other.created_at < follow.created_at then other.created_at else follow.created_at end,
  updated_at = :now
from follow as other
where other.series_id = :from_id and follow.series_id = :into_id and follow.shelf_id = other.shelf_id;

-- name: join_series_tags
insert into tagging (tag_id, series_id)
select tag_id, cast(:into_id as bigint) from tagging where series_id = :from_id
on conflict do nothing;

-- name: drop_joined_follows
delete from follow
where series_id = :from_id and exists (
  select 1 from follow as kept where kept.series_id = :into_id and kept.shelf_id = follow.shelf_id
);

-- name: move_follows
update follow set series_id = :into_id, updated_at = :now where series_id = :from_id;

-- name: join_former_follows
update former_follow
set entries = {all_entries}
from former_follow as other
where other.series_id = :from_id and former_follow.series_id = :into_id and former_follow.shelf_id = other.shelf_id;

-- fragment: all_entries
(
  select json_group_array(value) from (
    select value from json_each(former_follow.entries) union select value from json_each(other.entries)
  )
)

-- name: drop_joined_former_follows
delete from former_follow
where series_id = :from_id and exists (
  select 1 from former_follow as kept where kept.series_id = :into_id and kept.shelf_id = former_follow.shelf_id
);

-- name: move_backups
update backup_series set series_id = :into_id where series_id = :from_id;

-- name: move_former_follows
update former_follow set series_id = :into_id where series_id = :from_id;

-- name: move_jobs
update crawl_job set series_id = :into_id where series_id = :from_id;

-- name: fill_series
-- What it lacked, the other may have known.
update series
set author = coalesce(series.author, gone.author), artist = coalesce(series.artist, gone.artist),
  description = coalesce(series.description, gone.description), cover_url = coalesce(series.cover_url, gone.cover_url),
  language = coalesce(series.language, gone.language),
  status = case when series.status = 0 then gone.status else series.status end, updated_at = :now
from series as gone
where series.id = :into_id and gone.id = :from_id;

-- name: move_former_series
update former_series set series_id = :into_id where series_id = :from_id;

-- name: add_former_series
insert into former_series (public_id, series_id, details, sources, merged_at)
values (:public_id, :series_id, :details, :sources, :now);

-- name: delete_series
delete from series where id = :id;

-- Splitting: the sources in :ids leave :series_id for :new_id. -------------------------------------------------------

-- name: add_series
insert into series (
  public_id, title, match_key, author, artist, description, cover_url, language, status, is_nsfw, created_at, updated_at
)
values (
  :public_id, :title, :match_key, :author, :artist, :description, :cover_url, :language, :status, :is_nsfw, :created_at,
  :now
)
returning id;

-- name: split_sources
update series_source set series_id = :new_id, updated_at = :now
where series_id = :series_id and id in (select cast(value as bigint) from json_each(cast(:ids as text)));

-- fragment: releases
select 1 from release join series_source on series_source.id = release.series_source_id
where release.chapter_id = chapter.id

-- fragment: is_on_new
exists ({releases} and series_source.series_id = :new_id)

-- fragment: is_on_old
exists ({releases} and series_source.series_id = :series_id)

-- name: copy_chapters
-- A chapter that both sides have releases of is now two; when it was first seen there its releases know.
insert into chapter (series_id, key, number, number_sort, volume, title, published_at, first_seen_at, updated_at)
select cast(:new_id as bigint), chapter.key, chapter.number, chapter.number_sort, chapter.volume, chapter.title,
  chapter.published_at,
  (
    select min(release.first_seen_at) from release join series_source on series_source.id = release.series_source_id
    where release.chapter_id = chapter.id and series_source.series_id = :new_id
  ),
  cast(:now as bigint)
from chapter
where chapter.series_id = :series_id and {is_on_new} and {is_on_old};

-- fragment: twins
(
  select old.id as old_id, copy.id as copy_id from chapter as copy
  join chapter as old on old.series_id = :series_id and old.key = copy.key
  where copy.series_id = :new_id
) as twin

-- fragment: is_parted
in (select id from series_source where series_source.series_id = :new_id)

-- name: split_releases
update release set chapter_id = twin.copy_id from {twins}
where release.chapter_id = twin.old_id and release.series_source_id {is_parted};

-- name: split_appearances
update appearance set chapter_id = twin.copy_id from {twins}
where appearance.chapter_id = twin.old_id and appearance.series_source_id {is_parted};

-- name: split_copies
update chapter_copy set chapter_id = twin.copy_id from {twins}
where chapter_copy.chapter_id = twin.old_id and chapter_copy.release_id in (
  select release.id from release where release.chapter_id = twin.copy_id
);

-- name: copy_entries
insert into entry (shelf_id, series_id, chapter_id, unread, saved, sort_at, read_at, created_at, appeared_at)
select entry.shelf_id, cast(:new_id as bigint), twin.copy_id, entry.unread, entry.saved, entry.sort_at, entry.read_at,
  entry.created_at, cast(:now as bigint)
from {twins} join entry on entry.chapter_id = twin.old_id
where true
order by entry.shelf_id, twin.copy_id;

-- name: copy_tags
-- Of the chapters that both sides have, and of the series.
insert into tagging (tag_id, chapter_id, series_id)
select tagging.tag_id, twin.copy_id, null from {twins} join tagging on tagging.chapter_id = twin.old_id
union all
select tag_id, null, cast(:new_id as bigint) from tagging where series_id = :series_id
on conflict do nothing;

-- name: copy_progress
-- I9: whoever read it has read it on both sides.
insert into progress (
  shelf_id, chapter_id, page, furthest_page, is_read, is_bookmarked, device, paged_at, marked_at, opened_at, updated_at
)
select progress.shelf_id, twin.copy_id, progress.page, progress.furthest_page, progress.is_read, progress.is_bookmarked,
  progress.device, progress.paged_at, progress.marked_at, progress.opened_at, progress.updated_at
from {twins} join progress on progress.chapter_id = twin.old_id;

-- name: copy_logs
insert into import_progress (
  shelf_import_id, chapter_id, was_there, page, furthest_page, is_read, is_bookmarked, device, paged_at, marked_at,
  opened_at, left_page, left_furthest_page, left_is_read, left_is_bookmarked, left_paged_at, left_marked_at,
  left_opened_at
)
select log.shelf_import_id, twin.copy_id, log.was_there, log.page, log.furthest_page, log.is_read, log.is_bookmarked,
  log.device, log.paged_at, log.marked_at, log.opened_at, log.left_page, log.left_furthest_page, log.left_is_read,
  log.left_is_bookmarked, log.left_paged_at, log.left_marked_at, log.left_opened_at
from {twins} join import_progress as log on log.chapter_id = twin.old_id;

-- name: copied_chapters
select copy.id, copy.title from chapter as copy where copy.series_id = :new_id;

-- name: split_chapters
-- Those that only the parted sources have.
update chapter set series_id = :new_id where series_id = :series_id and {is_on_new};

-- name: list_follows
select shelf_id, group_id, status, notify, cast(preferences as text) as preferences, created_at from follow
where series_id = :series_id order by shelf_id;

-- name: add_follows
insert into follow (public_id, shelf_id, series_id, group_id, status, notify, preferences, created_at, updated_at)
select unhex(value ->> 'public_id'), cast(value ->> 'shelf_id' as bigint), cast(:series_id as bigint),
  cast(value ->> 'group_id' as bigint), value ->> 'status', {as_values}, cast(value ->> 'created_at' as bigint),
  cast(:now as bigint)
from json_each(cast(:rows as text));

-- fragment: as_values
cast(value ->> 'notify' as bigint), value ->> 'preferences'

-- name: copy_former_follows
insert into former_follow (
  shelf_id, series_id, group_id, status, notify, preferences, entries, created_at, left_at
)
select shelf_id, cast(:new_id as bigint), group_id, status, notify, preferences, entries, created_at, left_at
from former_follow where series_id = :series_id;

-- name: split_jobs
update crawl_job set series_id = :new_id
where series_id = :series_id
  and source_id in (select source_id from series_source where series_source.series_id = :new_id)
  and source_id not in (select source_id from series_source where series_source.series_id = :series_id);

-- name: list_former_series
select public_id, details, sources from former_series where series_id = :series_id order by merged_at desc, public_id;

-- name: point_former_series
update former_series set series_id = :series_id where public_id = :public_id;

-- name: delete_former_series
delete from former_series where public_id = :public_id;

-- Both -----------------------------------------------------------------------------------------------------------------

-- name: recompute_latest
-- The highest that there is now, and when it was first seen.
update series
set latest_number = latest.number, latest_sort = latest.number_sort, last_chapter_at = latest.first_seen_at
from (
  select max(newest.number) as number, max(newest.number_sort) as number_sort, max(newest.first_seen_at) as first_seen_at
  from (
    select number, number_sort, first_seen_at from chapter
    where chapter.series_id = :series_id and number_sort is not null
    order by number_sort desc, id limit 1
  ) as newest
) as latest
where series.id = :series_id;

-- name: concerned_shelves
select shelf_id from follow where series_id in (:series_id, :other_id)
union
select shelf_id from entry
where chapter_id in (select id from chapter where chapter.series_id in (:series_id, :other_id))
order by 1;
