-- name: take_lock
-- Free, left by somebody who died, or failed for others than us: whoever waited for a call is told how it failed.
insert into call_lock (key, holder, until) values (:key, :holder, :until)
on conflict (key) do update set holder = excluded.holder, until = excluded.until, failure = null
where call_lock.until <= :now or (call_lock.failure is not null and call_lock.holder <> :waited_for)
returning holder;

-- name: find_lock
-- inline: by primary key
select holder, failure, until from call_lock where key = :key;

-- name: renew_lock
update call_lock set until = :until where key = :key and holder = :holder and failure is null;

-- name: drop_lock
delete from call_lock where key = :key and holder = :holder;

-- name: fail_lock
update call_lock set failure = :failure, until = :until where key = :key and holder = :holder;

-- name: forget_locks
delete from call_lock where until < :before;
