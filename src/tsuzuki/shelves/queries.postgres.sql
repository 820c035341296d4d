-- name: search_items
-- ts_rank is higher for the better match; the newest 1,000 as above.
select item.id, item.feed_id, item.title, item.sort_at, entry.unread
from (
  select item_search.item_id as id, ts_rank(item_search.document, cast(:match as tsquery)) as score
  from item_search
  where item_search.document @@ cast(:match as tsquery)
    and exists (select 1 from entry where entry.shelf_id = :shelf_id and entry.item_id = item_search.item_id and {narrowed})
  order by item_search.item_id desc
  limit 1000
) as hit
join item on item.id = hit.id
join entry on entry.item_id = hit.id and entry.shelf_id = :shelf_id
order by hit.score desc, item.id desc
limit :most;

-- name: search_series
select series.id, series.public_id, series.title, series.author, series.cover_url, series.last_chapter_at,
  series.description
from (
  select series_search.series_id as id, ts_rank(series_search.document, cast(:match as tsquery)) as score
  from series_search
  where series_search.document @@ cast(:match as tsquery)
  order by series_search.series_id desc
  limit 1000
) as hit
join series on series.id = hit.id
order by hit.score desc, series.id desc
limit :most;

-- name: hold_shelf
-- Until the end of the transaction; rows that refer to the shelf are not kept waiting.
select id from shelf where id = :shelf_id for no key update;
