-- name: settled
-- Transactions commit in another order than their numbers were given out.
select settled_entries() as settled;

-- fragment: no_id
cast(null as bytea)

-- fragment: by_unread
entry

-- fragment: by_saved
entry

-- fragment: by_feed
entry

-- fragment: by_series
entry

-- fragment: by_date
entry

-- fragment: hits
select item_id as found from item_search where document @@ cast(:match as tsquery) offset 0

-- fragment: has_tag
exists (
  select 1 from jsonb_array_elements_text(item.categories) as has (value)
  where lower(has.value) = lower(wanted.value ->> 0)
)

-- fragment: these
= any (cast((select cast(translate(cast(:ids as text), '[]', '{}') as bigint[])) as bigint[]))
