-- An event's place among those of its shelf is counted on PostgreSQL; here there is one writer, all are 0, and their ids
-- are committed in their order (docs/decisions/0014-events-in-commit-order.md).
alter table event rename column txid to place;
drop index event_order;

create table event_counter (  -- empty here
  shelf_id integer primary key references shelf (id) on delete cascade,
  place integer not null
) strict;
