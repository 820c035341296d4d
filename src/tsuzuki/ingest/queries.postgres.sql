-- name: hold_ingest
-- REL-19d: two batches of one feed or series that hold the same rows in another order would lock each other out. It
-- is the first that ingest takes; whoever follows or leaves a series takes that of the series too (sources: hold_series).
select pg_advisory_xact_lock(hashtextextended(cast(:name as text), 0));

-- fragment: as_boolean
cast(value ->> 'is_readable' as boolean)

-- fragment: as_json
cast(value ->> 'categories' as jsonb), cast(value ->> 'enclosures' as jsonb), cast(value ->> 'page_urls' as jsonb)

-- name: index_items
insert into item_search (item_id, document)
select cast(value ->> 'id' as bigint), cast(value ->> 'vector' as tsvector)
from json_each(cast(:rows as text))
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
