-- fragment: genre
(genre.value #>> '{}')

-- fragment: begun_progress
progress

-- name: search_series
select series_search.series_id as id
from series_search
where series_search.document @@ cast(:match as tsquery)
  and exists (select 1 from follow where follow.series_id = series_search.series_id and follow.shelf_id = :shelf_id)
order by ts_rank(series_search.document, cast(:match as tsquery)) desc, series_search.series_id desc
limit :most;

-- name: search_chapters
select chapter_search.chapter_id as id
from chapter_search
where chapter_search.document @@ cast(:match as tsquery)
  and exists (
    select 1 from chapter join follow on follow.series_id = chapter.series_id
    where chapter.id = chapter_search.chapter_id and follow.shelf_id = :shelf_id
  )
order by ts_rank(chapter_search.document, cast(:match as tsquery)) desc, chapter_search.chapter_id desc
limit :most;
