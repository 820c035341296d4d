-- An event's place is counted for its shelf (docs/decisions/0014-events-in-commit-order.md). Those of before are placed by
-- their transaction's number, which is far below: counters begin at the time in milliseconds.
alter table event rename column txid to place;
alter table event alter column place set default 0;
drop index event_order;

create table event_counter (  -- the place of a shelf's newest event; whoever writes the next one waits for this row
  shelf_id bigint primary key references shelf (id) on delete cascade,
  place bigint not null
) with (fillfactor = 50);

-- What a delivery under way says of itself is called otherwise now.
update task set payload = replace(payload, '"is_told":', '"is_notified":') where queue = 'delivery';
update dead_letter set payload = replace(payload, '"is_told":', '"is_notified":') where queue = 'delivery';
