-- name: has_loose_bookmark
-- What has neither a link nor an item has no key of its own (R71).
select exists (
  select 1 from bookmark
  where shelf_id = :shelf_id and link = '' and item_id is null and title = :title and feed_name = :feed_name
) as is_there;

-- name: item_ids
select id, key from item
where feed_id = :feed_id and key in (select value ->> 0 from json_each(cast(:rows as text)));
