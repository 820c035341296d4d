-- name: has_loose_bookmark
-- What has neither a link nor an item has no key of its own (R71).
select exists (
  select 1 from bookmark
  where shelf_id = :shelf_id and link = '' and item_id is null and title = :title and feed_name = :feed_name
) as is_there;
