-- name: find_full_text
select content, error, fetched_at from item_full_text where item_id = :item_id;

-- name: keep_full_text
-- R70: one fetch serves everyone. A failure never takes a text away that was had before.
insert into item_full_text (item_id, content, error, fetched_at)
values (:item_id, :content, :error, :now)
on conflict (item_id) do update set
  content = case when excluded.content = '' then item_full_text.content else excluded.content end,
  error = excluded.error,
  fetched_at = excluded.fetched_at;
