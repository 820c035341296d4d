-- name: unindexed_items
select id, title, content from item
where id > :after and not exists (select 1 from item_search where item_search.rowid = item.id)
order by id limit :most;

-- name: count_unindexed_items
select count(*) from item where not exists (select 1 from item_search where item_search.rowid = item.id);
