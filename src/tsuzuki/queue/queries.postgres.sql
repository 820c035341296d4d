-- fragment: claimable
select id from task
where status = 'queued' and queue = :queue and priority = wanted and run_at <= :now and losses < :suspect

-- fragment: is_held
-- The ids as an array, so that they are looked up one by one: joined, they were compared with every running task, and with
-- what the index still holds of those that ran before (3.4 times as slow).
task.id = any (array(select cast(value ->> 0 as bigint) from json_each(cast(:rows as text))))
  and task.id = held.id and task.lease_token = held.token and task.lease_until is not null

-- name: enqueue
-- A set of records out of plain JSON: a fifth quicker than taking each value out of jsonb.
insert into task (queue, key, payload, priority, run_at, created_at)
select cast(:queue as text), key, payload, priority, run_at, cast(:now as bigint)
from json_to_recordset(cast(cast(:rows as text) as json)) as wanted (key text, payload text, priority bigint, run_at bigint)
on conflict (queue, key) where status in ('queued', 'running') do nothing
returning id, key;

-- name: claim_tasks
-- SKIP LOCKED: two workers never wait for each other, nor take the same task. The arms of the portable query as a loop.
update task
set status = 'running', lease_token = lease_token + 1, lease_until = :until, worker = :worker
where id = any (array(
  select due.id
  from unnest(array[1, 2, 3]) as wanted
  cross join lateral ({claimable} order by run_at, id limit :most for update skip locked) as due
  limit :most
))
returning id, lease_token, key, payload, priority, run_at, attempts, losses, created_at;

-- name: claim_suspect
update task
set status = 'running', lease_token = lease_token + 1, lease_until = :until, worker = :worker
where id = any (array(
  select id from task
  where status = 'queued' and losses > 0 and losses >= :suspect and queue = :queue and run_at <= :now
  order by priority, run_at, id
  limit 1
  for update skip locked
))
returning id, lease_token, key, payload, priority, run_at, attempts, losses, created_at;

-- name: extend_leases
-- SKIP LOCKED: a task that is being finished at this moment must not hold up the heartbeats of the others.
update task
set lease_until = case when lease_until < cast(:until as bigint) then cast(:until as bigint) else lease_until + 1 end
where id in (select task.id from {held} join task on {is_held} for update of task skip locked);

-- name: reclaim_lost
-- SKIP LOCKED: one that is being finished or renewed at this moment is not lost after all.
update task
set status = case when losses + 1 >= :most_losses then 'failed' else 'queued' end,
  finished_at = case when losses + 1 >= :most_losses then cast(:now as bigint) end,
  losses = losses + 1, lease_token = lease_token + 1, lease_until = null, worker = null, run_at = {kept_place}, error = :error,
  first_failed_at = coalesce(first_failed_at, cast(:now as bigint))
where id in (
  select id
  from json_each(cast(:rows as text))
  join task on id = cast(value ->> 0 as bigint) and lease_token = cast(value ->> 1 as bigint)
    and lease_until = cast(value ->> 2 as bigint) and status = 'running'
  for update of task skip locked
)
returning id, status;

-- name: letters_to_replay
-- SKIP LOCKED: two people who replay at once do not replay the same letter.
select {letter} from dead_letter where {is_open} and id > :after order by id limit :most for update skip locked;

-- name: lock_letter
-- A second replay of the same letter waits here and then sees that it was replayed.
select {letter} from dead_letter where id = :id for update;
