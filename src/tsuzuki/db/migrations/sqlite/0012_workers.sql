-- R125: every process that works is seen.

create table worker (
  id blob primary key,
  host text not null,
  pid integer not null,
  queues text not null,  -- a JSON list of names
  doing text not null,  -- JSON: what is under way, by queue
  started_at integer not null,
  seen_at integer not null
) strict;
