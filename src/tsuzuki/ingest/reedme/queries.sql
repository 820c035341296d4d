-- name: item_ids
select id, key from item
where feed_id = :feed_id and key in (select value ->> 0 from json_each(cast(:rows as text)));
