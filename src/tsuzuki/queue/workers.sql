-- name: beat
insert into worker (id, host, pid, queues, doing, started_at, seen_at)
values (:id, :host, :pid, :queues, :doing, :started_at, :now)
on conflict (id) do update set doing = excluded.doing, seen_at = excluded.seen_at;

-- name: leave
delete from worker where id = :id;

-- name: list_workers
select id, host, pid, queues, doing, started_at, seen_at from worker order by started_at, host, pid;

-- name: forget_workers
delete from worker where seen_at < :before;
