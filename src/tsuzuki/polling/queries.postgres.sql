-- name: claim_due_watches
-- SKIP LOCKED: without it four workers took 22,500 of 40,000 rows twice.
{lease}
where id = any (
  array(
    select id from (
      select id, host from watch where priority = 1 and {due} order by {place} limit :ahead for update skip locked
    ) as line
    where {of_free_host} limit :hot
  )
  || array(
    select id from (
      select id, host from watch where priority = 2 and {due} order by {place} limit :ahead for update skip locked
    ) as line
    where {of_free_host} limit :warm
  )
  || array(
    select id from (
      select id, host from watch where priority = 3 and {due} order by {place} limit :ahead for update skip locked
    ) as line
    where {of_free_host} limit :cold
  )
)
returning {claimed};

-- name: claim_new_watches
{lease}
where id = any (
  array(
    select id from (
      select id, host from watch where last_checked_at is null and {due} order by {place} limit :ahead for update skip locked
    ) as line
    where {of_free_host} limit :most
  )
)
returning {claimed};

-- name: claim_chosen_watches
{lease}
where id = any (array(select id from watch where {chosen} and {due} for update skip locked))
returning {claimed};

-- name: claim_wanted_watches
-- SKIP LOCKED: see claim_due_watches.
{lease_wanted}
where id = any (array(select watch.id from watch where {chosen} and {is_free} and refresh_at is not null for update skip locked))
returning {claimed};

-- fragment: chosen
-- As an array: a join would be planned for a thousand rows.
watch.id = any (array(select cast(value ->> 'id' as bigint) from json_each(cast(:rows as text))))

-- name: last_release
-- Held: whoever stores something new of it comes before this poll's end, or after it and sees it.
select last_release_at from watch where id = :id for no key update;

-- name: save_answer
{answered} and {chosen}
returning watch.id, watch.lease_token;

-- name: save_answers
-- SKIP LOCKED: whoever holds some rows and waits for none can be part of no deadlock.
{answered} and watch.id = any (array(select watch.id from watch where {chosen} for update skip locked))
returning watch.id, watch.lease_token;

-- fragment: as_boolean
cast(value ->> 'has_unstable_keys' as boolean)

-- fragment: described
feed.id = any (array(select cast(value ->> 'id' as bigint) from json_each(cast(:rows as text))))

-- name: known_items
-- OFFSET 0 keeps it a look into indexes for each row: a join would be planned for a thousand rows, and would read whole
-- tables where they were small when that was planned.
select known.feed_id, known.key, known.link_key, known.content_hash, known.pruned_at from json_each(cast(:rows as text)) as listed, lateral (
  select feed_id, key, link_key, content_hash, cast(null as bigint) as pruned_at from item
  where feed_id = cast(listed.value ->> 0 as bigint) and key = listed.value ->> 1
  union all
  (
    select feed_id, key, link_key, content_hash, cast(null as bigint) from item
    where feed_id = cast(listed.value ->> 0 as bigint) and link_key = listed.value ->> 2
    order by id desc
    limit 1000
  )
  union all
  select feed_id, key, link_key, content_hash, at from item_tombstone
  where feed_id = cast(listed.value ->> 0 as bigint) and key = listed.value ->> 1
  union all
  (
    select feed_id, key, link_key, content_hash, at from item_tombstone
    where feed_id = cast(listed.value ->> 0 as bigint) and link_key = listed.value ->> 2
    order by at desc
    limit 1000
  )
  offset 0
) as known;
