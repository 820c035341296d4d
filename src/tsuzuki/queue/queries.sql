-- fragment: held
-- The tasks of a batch, each with the token it was claimed with.
(select cast(value ->> 0 as bigint) as id, cast(value ->> 1 as bigint) as token from json_each(cast(:rows as text))) as held

-- fragment: is_held
-- I4: a token that is not the newest, or a task that does not run (which has no lease), matches nothing.
task.id = held.id and task.lease_token = held.token and task.lease_until is not null

-- fragment: kept_place
-- What was begun was due, and keeps its place in the queue; it still is when the clock has gone back since (REL-19g).
case when run_at > cast(:now as bigint) then cast(:now as bigint) else run_at end

-- fragment: claimable
select id from task
where status = 'queued' and queue = :queue and run_at <= :now and losses < :suspect

-- fragment: letter
id, task_id, queue, key, payload, priority, error, error_code, stack, attempts, first_failed_at, last_failed_at,
  replayed_at, replayed_as, discarded_at

-- fragment: is_open
replayed_at is null and discarded_at is null
  and (cast(:queue as text) is null or queue = :queue)
  and (cast(:error_code as text) is null or error_code = :error_code)
  and (cast(:key as text) is null or key = :key)

-- name: enqueue
-- REL-07, REL-10: a key that is queued or running is not enqueued again; the repeat returns no row.
insert into task (queue, key, payload, priority, run_at, created_at)
select
  cast(:queue as text), value ->> 'key', value ->> 'payload', cast(value ->> 'priority' as bigint),
  cast(value ->> 'run_at' as bigint), cast(:now as bigint)
from json_each(cast(:rows as text))
where true
on conflict (queue, key) where status in ('queued', 'running') do nothing
returning id, key;

-- name: find_active
select task.id, task.key
from json_each(cast(:rows as text)) as wanted
cross join task
where task.queue = :queue and task.key = wanted.value ->> 0 and task.status in ('queued', 'running');

-- name: claim_tasks
-- One arm for each priority: each is a range of task_due, so neither a backlog nor tasks of next week are sorted or
-- walked through, and an arm is not begun when those before it filled the batch.
update task
set status = 'running', lease_token = lease_token + 1, lease_until = :until, worker = :worker
where id in (
  select id from (
    select id from ({claimable} and priority = 1 order by run_at, id limit :most)
    union all
    select id from ({claimable} and priority = 2 order by run_at, id limit :most)
    union all
    select id from ({claimable} and priority = 3 order by run_at, id limit :most)
  )
  limit :most
)
returning id, lease_token, key, payload, priority, run_at, attempts, losses, created_at;

-- name: claim_suspect
-- By task_suspect, which is nearly always empty.
update task
set status = 'running', lease_token = lease_token + 1, lease_until = :until, worker = :worker
where id = (
  select id from task
  where status = 'queued' and losses > 0 and losses >= :suspect and queue = :queue and run_at <= :now
  order by priority, run_at, id
  limit 1
)
returning id, lease_token, key, payload, priority, run_at, attempts, losses, created_at;

-- name: find_suspect
select id from task
where status = 'queued' and losses > 0 and losses >= :suspect and queue = :queue and run_at <= :now
limit 1;

-- name: finish_tasks
-- I4: in the transaction of the effect. Fewer rows than were asked for means that a lease was lost. What the task carried
-- is stored elsewhere by now, or done, and the task itself is remembered for an hour.
update task set status = :status, error = :note, finished_at = :now, lease_until = null, payload = '{}'
from {held}
where {is_held};

-- name: advance_task
-- I4, as above: what is left of it, in the transaction of what was done. A worker that dies next died of that.
update task set payload = :payload, attempts = 0, losses = 0, first_failed_at = null, error = null
where id = :id and lease_token = :token and lease_until is not null;

-- name: fail_task
-- Back into the queue, or over: `finished_at` says which.
update task
set status = :status, attempts = attempts + :counted, run_at = :run_at, lease_until = null, worker = null, error = :error,
  first_failed_at = coalesce(first_failed_at, :now), finished_at = :finished_at
where id = :id and lease_token = :token and status = 'running';

-- name: release_tasks
-- Given back untried: a worker that stops did not fail, and what it was doing may no longer write.
update task
set status = 'queued', lease_token = task.lease_token + 1, lease_until = null, worker = null, run_at = {kept_place}
from {held}
where {is_held};

-- name: extend_leases
-- A clock that stands still or went back must not make a heartbeat invisible: the end always moves.
update task
set lease_until = case when task.lease_until < cast(:until as bigint) then cast(:until as bigint) else task.lease_until + 1 end
from {held}
where {is_held};

-- name: running_tasks
select id, lease_token, lease_until from task where queue = :queue and status = 'running';

-- name: lease_tokens
-- The token that each of these tasks has now.
select task.id, task.lease_token as token
from json_each(cast(:rows as text)) as wanted
join task on task.id = cast(wanted.value ->> 0 as bigint);

-- name: reclaim_lost
-- R42: only a lease that still looks as it did when it was judged lost.
update task
set status = case when losses + 1 >= :most_losses then 'failed' else 'queued' end,
  finished_at = case when losses + 1 >= :most_losses then cast(:now as bigint) end,
  losses = losses + 1, lease_token = lease_token + 1, lease_until = null, worker = null, run_at = {kept_place}, error = :error,
  first_failed_at = coalesce(first_failed_at, cast(:now as bigint))
