-- fragment: chosen
-- As an array: a join would be planned for a thousand rows.
watch.id = any (array(select cast(value ->> 'id' as bigint) from json_each(cast(:rows as text))))

-- name: save_answer
{answered} and {chosen}
returning watch.id;

-- name: save_answers
-- SKIP LOCKED: whoever holds some rows and waits for none can be part of no deadlock.
{answered} and watch.id = any (array(select watch.id from watch where {chosen} for update skip locked))
returning watch.id, watch.lease_token;

-- fragment: as_boolean
cast(value ->> 'has_unstable_keys' as boolean)

-- fragment: described
feed.id = any (array(select cast(value ->> 'id' as bigint) from json_each(cast(:rows as text))))
