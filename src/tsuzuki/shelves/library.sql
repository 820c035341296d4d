-- What comic readers list: the series that a shelf follows and their chapters, a page at a time. What is counted for
-- each series is counted for those of the page alone.

-- fragment: genre
genre.value

-- fragment: is_wanted
follow.shelf_id = :shelf_id
and (cast(:only as bigint) is null or follow.series_id = cast(:only as bigint))
and (cast(:among as text) is null or follow.series_id in (
  select cast(value as bigint) from json_each(cast(:among as text))
))
and (cast(:found as text) is null or hit.id is not null)
and (cast(:groups as text) is null or shelf_group.public_id in (
  select unhex(value ->> 0) from json_each(cast(:groups as text))
))
and (cast(:statuses as text) is null or series.status in (
  select cast(value as bigint) from json_each(cast(:statuses as text))
))
and (cast(:languages as text) is null or series.language in (
  select value ->> 0 from json_each(cast(:languages as text))
))
and (cast(:authors as text) is null or exists (
  select 1 from json_each(cast(:authors as text)) as wanted
  where (wanted.value ->> 1 in ('', 'writer') and series.author = wanted.value ->> 0)
    or (wanted.value ->> 1 in ('', 'penciller') and series.artist = wanted.value ->> 0)
))
and (cast(:genres as text) is null or exists (
  select 1 from series_source, json_each(cast(series_source.genres as text)) as genre
  where series_source.series_id = series.id and {genre} in (
    select value ->> 0 from json_each(cast(:genres as text))
  )
))
and (cast(:states as text) is null or reading.state in (
  select value ->> 0 from json_each(cast(:states as text))
))

-- fragment: hits
-- Materialized: it is read once, not for each series.
with hit (id, place) as materialized (
  select cast(value ->> 0 as bigint), cast(value ->> 1 as bigint) from json_each(cast(:found as text))
)

-- fragment: wanted
from follow
join series on series.id = follow.series_id
join shelf_group on shelf_group.id = follow.group_id
left join hit on hit.id = follow.series_id
left join (
  select held.series_id,
    case
      when held.chapters = coalesce(had.finished, 0) and held.chapters > 0 then 'READ'
      when coalesce(had.finished, 0) + coalesce(had.begun, 0) = 0 then 'UNREAD'
      else 'IN_PROGRESS'
    end as state
  from (
    select mine.series_id,
      (select count(*) from chapter where chapter.series_id = mine.series_id) as chapters
    from follow as mine where mine.shelf_id = :shelf_id and cast(:states as text) is not null
  ) as held
  left join (
    select chapter.series_id, sum(case when progress.is_read then 1 else 0 end) as finished,
      sum(case when {is_begun} then 1 else 0 end) as begun
    from progress join chapter on chapter.id = progress.chapter_id
    where progress.shelf_id = :shelf_id and cast(:states as text) is not null
    group by chapter.series_id
  ) as had on had.series_id = held.series_id
) as reading on reading.series_id = follow.series_id
where {is_wanted}

-- fragment: is_begun
-- Whatever was said of its being read, a page was turned since.
not progress.is_read and progress.paged_at is not null
and (progress.marked_at is null or progress.paged_at >= progress.marked_at)

-- fragment: is_reread
-- A page was turned since it was read to its end.
coalesce(progress.is_read and progress.paged_at > progress.marked_at, false)

-- fragment: sort_title
-- As `model.titles.sort_title` writes it.
case
  when lower(series.title) like 'the _%' then substr(lower(series.title), 5) || ', the'
  when lower(series.title) like 'an _%' then substr(lower(series.title), 4) || ', an'
  when lower(series.title) like 'a _%' then substr(lower(series.title), 3) || ', a'
  else lower(series.title)
end

-- fragment: series_key
when 'relevance' then hit.place
when 'random' then random()
when 'latest' then coalesce(series.last_chapter_at, follow.created_at)
when 'added' then follow.created_at

