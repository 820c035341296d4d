-- name: broken_watches
-- By watch_broken, of which there are few: asked after every successful call of a source.
select watch.id, watch.last_release_at, watch.poll_floor,
  (select count(*) from follow where follow.series_id = series_source.series_id) as followers
from {by_broken}
join series_source on series_source.id = watch.series_source_id
where watch.consecutive_failures >= 5 and watch.series_source_id is not null and watch.suspended_at is null
  and series_source.source_id = :source_id
order by watch.id limit :most;

-- fragment: by_broken
watch indexed by watch_broken

-- name: close_breakers
-- R99: closed, and looked at sooner, never later. Not 0: it has not answered for itself yet, and who was told that it
-- broke is told when it does. Who polls one now says how it is.
update watch
set consecutive_failures = 1, priority = new.priority, next_check_why = 'the source answers again',
  next_check_at = case
    when watch.retry_after_until > new.next_check_at and watch.retry_after_until < watch.next_check_at
      then watch.retry_after_until
    when watch.retry_after_until > new.next_check_at or new.next_check_at > watch.next_check_at then watch.next_check_at
    else new.next_check_at
  end
from (
  select cast(value ->> 'id' as bigint) as id, cast(value ->> 'next_check_at' as bigint) as next_check_at,
    cast(value ->> 'priority' as bigint) as priority
  from json_each(cast(:rows as text))
) as new
where watch.id = new.id and {closable}
returning watch.id;

-- fragment: closable
watch.consecutive_failures >= 5 and watch.suspended_at is null
  and (watch.lease_until is null or watch.lease_until <= :now)
