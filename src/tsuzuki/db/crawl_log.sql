-- name: oldest_log
select min(created_at) from crawl_log;

-- name: count_logs
select count(*) from crawl_log where created_at >= :start and created_at < :stop;

-- name: page_logs
-- Pages by key, not by offset: a row that is added meanwhile shifts nothing.
select id, job_id, level, message, meta, created_at
from crawl_log
where created_at >= :start and created_at < :stop and (created_at, id) > (:after_time, :after_id)
order by created_at, id
limit :most;

-- name: remove_logs
-- R52: the only statement that deletes rows of the log. The time is there for the index and, on PostgreSQL, for the partition.
delete from crawl_log
where created_at >= :start and created_at < :stop
  and id in (select unhex({id}) from json_each(cast(:ids as text)));

-- fragment: id
value
