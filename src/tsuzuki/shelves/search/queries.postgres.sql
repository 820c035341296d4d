-- name: search_chapters
-- ts_rank is higher for the better match.
{columns}
from (
  select matched.id, matched.score
  from (
    select chapter_search.chapter_id as id, ts_rank(chapter_search.document, cast(:match as tsquery)) as score
    from chapter_search
    where chapter_search.document @@ cast(:match as tsquery)
    offset 0  -- what matches first, or a plan for any words would walk through all from the newest on
  ) as matched
  where exists (
    select 1 from chapter join follow on follow.series_id = chapter.series_id
    where chapter.id = matched.id and follow.shelf_id = :shelf_id
  )
  order by matched.id desc
  limit 1000
) as hit
join chapter on chapter.id = hit.id
join series on series.id = chapter.series_id
order by hit.score desc, chapter.id desc
limit :most;

-- name: search_numbered_chapters
{columns}
from (
  select matched.id, matched.score
  from (
    select series_search.series_id as id, ts_rank(series_search.document, cast(:match as tsquery)) as score
    from series_search
    where series_search.document @@ cast(:match as tsquery)
    offset 0
  ) as matched
  where exists (select 1 from follow where follow.series_id = matched.id and follow.shelf_id = :shelf_id)
  order by matched.id desc
  limit 1000
) as hit
join series on series.id = hit.id
join chapter on chapter.series_id = series.id and chapter.key = :number
order by hit.score desc, chapter.id desc
limit :most;
