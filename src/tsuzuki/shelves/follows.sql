-- The counts of all chapters of a shelf's series are read along chapter_order; those of what was read along progress.

-- fragment: is_mine
follow.shelf_id = :shelf_id and (cast(:only as bigint) is null or follow.id = cast(:only as bigint))

-- fragment: whole
case when chapter.number_sort % 1000000 = 0 then chapter.number_sort end

-- fragment: listed
-- A number stands once in a series (I1), so counting the whole numbers shows whether one is missing.
with mine as (
  select follow.id, follow.public_id, follow.series_id, follow.group_id, follow.status, follow.notify,
    follow.preferences, follow.created_at, follow.updated_at
  from follow where {is_mine}
), counted as (
  select chapter.series_id, count(*) as chapters, count({whole}) as wholes, min({whole}) as low, max({whole}) as high
  from chapter where chapter.series_id in (select series_id from mine)
  group by chapter.series_id
), done as (
  select chapter.series_id, sum(case when progress.is_read then 1 else 0 end) as finished,
    max(progress.opened_at) as last_read_at
  from progress join chapter on chapter.id = progress.chapter_id
  where progress.shelf_id = :shelf_id and chapter.series_id in (select series_id from mine)
  group by chapter.series_id
), listed as (
  select mine.id, mine.public_id, mine.series_id, series.public_id as series_public_id, series.title, series.author,
    series.cover_url, mine.group_id, shelf_group.public_id as group_public_id,
    mine.status, mine.notify, mine.preferences, series.latest_number, series.last_chapter_at,
    coalesce(counted.chapters, 0) as chapters, coalesce(counted.chapters, 0) - coalesce(done.finished, 0) as unread,
    coalesce(tally.unread, 0) as new,
    coalesce((counted.high - counted.low) / 1000000 + 1 > counted.wholes, false) as has_gaps,
    done.last_read_at, mine.created_at, mine.updated_at
  from mine
  join series on series.id = mine.series_id
  join shelf_group on shelf_group.id = mine.group_id
  left join counted on counted.series_id = mine.series_id
  left join done on done.series_id = mine.series_id
  left join tally on tally.shelf_id = :shelf_id and tally.kind = 'chapter' and tally.of_id = mine.series_id
)

-- fragment: is_wanted
(cast(:status as text) is null or status = cast(:status as text))
and (cast(:group_id as bigint) is null or group_id = cast(:group_id as bigint))
and (cast(:unread as boolean) is null or (unread > 0) = cast(:unread as boolean))
and (cast(:has_gaps as boolean) is null or has_gaps = cast(:has_gaps as boolean))

-- name: list_follows
-- By title upwards, by anything else downwards; what has none comes last.
{listed}
select id, public_id, series_id, series_public_id, title, author, cover_url, group_id, group_public_id,
  status, notify, preferences, latest_number, last_chapter_at, chapters, unread, new, has_gaps, last_read_at, created_at,
  updated_at,
  (
    select min(series_source.id) from series_source
    where series_source.series_id = listed.series_id and series_source.cover_url is not null
  ) as cover_id
from listed
where {is_wanted}
order by case when cast(:sort as text) = 'title' then lower(title) end,
  case cast(:sort as text)
    when 'last_chapter' then last_chapter_at
    when 'unread' then unread
    when 'added' then created_at
    when 'last_read' then last_read_at
  end desc nulls last, lower(title), id
limit :most offset :skip;

-- name: count_narrowed
{listed}
select count(*) from listed where {is_wanted};

-- name: count_follows
-- Where nothing that has to be counted narrows the list down.
select count(*) from follow
where shelf_id = :shelf_id and (cast(:status as text) is null or status = cast(:status as text))
  and (cast(:group_id as bigint) is null or group_id = cast(:group_id as bigint));

-- fragment: row
id, public_id, series_id, group_id, status, notify, preferences, created_at

-- name: find_follow
-- I8: another shelf's follow is not found.
select {row} from follow where shelf_id = :shelf_id and public_id = :public_id;

-- name: find_follow_of
select {row} from follow where shelf_id = :shelf_id and series_id = :series_id;

-- name: add_follow
-- The unique (shelf_id, series_id) refuses a second one.
insert into follow (public_id, shelf_id, series_id, group_id, status, notify, preferences, created_at, updated_at)
values (:public_id, :shelf_id, :series_id, :group_id, :status, :notify, :preferences, :now, :now)
returning id;

-- name: change_follow
update follow
set group_id = :group_id, status = :status, notify = :notify, preferences = :preferences, updated_at = :now
where id = :id;

-- name: delete_follow
delete from follow where id = :id;

-- name: entry_keys
select chapter.key from entry join chapter on chapter.id = entry.chapter_id
where entry.shelf_id = :shelf_id and entry.series_id = :series_id
order by chapter.id;

