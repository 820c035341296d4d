-- What is polled rests at least poll_floor between two looks; null is without limit.

-- fragment: fastest
-- Nobody waits, or somebody is not limited: no floor.
case when count(*) = count(cast(terms.value ->> 'floor' as bigint)) then min(cast(terms.value ->> 'floor' as bigint)) end

-- fragment: feed_floor
select {fastest}
from subscription
join shelf on shelf.id = subscription.shelf_id
left join json_each(cast(:rows as text)) as terms on terms.value ->> 'plan' = shelf.plan
where subscription.feed_id = watch.feed_id and subscription.suspended_at is null

-- fragment: series_floor
select {fastest}
from series_source
join follow on follow.series_id = series_source.series_id and follow.status <> 'dropped' and follow.held_at is null
join shelf on shelf.id = follow.shelf_id
left join json_each(cast(:rows as text)) as terms on terms.value ->> 'plan' = shelf.plan
where series_source.id = watch.series_source_id

-- name: set_feed_floors
-- Only what differs is written, here and below: watches are many, and floors seldom change.
update watch set poll_floor = wanted.floor
from (
  select watch.id, ({feed_floor}) as floor from watch
  where watch.feed_id in (select feed_id from subscription where shelf_id = :shelf_id)
) as wanted
where watch.id = wanted.id and watch.poll_floor is distinct from wanted.floor
returning watch.id;

-- name: set_series_floors
update watch set poll_floor = wanted.floor
from (
  select watch.id, ({series_floor}) as floor from watch
  where watch.series_source_id in (
    select series_source.id from series_source
    join follow on follow.series_id = series_source.series_id
    where follow.shelf_id = :shelf_id
  )
) as wanted
where watch.id = wanted.id and watch.poll_floor is distinct from wanted.floor
returning watch.id;

-- name: set_floors_of_feed
update watch set poll_floor = wanted.floor
from (select watch.id, ({feed_floor}) as floor from watch where watch.feed_id = :feed_id) as wanted
where watch.id = wanted.id and watch.poll_floor is distinct from wanted.floor
returning watch.id;

-- name: set_floors_of_series
update watch set poll_floor = wanted.floor
from (
  select watch.id, ({series_floor}) as floor from watch
  where watch.series_source_id in (select id from series_source where series_id = :series_id)
) as wanted
where watch.id = wanted.id and watch.poll_floor is distinct from wanted.floor
returning watch.id;

-- name: repair_floors
-- A net below what is done at every change. In parts, by the watches' ids.
update watch set poll_floor = wanted.floor
from (
  select watch.id, case when watch.feed_id is null then ({series_floor}) else ({feed_floor}) end as floor from watch
  where watch.id > :after and watch.id <= :until
) as wanted
where watch.id = wanted.id and watch.poll_floor is distinct from wanted.floor
returning watch.id;

-- name: last_watch
select coalesce(max(id), 0) as id from watch;
