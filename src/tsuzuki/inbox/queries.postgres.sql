-- fragment: by_unread
entry

-- fragment: by_unread_published
entry

-- fragment: by_saved
entry

-- fragment: first_page
item.page_urls ->> 0

-- fragment: hits
select item_id as found from item_search where document @@ cast(:match as tsquery) offset 0

-- fragment: hit_entries
-- By the key of each hit: a plan made for any words would begin with all that the shelf has.
hit cross join lateral (
  select id, shelf_id, feed_id, item_id, series_id, chapter_id, unread, saved, sort_at, created_at from entry
  where entry.shelf_id = :shelf_id and entry.item_id = hit.found
  offset 0
) as entry

-- name: shelves_with_news
-- LATERAL: a join would be planned for a thousand shelves, and would read all events.
select newest.shelf_id, newest.place, newest.id
from json_each(cast(:rows as text)) as wanted
cross join lateral (
  select event.shelf_id, event.place, event.id from event
  where event.shelf_id = cast(wanted.value ->> 0 as bigint)
    and (event.place, event.id) > (cast(wanted.value ->> 1 as bigint), cast(wanted.value ->> 2 as bigint))
  order by event.place desc, event.id desc
  limit 1
) as newest;

-- fragment: these
-- In the order of the key: PostgreSQL marks 10,000 entries in two thirds of the time then.
= any (cast((select cast(translate(cast(:ids as text), '[]', '{}') as bigint[])) as bigint[]))

-- fragment: changed
changed_at = cast(extract(epoch from clock_timestamp()) * 1000 as bigint)
