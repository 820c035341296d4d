-- name: add_job
-- R43, REL-10: a repeat meets crawl_job_active, inserts nothing and returns no row.
insert into crawl_job (
  public_id, kind, source_id, source_name, source_slug, series_id, scheduled_at, triggered_by, created_at, updated_at
)
values (
  :public_id, :kind, :source_id, :source_name, :source_slug, :series_id, :scheduled_at, :triggered_by, :now, :now
)
on conflict do nothing
returning id;

-- name: add_polled_job
-- A scheduled poll: over when it is written.
insert into crawl_job (
  public_id, kind, source_id, source_name, source_slug, series_id, status, scheduled_at, started_at, finished_at,
  pages_count, error_count, last_error, log_count, last_log_at, created_at, updated_at
)
values (
  :public_id, 'targeted', :source_id, :source_name, :source_slug,
  (select series.id from series where series.id = :series_id),  -- it may have become another one's while it was polled
  :status, :started_at, :started_at, :now,
  :pages, :errors, :last_error, :lines, :now, :started_at, :now
)
returning id;

-- name: set_task
update crawl_job set task_id = :task_id where id = :id;

-- name: find_active
select public_id from crawl_job
where source_id = :source_id and kind = :kind and coalesce(series_id, 0) = :series_id and status in ('queued', 'running');

-- fragment: job
select
  crawl_job.id, crawl_job.public_id, crawl_job.kind, crawl_job.source_id, crawl_job.source_name, crawl_job.source_slug,
  series.public_id as comic_id, series.title as comic_title, series.cover_url as comic_cover_url, crawl_job.status,
  crawl_job.scheduled_at, crawl_job.started_at, crawl_job.finished_at, crawl_job.pages_count, crawl_job.error_count,
  crawl_job.last_error, user_account.public_id as triggered_by, user_account.username, crawl_job.created_at,
  crawl_job.updated_at
from crawl_job
left join series on series.id = crawl_job.series_id
left join user_account on user_account.id = crawl_job.triggered_by

-- fragment: job_filter
(cast(:statuses as text) is null or cast(:statuses as text) like '%,' || crawl_job.status || ',%')
  and (cast(:source_id as bigint) is null or crawl_job.source_id = cast(:source_id as bigint))
  and (
    not cast(:has_comic as boolean)
    or crawl_job.series_id = (select id from series where public_id = :comic_id) and crawl_job.kind = 'targeted'
  )
  and (cast(:is_manual as boolean) is null or (crawl_job.triggered_by is not null) = cast(:is_manual as boolean))
  and (cast(:since as bigint) is null or crawl_job.scheduled_at > cast(:since as bigint))

-- name: list_jobs
-- R57: descending. By crawl_job_order: a day of scheduled polls is not sorted for a page of fifty.
{job}
where {job_filter}
order by crawl_job.scheduled_at desc, crawl_job.id desc
limit :most offset :skip;

-- name: list_jobs_not_done
-- By crawl_job_not_done: what failed, waits or runs is rare among polls that went well.
{job}
where crawl_job.status <> 'done' and {job_filter}
order by crawl_job.scheduled_at desc, crawl_job.id desc
limit :most offset :skip;

-- name: list_jobs_of_people
-- By crawl_job_manual: rare as well.
{job}
where crawl_job.triggered_by is not null and {job_filter}
order by crawl_job.scheduled_at desc, crawl_job.id desc
limit :most offset :skip;

-- name: list_jobs_of_source
-- By crawl_job_source.
{job}
where crawl_job.source_id = :source_id and {job_filter}
order by crawl_job.scheduled_at desc, crawl_job.id desc
limit :most offset :skip;

-- name: list_jobs_of_comic
-- By crawl_job_series: only these are sorted.
{job}
where crawl_job.series_id = (select id from series where public_id = :comic_id) and {job_filter}
order by crawl_job.scheduled_at desc, crawl_job.id desc
limit :most offset :skip;

-- fragment: in_another_order
-- Of few rows: what is narrowed to them is sorted, where an index of the order would be walked to its end to find them.
order by case when cast(:is_by_pages as boolean) then crawl_job.pages_count else crawl_job.finished_at end desc nulls last,
  crawl_job.id desc
limit :most offset :skip

-- name: sort_jobs_not_done
{job} where crawl_job.status <> 'done' and {job_filter} {in_another_order};

-- name: sort_jobs_of_people
{job} where crawl_job.triggered_by is not null and {job_filter} {in_another_order};