-- name: list_series
{hits}
select series.id, series.public_id, series.title, series.author, series.artist, series.description, series.language,
  series.status, follow.created_at as followed_at, follow.preferences, series.last_chapter_at,
  (
    select min(series_source.id) from series_source
    where series_source.series_id = series.id and series_source.cover_url is not null
  ) as cover_id
{wanted}
order by
  cast(:first_way as bigint) * case cast(:first as text) {series_key} end,
  case when cast(:first as text) = 'title' and cast(:first_way as bigint) > 0 then {sort_title} end,
  case when cast(:first as text) = 'title' and cast(:first_way as bigint) < 0 then {sort_title} end desc,
  cast(:second_way as bigint) * case cast(:second as text) {series_key} end,
  case when cast(:second as text) = 'title' and cast(:second_way as bigint) < 0 then {sort_title} end desc,
  {sort_title}, series.id
limit :most offset :skip;

-- name: count_series
{hits}
select count(*)
{wanted};

-- name: series_facts
-- What conditions ask of each followed series.
{hits}
select series.id, series.public_id, shelf_group.public_id as group_id, series.status, series.language, series.author,
  series.artist, reading.state
{wanted};

-- name: search_series
-- Followed series by their words, the best first.
select rowid as id
from series_search
where series_search match :match
  and exists (select 1 from follow where follow.series_id = series_search.rowid and follow.shelf_id = :shelf_id)
order by bm25(series_search, 4.0, 1.0), rowid desc
limit :most;

-- name: counts_of
select chapter.series_id, count(*) as chapters,
  cast(coalesce(sum(case when progress.is_read then 1 else 0 end), 0) as bigint) as finished,
  cast(coalesce(sum(case when {is_begun} then 1 else 0 end), 0) as bigint) as begun,
  min(chapter.published_at) as published_at
from chapter
left join progress on progress.shelf_id = :shelf_id and progress.chapter_id = chapter.id
where chapter.series_id in (select cast(value as bigint) from json_each(cast(:ids as text)))
group by chapter.series_id;

-- name: genres_of
select distinct series_source.series_id, {genre} as name
from series_source, json_each(cast(series_source.genres as text)) as genre
where series_source.series_id in (select cast(value as bigint) from json_each(cast(:ids as text)))
order by 1, 2;

-- name: all_genres
select distinct {genre} as name
from follow
join series_source on series_source.series_id = follow.series_id, json_each(cast(series_source.genres as text)) as genre
where follow.shelf_id = :shelf_id
order by 1;

-- name: all_authors
select series.author as name, 'writer' as role from follow join series on series.id = follow.series_id
where follow.shelf_id = :shelf_id and series.author is not null
union
select series.artist as name, 'penciller' as role from follow join series on series.id = follow.series_id
where follow.shelf_id = :shelf_id and series.artist is not null
order by 1, 2;

-- name: all_languages
select distinct series.language from follow join series on series.id = follow.series_id
where follow.shelf_id = :shelf_id and series.language is not null
order by 1;

-- name: grouped_series
select shelf_group.public_id as group_id, series.public_id as series_id
from follow
join shelf_group on shelf_group.id = follow.group_id
join series on series.id = follow.series_id
where follow.shelf_id = :shelf_id
order by shelf_group.id, lower(series.title), series.id;

-- Chapters: lists say which, `chapters_of` what they are. ---------------------------------------------------------------

-- fragment: upwards
chapter.number_sort nulls first, coalesce(chapter.published_at, chapter.first_seen_at), chapter.id

-- fragment: state
case when coalesce(progress.is_read, false) then 'READ' when {is_begun} then 'IN_PROGRESS' else 'UNREAD' end

-- fragment: is_ready
-- There is something to read it from.
(
  exists (
    select 1 from release where release.chapter_id = chapter.id and release.is_available and release.is_readable
  ) or exists (
    select 1 from chapter_copy join kept_chapter on kept_chapter.copy_id = chapter_copy.id
    where chapter_copy.chapter_id = chapter.id and chapter_copy.status = 'done' and kept_chapter.shelf_id = :shelf_id
  )
)

-- fragment: of_series
from chapter
left join progress on progress.shelf_id = :shelf_id and progress.chapter_id = chapter.id
where chapter.series_id = :series_id
  and (cast(:states as text) is null or {state} in (select value ->> 0 from json_each(cast(:states as text))))
  and (cast(:ready as boolean) is null or {is_ready} = cast(:ready as boolean))

-- name: chapters_upwards
select chapter.id
{of_series}
order by {upwards}
limit :most offset :skip;

