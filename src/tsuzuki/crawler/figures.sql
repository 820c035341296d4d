-- name: minute_figures
-- One pass over the watches, beside the writer. What is suspended is not failing: somebody knows.
select
  (select count(*) from task where status = 'failed' and finished_at >= :since) as failed,
  coalesce(sum(case when last_checked_at >= :since then 1 else 0 end), 0) as polls,
  coalesce(sum(case when consecutive_failures > 0 and suspended_at is null then 1 else 0 end), 0) as failing
from watch;

-- name: count_watch_figures
-- One pass over the watches, beside the writer, by class. Due is what waits for its poll; a lease that ran out leaves it due.
select
  priority, count(*) as watched,
  sum(case when next_check_at <= :now and coalesce(lease_until, 0) <= :now then 1 else 0 end) as due,
  sum(case when lease_until > :now then 1 else 0 end) as running,
  min(case when next_check_at > :now or lease_until > :now then null when waits_since < next_check_at then waits_since else next_check_at end) as oldest_due_at,
  sum(case when consecutive_failures > 0 then 1 else 0 end) as failing,
  sum(case when last_checked_at >= :minute_ago then 1 else 0 end) as polled_last_minute,
  sum(case when last_error_at >= :hour_ago then 1 else 0 end) as failed_last_hour
from watch
where suspended_at is null
group by priority
order by priority;

-- fragment: failing_feeds
watch.feed_id is not null and watch.consecutive_failures > 0 and watch.suspended_at is null

-- name: list_failing_feeds
-- The host and not the address: that of a private feed is as good as a password.
select
  feed.title, watch.host, watch.consecutive_failures as failures, watch.last_error as error, watch.last_success_at,
  watch.next_check_at
from watch
join feed on feed.id = watch.feed_id
where {failing_feeds}
order by watch.consecutive_failures desc, watch.id
limit :most offset :skip;

-- name: count_failing_feeds
select count(*) as total from watch where {failing_feeds};

-- name: add_figure
-- Taken twice, it is the same minute.
insert into figure (at, depth, oldest_ms, finished, failed, dead_letters, polls, failing)
values (:at, :depth, :oldest_ms, :finished, :failed, :dead_letters, :polls, :failing)
on conflict (at) do nothing;

-- name: forget_figures
delete from figure where at < :before;

-- name: list_figures
select
  at / cast(:width as bigint) * cast(:width as bigint) as at, cast(round(avg(depth)) as bigint) as depth,
  max(oldest_ms) as oldest_ms, cast(sum(finished) as bigint) as finished, cast(sum(failed) as bigint) as failed,
  cast(round(avg(dead_letters)) as bigint) as dead_letters, cast(sum(polls) as bigint) as polls,
  cast(round(avg(failing)) as bigint) as failing
from figure
where at >= :since
group by 1
order by 1;

-- name: list_source_hours
-- By crawl_job_order; what was cancelled says nothing of the source, and uneventful polls that were forgotten count.
select
  source_id, hour, cast(sum(jobs) as bigint) as jobs, cast(sum(failures) as bigint) as failed,
  cast(sum(spent_ms) as bigint) as spent_ms
from (
  select
    source_id, finished_at / 3600000 as hour, count(*) as jobs,
    sum(case when status = 'failed' then 1 else 0 end) as failures,
    sum(coalesce(finished_at - started_at, 0)) as spent_ms
  from crawl_job
  where scheduled_at >= :since and status in ('done', 'failed')
  group by 1, 2
  union all
  select source_id, hour, jobs, 0, spent_ms from crawl_tally where hour * 3600000 >= :since
) as parts
group by source_id, hour
order by source_id, hour;

-- name: list_amounts
-- What was found by browsing and nobody follows is not watched.
select 'database' as name, (select page_count from pragma_page_count) * (select page_size from pragma_page_size) as amount
union all select 'images', coalesce(sum(bytes), 0) from image
union all select 'items', count(*) from item
union all select 'chapters', count(*) from chapter
union all select 'entries', count(*) from entry
union all select 'watches', count(*) from watch where suspended_reason is distinct from 'nobody follows it'
union all select 'logs', count(*) from crawl_log;