-- name: sort_jobs_of_comic
{job} where crawl_job.series_id = (select id from series where public_id = :comic_id) and {job_filter} {in_another_order};

-- name: list_jobs_finished
-- R57: what has not finished comes last. By crawl_job_finished.
{job}
where {job_filter}
order by crawl_job.finished_at desc nulls last, crawl_job.id desc
limit :most offset :skip;

-- name: list_jobs_with_pages
-- By crawl_job_pages.
{job}
where crawl_job.pages_count > 0 and {job_filter}
order by crawl_job.pages_count desc, crawl_job.id desc
limit :most offset :skip;

-- name: list_jobs_without_pages
-- Those come after all that have some: most jobs, by their id.
{job}
where crawl_job.pages_count = 0 and {job_filter}
order by crawl_job.id desc
limit :most offset :skip;

-- name: count_jobs
select count(*) from crawl_job where {job_filter};

-- name: count_jobs_not_done
select count(*) from crawl_job where crawl_job.status <> 'done' and {job_filter};

-- name: count_jobs_of_people
select count(*) from crawl_job where crawl_job.triggered_by is not null and {job_filter};

-- name: count_jobs_of_source
select count(*) from crawl_job where crawl_job.source_id = :source_id and {job_filter};

-- name: count_jobs_of_comic
select count(*) from crawl_job
where crawl_job.series_id = (select id from series where public_id = :comic_id) and {job_filter};

-- name: count_jobs_with_pages
select count(*) from crawl_job where crawl_job.pages_count > 0 and {job_filter};

-- name: find_job
{job}
where crawl_job.public_id = :public_id;

-- name: begin_job
-- queued -> running, or on with one whose worker died. A job that is over is not begun again.
update crawl_job
set status = 'running', started_at = coalesce(started_at, :now), lease_token = :lease_token, updated_at = :now
where id = :id and status in ('queued', 'running')
returning id, public_id, kind, source_id, series_id,
  (select series.public_id from series where series.id = crawl_job.series_id) as comic_id, started_at, pages_count,
  resume_from, lease_token;

-- name: move_job
-- I4: the counters of a job that is no longer this worker's do not move.
update crawl_job
set pages_count = pages_count + :pages, error_count = error_count + :errors,
  resume_from = coalesce(:resume_from, resume_from), updated_at = :now
where id = :id and status = 'running' and lease_token = :lease_token;

-- name: end_job
-- R45: exactly one end. No row: cancelled meanwhile, or another worker's.
update crawl_job
set status = :status, last_error = :last_error, finished_at = :now, updated_at = :now, resume_from = null
where id = :id and status = 'running' and lease_token = :lease_token;

-- name: cancel_job
-- The token outdates the worker that runs it: it writes nothing more (I4).
update crawl_job set status = 'cancelled', lease_token = -1, finished_at = :now, updated_at = :now
where public_id = :public_id and status in ('queued', 'running')
returning id, public_id, source_id, task_id;

-- name: has_running
select exists (select 1 from crawl_job where source_id = :source_id and status = 'running');

-- name: cancel_queued
update crawl_job set status = 'cancelled', finished_at = :now, updated_at = :now
where source_id = :source_id and status = 'queued'
returning id, public_id, source_id, task_id;

-- name: fail_abandoned
-- R42: its task was given up, because its workers died too often.
update crawl_job
set status = 'failed', last_error = :reason, error_count = error_count + 1, lease_token = -1, finished_at = :now, updated_at = :now
where status in ('queued', 'running') and task_id <> 0 and not exists (
  select 1 from task where task.id = crawl_job.task_id and task.status in ('queued', 'running')
)
returning id, public_id, source_id, task_id;

-- name: job_targets
-- What was only looked at in a catalogue has no watch yet.
select series_source.id as series_source_id, watch.id as watch_id, series_source.url
from series_source left join watch on watch.series_source_id = series_source.id
where series_source.series_id = :series_id and series_source.source_id = :source_id and series_source.is_active
order by series_source.id;

-- name: reserve_log
-- R49, REL-15: writers of one job wait here for each other, so that places in its log are given and committed in one order.
update crawl_job
set log_count = log_count + :lines, last_log_at = case when last_log_at > :now then last_log_at else :now end
where id = :id and (cast(:lease_token as bigint) is null or lease_token = cast(:lease_token as bigint))
returning log_count as count, last_log_at as at;

-- name: add_log
insert into crawl_log (id, job_id, level, message, meta, created_at)
select unhex(value ->> 'id'), cast(:job_id as bigint), value ->> 'level', value ->> 'message', {as_json}, cast(:at as bigint)
from json_each(cast(:rows as text));