-- name: keep_saved
-- I9: what was saved is bookmarked, so that it is saved again when the series comes back.
insert into progress (shelf_id, chapter_id, is_bookmarked, updated_at)
select shelf_id, chapter_id, true, cast(:now as bigint) from entry
where shelf_id = :shelf_id and series_id = :series_id and saved
order by chapter_id
on conflict (shelf_id, chapter_id) do update set is_bookmarked = true, updated_at = excluded.updated_at
where not progress.is_bookmarked;

-- name: delete_entries
delete from entry where shelf_id = :shelf_id and series_id = :series_id;

-- name: store_former
insert into former_follow (
  shelf_id, series_id, group_id, status, notify, preferences, entries, created_at, left_at
)
values (:shelf_id, :series_id, :group_id, :status, :notify, :preferences, :entries, :created_at, :now)
on conflict (shelf_id, series_id) do update set
  group_id = excluded.group_id, status = excluded.status, notify = excluded.notify, preferences = excluded.preferences,
  entries = excluded.entries, created_at = excluded.created_at, left_at = excluded.left_at;

-- name: find_former
select group_id, status, notify, preferences, entries from former_follow
where shelf_id = :shelf_id and series_id = :series_id;

-- name: delete_former
delete from former_follow where shelf_id = :shelf_id and series_id = :series_id;

-- name: restore_entries
-- I9: read and saved as they are now; the time as delivery gives it.
insert into entry (shelf_id, series_id, chapter_id, unread, saved, sort_at, read_at, created_at)
select cast(:shelf_id as bigint), chapter.series_id, chapter.id, not coalesce(progress.is_read, false),
  coalesce(progress.is_bookmarked, false),
  case
    when chapter.published_at < 0 then 0
    when chapter.published_at < chapter.first_seen_at then chapter.published_at
    else chapter.first_seen_at
  end,
  case when progress.is_read then progress.marked_at end, cast(:now as bigint)
from json_each(cast(:keys as text)) as former
cross join chapter
left join progress on progress.shelf_id = :shelf_id and progress.chapter_id = chapter.id
where chapter.series_id = :series_id and chapter.key = former.value ->> 0
order by chapter.id
on conflict (shelf_id, chapter_id) where chapter_id is not null do nothing;

-- name: count_available
-- R8: what is there to be read and never came into the inbox.
select count(*) from chapter
where chapter.series_id = :series_id
  and not exists (select 1 from entry where entry.shelf_id = :shelf_id and entry.chapter_id = chapter.id)
  and not exists (
    select 1 from progress where progress.shelf_id = :shelf_id and progress.chapter_id = chapter.id and progress.is_read
  );

-- name: continue_reading
-- The chapter that was opened last, while it is not finished; else the one after the highest that was read; else, where
-- chapters have no numbers, the oldest that was not read.
with mine as (
  select follow.public_id, follow.series_id from follow where follow.shelf_id = :shelf_id and follow.status = 'reading'
), seen as (
  select chapter.series_id, chapter.id as chapter_id, chapter.number_sort, progress.is_read, progress.opened_at,
    row_number() over (partition by chapter.series_id order by progress.opened_at desc nulls last, chapter.id) as place
  from progress join chapter on chapter.id = progress.chapter_id
  where progress.shelf_id = :shelf_id and chapter.series_id in (select series_id from mine)
), state as (
  select series_id, max(case when is_read then number_sort end) as highest, max(opened_at) as last_read_at,
    sum(case when is_read then 1 else 0 end) as finished,
    max(case when place = 1 and not is_read and opened_at is not null then chapter_id end) as open_id
  from seen group by series_id
), following as (
  select mine.public_id, mine.series_id, state.last_read_at, coalesce(state.finished, 0) as finished,
    coalesce(
      state.open_id,
      (
        select chapter.id from chapter
        where chapter.series_id = mine.series_id and chapter.number_sort > coalesce(state.highest, -1)
        order by chapter.number_sort limit 1
      ),
      (
        select chapter.id from chapter
        where chapter.series_id = mine.series_id and chapter.number_sort is null and not exists (
          select 1 from progress
          where progress.shelf_id = :shelf_id and progress.chapter_id = chapter.id and progress.is_read
        )
        order by coalesce(chapter.published_at, chapter.first_seen_at), chapter.id limit 1
      )
    ) as chapter_id
  from mine left join state on state.series_id = mine.series_id
)
select following.public_id as follow_id, series.public_id as series_public_id, series.title, series.cover_url,
  chapter.id as chapter_id, chapter.number, chapter.volume, chapter.title as chapter_title,
  coalesce(progress.page, 0) as page, coalesce(progress.furthest_page, 0) as furthest_page, following.last_read_at,
  (select count(*) from chapter as each_one where each_one.series_id = following.series_id) - following.finished as unread,
  (
    select min(series_source.id) from series_source
    where series_source.series_id = following.series_id and series_source.cover_url is not null
  ) as cover_id
from following
join series on series.id = following.series_id
join chapter on chapter.id = following.chapter_id
left join progress on progress.shelf_id = :shelf_id and progress.chapter_id = chapter.id
order by following.last_read_at desc nulls last, series.last_chapter_at desc nulls last, series.id
limit :most;
