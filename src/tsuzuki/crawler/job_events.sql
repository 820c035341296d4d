-- name: job_news
-- What a stream tells of jobs.
select crawl_job.public_id, crawl_job.kind, crawl_job.status, crawl_job.source_name, series.title as comic_title
from json_each(cast(:rows as text)) as wanted
cross join crawl_job
left join series on series.id = crawl_job.series_id
where crawl_job.id = cast(wanted.value ->> 0 as bigint);