-- name: chapters_downwards
select chapter.id
{of_series}
order by chapter.number_sort desc nulls last, coalesce(chapter.published_at, chapter.first_seen_at) desc, chapter.id desc
limit :most offset :skip;

-- name: count_chapters
select count(*)
{of_series};

-- name: arrived_chapters
-- As they came into the inbox, the newest first.
select entry.chapter_id from entry
where entry.shelf_id = :shelf_id and entry.chapter_id is not null
  and (cast(:unread as boolean) is null or entry.unread = cast(:unread as boolean))
order by entry.created_at desc, entry.sort_at desc, entry.id desc
limit :most offset :skip;

-- name: count_arrived
select cast(coalesce(sum(
  case when cast(:unread as boolean) is null then tally.entries when cast(:unread as boolean) then tally.unread
    else tally.entries - tally.unread end
), 0) as bigint)
from tally where tally.shelf_id = :shelf_id and tally.kind = 'chapter';

-- fragment: books_key
when 'random' then random()
when 'number' then chapter.number_sort
when 'added' then chapter.first_seen_at
when 'changed' then chapter.updated_at
when 'released' then coalesce(chapter.published_at, chapter.first_seen_at)
when 'read' then progress.opened_at

-- fragment: books_order
-- What has no number, or was never opened, is the lowest, on both engines.
cast(:first_way as bigint) * coalesce(case cast(:first as text) {books_key} end, {lowest}),
case when cast(:first as text) = 'title' and cast(:first_way as bigint) > 0 then lower(chapter.title) end,
case when cast(:first as text) = 'title' and cast(:first_way as bigint) < 0 then lower(chapter.title) end desc,
cast(:second_way as bigint) * coalesce(case cast(:second as text) {books_key} end, {lowest}),
case when cast(:second as text) = 'title' and cast(:second_way as bigint) > 0 then lower(chapter.title) end,
case when cast(:second as text) = 'title' and cast(:second_way as bigint) < 0 then lower(chapter.title) end desc,
{sort_title}, series.id, {upwards}

-- fragment: lowest
cast(-1000000000000000 as bigint)

-- fragment: with_wanted
-- Each series with the states that its chapters may be in: 1 unread, 2 begun, 4 read. Lists lead to the tables.
with wanted (series_id, states) as materialized (
  select follow.series_id, cast(json_each.value ->> 1 as bigint)
  from json_each(cast(:allowed as text)) cross join follow
  where follow.shelf_id = :shelf_id and follow.series_id = cast(json_each.value ->> 0 as bigint)
  union all
  select follow.series_id, 7 from follow where follow.shelf_id = :shelf_id and cast(:allowed as text) is null
)

-- fragment: books
{with_wanted}, hit (id, place, states) as (
  select chapter.id, cast(json_each.value ->> 1 as bigint), wanted.states
  from json_each(cast(:found as text)) cross join chapter cross join wanted
  where chapter.id = cast(json_each.value ->> 0 as bigint) and wanted.series_id = chapter.series_id
  union all
  select chapter.id, null, wanted.states from wanted cross join chapter
  where chapter.series_id = wanted.series_id and cast(:found as text) is null
)

-- fragment: of_books
from hit
join chapter on chapter.id = hit.id
join series on series.id = chapter.series_id
left join progress on progress.shelf_id = :shelf_id and progress.chapter_id = chapter.id
where (hit.states & case when coalesce(progress.is_read, false) then 4 when {is_begun} then 2 else 1 end) > 0
  and (cast(:ready as boolean) is null or {is_ready} = cast(:ready as boolean))

-- name: list_books
{books}
select chapter.id
{of_books}
order by case when cast(:first as text) = 'relevance' then cast(:first_way as bigint) * hit.place end, {books_order}
limit :most offset :skip;

-- name: count_books
{books}
select count(*)
{of_books};

-- fragment: begun_progress
-- The few that were begun: SQLite would rather read all that was.
progress indexed by progress_begun

-- fragment: of_begun
from {begun_progress}
cross join chapter
cross join wanted
cross join series
where progress.shelf_id = :shelf_id and {is_begun}
  and chapter.id = progress.chapter_id and series.id = chapter.series_id
  and wanted.series_id = chapter.series_id and (wanted.states & 2) > 0
  and (cast(:ready as boolean) is null or {is_ready} = cast(:ready as boolean))