-- fragment: as_json
value ->> 'meta'

-- name: list_log
select id, level, message, meta, created_at from crawl_log
where job_id = :job_id and (created_at, id) > (:after_at, :after_id)
  and (cast(:level as text) is null or level = cast(:level as text))
order by created_at, id
limit :most;

-- name: count_log
select count(*) from crawl_log where job_id = :job_id and (cast(:level as text) is null or level = cast(:level as text));

-- name: count_archived
-- R52: nothing but the archive ever takes a row away.
select log_count - (select count(*) from crawl_log where crawl_log.job_id = crawl_job.id) as archived
from crawl_job where id = :job_id;

-- name: count_writes
-- inline: one row at most
select generation from crawler_generation where id = 1;

-- name: add_write
insert into crawler_generation (id, generation) values (1, 1)
on conflict (id) do update set generation = crawler_generation.generation + 1;

-- name: count_by_status
select status, count(*) as jobs from crawl_job where source_id = :source_id group by status;

-- name: last_job
{job}
where crawl_job.source_id = :source_id and crawl_job.scheduled_at <= :now
  and (crawl_job.status <> 'cancelled' or crawl_job.started_at is not null)
order by crawl_job.scheduled_at desc, crawl_job.id desc
limit 1;

-- name: job_stats
-- What was cancelled says nothing of the source. Uneventful polls that were forgotten count by whole hours.
select
  cast(coalesce(sum(jobs), 0) as bigint) as finished, cast(coalesce(sum(failures), 0) as bigint) as failed,
  cast(sum(spent_ms) / nullif(sum(timed), 0) as bigint) as average_ms, cast(max(longest_ms) as bigint) as longest_ms
from (
  select
    count(*) as jobs, sum(case when status = 'failed' then 1 else 0 end) as failures, count(started_at) as timed,
    sum(finished_at - started_at) as spent_ms, max(finished_at - started_at) as longest_ms
  from crawl_job
  where source_id = :source_id and finished_at >= :since and status in ('done', 'failed')
  union all
  select sum(jobs), 0, sum(jobs), sum(spent_ms), max(longest_ms)
  from crawl_tally
  where source_id = :source_id and hour * 3600000 >= :since
) as parts;

-- name: forget_uneventful
-- Scheduled polls that found nothing new and met no error: they have no task and no log, so R52 is kept.
delete from crawl_job where id in (
  select id from crawl_job
  where task_id = 0 and status = 'done' and log_count = 0 and finished_at < :before
  order by finished_at
  limit :most
)
returning source_id, started_at, finished_at;

-- name: add_tallies
insert into crawl_tally (source_id, hour, jobs, spent_ms, longest_ms)
select cast(value ->> 0 as bigint), cast(value ->> 1 as bigint), cast(value ->> 2 as bigint), cast(value ->> 3 as bigint),
  cast(value ->> 4 as bigint)
from json_each(cast(:rows as text))
where true
on conflict (source_id, hour) do update
set jobs = crawl_tally.jobs + excluded.jobs, spent_ms = crawl_tally.spent_ms + excluded.spent_ms,
  longest_ms = case when excluded.longest_ms > crawl_tally.longest_ms then excluded.longest_ms else crawl_tally.longest_ms end;

-- name: forget_tallies
delete from crawl_tally where hour < :before;

-- name: watching
-- What was found by browsing and nobody follows is not watched.
select
  count(*) as watched, coalesce(sum(case when watch.consecutive_failures > 0 then 1 else 0 end), 0) as failing,
  coalesce(sum(case when watch.consecutive_failures >= :breaker_at then 1 else 0 end), 0) as open_breakers,
  min(case when watch.suspended_at is null then watch.next_check_at end) as next_due_at
from watch join series_source on series_source.id = watch.series_source_id
where series_source.source_id = :source_id and watch.suspended_reason is distinct from 'nobody follows it';

-- name: last_failure
select public_id as job_id, last_error as reason, finished_at as at from crawl_job
where source_id = :source_id and status = 'failed'
order by finished_at desc, id desc
limit 1;

-- name: job_news
-- What a stream reports of jobs.
select crawl_job.public_id, crawl_job.kind, crawl_job.status, crawl_job.source_name, series.title as comic_title
from json_each(cast(:rows as text)) as wanted
cross join crawl_job
left join series on series.id = crawl_job.series_id
where crawl_job.id = cast(wanted.value ->> 0 as bigint);
