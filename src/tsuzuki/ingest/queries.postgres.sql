-- name: lock_ingest
-- REL-19d: two batches of one feed or series that hold the same rows in another order would lock each other out. These
-- are the first that ingest takes; whoever follows or leaves a series takes that of the series too (sources:
-- hold_series). Rows are what it is of and its id; in this order, as everyone who locks several; OFFSET keeps the sorting
-- before the locking.
select pg_advisory_xact_lock(hashtextextended(kind || '-' || id, 0))
from (
  select value ->> 0 as kind, cast(value ->> 1 as bigint) as id from json_each(cast(:rows as text)) order by 1, 2 offset 0
) as wanted;

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