-- name: list_begun_books
{with_wanted}
select chapter.id
{of_begun}
order by {books_order}
limit :most offset :skip;

-- name: count_begun_books
{with_wanted}
select count(*)
{of_begun};

-- name: ready_beside
-- The nearest chapter that can be read, further in this direction.
select chapter.id from (
  select chapter.id, row_number() over (order by {upwards}) as place from chapter where chapter.series_id = :series_id
) as placed
join chapter on chapter.id = placed.id
where (placed.place - :place) * cast(:way as bigint) > 0 and {is_ready}
order by placed.place * cast(:way as bigint)
limit 1;

-- name: search_chapters
-- By the words of their titles, the best first.
select rowid as id
from chapter_search
where chapter_search match :match
  and exists (
    select 1 from chapter join follow on follow.series_id = chapter.series_id
    where chapter.id = chapter_search.rowid and follow.shelf_id = :shelf_id
  )
order by bm25(chapter_search), rowid desc
limit :most;

-- name: on_deck
-- The first unread chapter that can be read, of each series of which something was read and nothing is begun, the last
-- read first.
with had as (
  select chapter.series_id, max(progress.updated_at) as at,
    sum(case when progress.is_read then 1 else 0 end) as finished, sum(case when {is_begun} then 1 else 0 end) as begun
  from progress join chapter on chapter.id = progress.chapter_id
  where progress.shelf_id = :shelf_id
  group by chapter.series_id
), next as (
  select had.at, (
    select chapter.id from chapter
    left join progress on progress.shelf_id = :shelf_id and progress.chapter_id = chapter.id
    where chapter.series_id = had.series_id and not coalesce(progress.is_read, false) and {is_ready}
    order by {upwards} limit 1
  ) as chapter_id
  from had
  join follow on follow.shelf_id = :shelf_id and follow.series_id = had.series_id
  where had.finished > 0 and had.begun = 0
)
select chapter_id from next where chapter_id is not null
order by at desc, chapter_id
limit :most;

-- name: find_series_of
-- I8: of a series that this shelf follows; a chapter that another one took in is that one.
select chapter.series_id from chapter
join follow on follow.shelf_id = :shelf_id and follow.series_id = chapter.series_id
where chapter.id = :id;

-- name: find_former_chapter
select former_chapter.chapter_id from former_chapter where former_chapter.id = :id;

-- name: chapters_of
with placed as (
  select chapter.id, row_number() over (partition by chapter.series_id order by {upwards}) as place
  from chapter
  where chapter.series_id in (
    select known.series_id from chapter as known
    where known.id in (select cast(value as bigint) from json_each(cast(:ids as text)))
  )
)
select chapter.id, chapter.series_id, series.public_id as series_public_id, series.title as series_title,
  chapter.number, chapter.number_sort, chapter.volume, chapter.title, chapter.published_at, chapter.first_seen_at,
  chapter.updated_at, placed.place, series.latest_sort is null as is_unnumbered,
  {state} as state, coalesce(progress.page, 0) as page, progress.device,
  case when progress.is_read and not {is_reread} then progress.marked_at else progress.paged_at end as read_at,
  {is_reread} as is_reread, series.author, series.artist, series.language,
  (
    select min(series_source.id) from series_source
    where series_source.series_id = series.id and series_source.cover_url is not null
  ) as cover_id
from placed
join chapter on chapter.id = placed.id
join series on series.id = chapter.series_id
join follow on follow.shelf_id = :shelf_id and follow.series_id = chapter.series_id
left join progress on progress.shelf_id = :shelf_id and progress.chapter_id = chapter.id
where chapter.id in (select cast(value as bigint) from json_each(cast(:ids as text)));

-- name: tracked
-- All of a series, the lowest first: what a tracker gets, and moves.
select chapter.id, chapter.number_sort, chapter.volume, series.latest_sort is null as is_unnumbered, {state} as state
from chapter
join series on series.id = chapter.series_id
left join progress on progress.shelf_id = :shelf_id and progress.chapter_id = chapter.id
where chapter.series_id = :series_id
order by {upwards};