from (
  select cast(value ->> 0 as bigint) as lost_id, cast(value ->> 1 as bigint) as lost_token,
    cast(value ->> 2 as bigint) as lost_until
  from json_each(cast(:rows as text))
) as lost
where task.id = lost_id and task.lease_token = lost_token and task.lease_until = lost_until and task.status = 'running'
returning id, status;

-- name: repair_run_at
-- REL-19g: the clock went back. What was due at once when it was enqueued, and what failed and waits longer than any task
-- that failed can, is due now; what a person scheduled keeps its time.
update task set run_at = :now
where queue = :queue and status = 'queued' and run_at > :now
  and ((run_at = created_at and attempts = 0) or (attempts > 0 and run_at > cast(:latest as bigint)));

-- name: cancel_task
-- R45: one conditional update, so a task that is over stays as it is; the new token shuts a running handler out.
update task
set status = 'cancelled', lease_token = lease_token + 1, lease_until = null, finished_at = :now
where id = :id and status in ('queued', 'running')
returning queue;

-- name: withdraw_tasks
-- Those whose keys begin with this prefix; as cancel_task.
update task
set status = 'cancelled', lease_token = lease_token + 1, lease_until = null, finished_at = :now
where queue = :queue and status in ('queued', 'running') and key >= :prefix and key < :beyond;

-- name: withdraw_letters
update dead_letter set discarded_at = :now
where queue = :queue and key >= :prefix and key < :beyond and replayed_at is null and discarded_at is null;

-- name: open_payloads
select payload from (
  select id, payload from task
  where queue = :queue and status in ('queued', 'running') and key >= :prefix and key < :beyond
  union all
  select task_id, payload from dead_letter
  where queue = :queue and key >= :prefix and key < :beyond and replayed_at is null and discarded_at is null
) as unfinished
order by id;

-- name: last_run_at
-- When the newest of the tasks under this key that are over was due; 0 when none is remembered.
select coalesce(max(run_at), 0) from task where queue = :queue and key = :key and finished_at is not null;

-- name: run_earlier
update task set run_at = :run_at where queue = :queue and key = :key and status = 'queued' and run_at > :run_at;

-- name: prune_old
delete from task where id in (
  select id from task
  where queue = :queue and status = :status and finished_at is not null and finished_at < :before
  order by finished_at, id
  limit :most
);

-- name: prune_surplus
delete from task where id in (
  select id from task
  where queue = :queue and status = :status and finished_at is not null
  order by finished_at desc, id desc
  limit :most offset :kept
);

-- name: queue_names
select distinct queue from task;

-- name: add_dead_letters
-- R55: from the row, so that nothing of it is left out. What was given up before under the same key, and nobody has dealt
-- with yet, is that letter again, with what it carries now.
insert into dead_letter (
  task_id, queue, key, payload, priority, error, error_code, stack, attempts, first_failed_at, last_failed_at
)
select id, queue, key, payload, priority, coalesce(error, ''), cast(:error_code as text), cast(:stack as text),
  attempts + losses, coalesce(first_failed_at, cast(:now as bigint)), cast(:now as bigint)
from task
where id in (select cast(value ->> 0 as bigint) from json_each(cast(:rows as text)))
on conflict (queue, key) where replayed_at is null and discarded_at is null do update set
  task_id = excluded.task_id, payload = excluded.payload, priority = excluded.priority, error = excluded.error,
  error_code = excluded.error_code, stack = excluded.stack, attempts = dead_letter.attempts + excluded.attempts,
  last_failed_at = excluded.last_failed_at;

-- name: settle_letters
-- Their work was done by other tasks under the same keys.
update dead_letter set replayed_at = :now, replayed_as = done.task_id
from (
  select value ->> 0 as task_key, cast(value ->> 1 as bigint) as task_id from json_each(cast(:rows as text))
) as done
where queue = :queue and key = done.task_key and replayed_at is null and discarded_at is null;

-- name: list_letters
select {letter} from dead_letter where {is_open} and id < :before order by id desc limit :most;

-- name: find_letter
select {letter} from dead_letter where id = :id;

-- name: letters_to_replay
select {letter} from dead_letter where {is_open} and id > :after order by id limit :most;

-- name: lock_letter
select {letter} from dead_letter where id = :id;

-- name: mark_replayed
update dead_letter set replayed_at = :now, replayed_as = as_task
from (
  select cast(value ->> 0 as bigint) as letter_id, cast(value ->> 1 as bigint) as as_task
  from json_each(cast(:rows as text))
) as replayed
where dead_letter.id = letter_id;

-- name: discard_letter
update dead_letter set discarded_at = :now where id = :id and replayed_at is null and discarded_at is null;

-- name: discard_letters
update dead_letter set discarded_at = :now where {is_open};

-- name: prune_letters
-- Those that nobody has dealt with stay.
delete from dead_letter where id in (
  select id from dead_letter where replayed_at < :before or discarded_at < :before limit :most
);

-- name: queue_counts
select
  queue,
  sum(case when status = 'queued' and run_at <= :now then 1 else 0 end) as due,
  sum(case when status = 'queued' and run_at > :now then 1 else 0 end) as scheduled,
  sum(case when status = 'running' then 1 else 0 end) as running,
  min(case when status = 'queued' and run_at <= :now then run_at end) as oldest_due_at,
  sum(case when finished_at > :minute_ago then 1 else 0 end) as finished_last_minute,
  sum(case when status = 'failed' and finished_at > :hour_ago then 1 else 0 end) as failed_last_hour
from task
group by queue;

-- name: letter_counts
select queue, count(*) as letters from dead_letter where replayed_at is null and discarded_at is null group by queue;
