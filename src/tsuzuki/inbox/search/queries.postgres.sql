-- name: search_items
-- ts_rank is higher for the better match; the newest 1,000 as above. What matches first, then its entries one by one by
-- their key: a plan made for any words would begin with all documents or with all that the shelf has.
with newest as materialized (
  select matched.id, lying.feed_id, lying.unread
  from (
    select item_search.item_id as id from item_search where item_search.document @@ cast(:match as tsquery)
    order by item_search.item_id desc
    offset 0
  ) as matched
  cross join lateral (
    select entry.feed_id, entry.unread from entry where entry.shelf_id = :shelf_id and entry.item_id = matched.id and {narrowed} offset 0
  ) as lying
  order by matched.id desc
  limit 1000
), best as materialized (
  select newest.id, newest.feed_id, newest.unread, ts_rank(item_search.document, cast(:match as tsquery)) as score
  from newest join item_search on item_search.item_id = newest.id
  order by score desc, newest.id desc
  limit :most
)
select item.id, best.feed_id, item.title, item.sort_at, best.unread
from best join item on item.id = best.id
order by best.score desc, item.id desc;

-- name: search_series
select series.id, series.public_id, series.title, series.author, series.cover_url, series.last_chapter_at,
  series.description,
  (
    select min(series_source.id) from series_source
    where series_source.series_id = series.id and series_source.cover_url is not null
  ) as cover_id
from (
  select matched.id, matched.score
  from (
    select series_search.series_id as id, ts_rank(series_search.document, cast(:match as tsquery)) as score
    from series_search
    where series_search.document @@ cast(:match as tsquery)
    offset 0  -- what matches first, as above
  ) as matched
  order by matched.id desc
  limit 1000
) as hit
join series on series.id = hit.id
where {is_for_all}
order by hit.score desc, series.id desc
limit :most;

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
