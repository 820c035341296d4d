-- fragment: columns
select chapter.id, series.public_id as series_id, series.title as series_title, chapter.number, chapter.volume,
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
