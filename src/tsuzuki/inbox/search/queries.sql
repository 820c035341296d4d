-- name: search_items
-- Only the newest 1,000 matches are ranked: ranking 76,000 costs a hundred times as much and nobody reads that far.
-- Ids grow with time, so the newest are the highest. What narrows a search down is asked of the entry.
select item.id, entry.feed_id, item.title, item.sort_at, entry.unread
from (
  select newest.id, newest.score
  from (
    select rowid as id, bm25(item_search, 4.0, 1.0) as score
    from item_search
    where item_search match :match
      and exists (select 1 from entry where entry.shelf_id = :shelf_id and entry.item_id = item_search.rowid and {narrowed})
    order by rowid desc
    limit 1000
  ) as newest
  order by newest.score, newest.id desc
  limit :most
) as hit
cross join item  -- or SQLite would begin with all that the shelf has
cross join entry
where item.id = hit.id and entry.item_id = hit.id and entry.shelf_id = :shelf_id
order by hit.score, item.id desc;

-- fragment: narrowed
(cast(:unread as boolean) is null or entry.unread = cast(:unread as boolean))
and (cast(:saved as boolean) is null or entry.saved = cast(:saved as boolean))
and entry.sort_at < :before
and (cast(:feeds as text) is null or entry.feed_id in (
  select cast(value as bigint) from json_each(cast(:feeds as text))
))

-- name: shown_items
-- What hits are shown by: only for those that are shown.
select item.id, subscription.public_id as feed_id, item.title,
  substr(case when item.content = '' then coalesce(item.summary, '') else item.content end, 1, cast(:longest as integer)) as text,
  item.published_at, item.sort_at, entry.unread
from json_each(cast(:ids as text)) as wanted
cross join entry
join item on item.id = entry.item_id
join subscription on subscription.shelf_id = entry.shelf_id and subscription.feed_id = entry.feed_id
where entry.shelf_id = :shelf_id and entry.item_id = cast(wanted.value as bigint);

-- fragment: is_for_all
(
  exists (select 1 from series_source where series_source.series_id = series.id)
  or exists (select 1 from follow where follow.series_id = series.id and follow.shelf_id = :shelf_id)
  or exists (select 1 from former_follow as former where former.series_id = series.id and former.shelf_id = :shelf_id)
)

-- name: search_series
-- Every series that a source has can be found, followed or not. I8: a name that only somebody's import has brought is
-- theirs, also when that import is forgotten.
select series.id, series.public_id, series.title, series.author, series.cover_url, series.last_chapter_at,
  series.description,
  (
    select min(series_source.id) from series_source
    where series_source.series_id = series.id and series_source.cover_url is not null
  ) as cover_id
from (
  select rowid as id, bm25(series_search, 4.0, 1.0) as score
  from series_search
  where series_search match :match
  order by rowid desc
  limit 1000
) as hit
cross join series
where series.id = hit.id and {is_for_all}
order by hit.score, series.id desc
limit :most;

-- fragment: columns
select chapter.id, series.public_id as series_public_id, series.title as series_title, chapter.number, chapter.volume,
  chapter.title, chapter.published_at

-- name: search_chapters
-- By the words of their titles, in the series that the shelf follows; the newest 1,000 matches are ranked.
{columns}
from (
  select rowid as id, bm25(chapter_search) as score
  from chapter_search
  where chapter_search match :match
    and exists (
      select 1 from chapter join follow on follow.series_id = chapter.series_id
      where chapter.id = chapter_search.rowid and follow.shelf_id = :shelf_id
    )
  order by rowid desc
  limit 1000
) as hit
cross join chapter  -- in this order: SQLite would begin elsewhere
cross join series
where chapter.id = hit.id and series.id = chapter.series_id
order by hit.score, chapter.id desc
limit :most;

-- name: search_numbered_chapters
-- R2: chapter N of each followed series that has these words. A numbered chapter's key is its number.
{columns}
from (
  select rowid as id, bm25(series_search, 4.0, 1.0) as score
  from series_search
  where series_search match :match
    and exists (select 1 from follow where follow.series_id = series_search.rowid and follow.shelf_id = :shelf_id)
  order by rowid desc
  limit 1000
) as hit
cross join series
cross join chapter
where series.id = hit.id and chapter.series_id = series.id and chapter.key = :number
order by hit.score, chapter.id desc
limit :most;

-- name: list_numbered_chapters
-- Chapter N of whatever the shelf follows, the newest first.
{columns}
from follow
cross join chapter
cross join series
where follow.shelf_id = :shelf_id and chapter.series_id = follow.series_id and chapter.key = :number
  and series.id = chapter.series_id
order by chapter.first_seen_at desc, chapter.id desc
limit :most;
