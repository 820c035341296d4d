-- fragment: as_boolean
cast(value ->> 'is_readable' as boolean)

-- fragment: found_items
-- A set of records out of plain JSON: quicker than taking each value out of jsonb.
rows from (json_to_recordset(cast(cast(:rows as text) as json)) as (
  feed_id bigint, key text, title text, link text, link_key text, author text, content text, summary text,
  published_at bigint, published_raw text, sort_at bigint, categories jsonb, enclosures jsonb, page_urls jsonb,
  image_url text, comments_url text, content_hash text
)) with ordinality as found (
  feed_id, key, title, link, link_key, author, content, summary, published_at, published_raw, sort_at, categories, enclosures,
  page_urls, image_url, comments_url, content_hash, place
)

-- name: index_items
insert into item_search (item_id, document)
select id, vector
from json_to_recordset(cast(cast(:rows as text) as json)) as words (id bigint, vector tsvector)
on conflict (item_id) do update set document = excluded.document;

-- name: index_series
insert into series_search (series_id, document)
select cast(value ->> 'id' as bigint), cast(value ->> 'vector' as tsvector)
from json_each(cast(:rows as text))
on conflict (series_id) do update set document = excluded.document;

-- name: index_chapters
insert into chapter_search (chapter_id, document)
select cast(value ->> 'id' as bigint), cast(value ->> 'vector' as tsvector)
from json_each(cast(:rows as text))
on conflict (chapter_id) do update set document = excluded.document;

-- fragment: is_wanted
-- Held by their ids first: those who save what polls brought hold several too.
id = any (array(
  select id from watch
  where id in (select cast(value ->> 0 as bigint) from json_each(cast(:rows as text)))
  order by id
  for no key update
))

-- name: shelf_items
-- OFFSET 0, here and below, keeps it a look into indexes for each row: a join would be planned for a thousand of them.
select found.key, found.id from json_each(cast(:rows as text)) as wanted, lateral (
  select item.key, item.id from item join entry on entry.item_id = item.id
  where item.feed_id is null and item.key = wanted.value ->> 0
    and entry.shelf_id = :shelf_id and entry.feed_id = :feed_id
  union all
  select item.key, item.id from item join entry on entry.item_id = item.id
  where item.feed_id = :feed_id and item.key = wanted.value ->> 0 and entry.shelf_id = :shelf_id
  offset 0
) as found;

-- name: feed_items
select found.key, found.id from json_each(cast(:rows as text)) as wanted, lateral (
  select item.key, item.id from item where item.feed_id = :feed_id and item.key = wanted.value ->> 0 offset 0
) as found;

-- name: adoptable
select found.shelf_id, cast(wanted.value ->> 0 as bigint) as item_id, min(found.detached_id) as detached_id
from json_each(cast(:rows as text)) as wanted, lateral (
  select entry.shelf_id, detached.id as detached_id
  from item as detached join entry on entry.item_id = detached.id
  where {is_same} and entry.feed_id = cast(wanted.value ->> 1 as bigint)
  union all
  select former_entry.shelf_id, detached.id
  from item as detached join former_entry on former_entry.item_id = detached.id
  where {is_same} and former_entry.feed_id = cast(wanted.value ->> 1 as bigint)
  offset 0
) as found
group by found.shelf_id, cast(wanted.value ->> 0 as bigint);

-- fragment: item_json
cast(value ->> 'categories' as jsonb), cast(value ->> 'enclosures' as jsonb), cast(value ->> 'page_urls' as jsonb)

-- name: unindexed_items
select id, title, content from item
where id > :after and not exists (select 1 from item_search where item_search.item_id = item.id)
order by id limit :most;

-- name: count_unindexed_items
select count(*) from item where not exists (select 1 from item_search where item_search.item_id = item.id);
