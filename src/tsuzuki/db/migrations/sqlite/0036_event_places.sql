-- An event's place among those of its shelf is counted on PostgreSQL; here there is one writer, all are 0, and their ids
-- are committed in their order (docs/decisions/0014-events-in-commit-order.md).
alter table event rename column txid to place;
drop index event_order;

create table event_counter (  -- empty here
  shelf_id integer primary key references shelf (id) on delete cascade,
  place integer not null
) strict;

-- What a delivery under way says of itself is called otherwise now.
update task set payload = replace(payload, '"is_told":', '"is_notified":') where queue = 'delivery';
update dead_letter set payload = replace(payload, '"is_told":', '"is_notified":') where queue = 'delivery';
