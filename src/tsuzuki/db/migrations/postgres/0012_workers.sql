-- R125: every process that works is seen.

create table worker (
  id bytea primary key,
  host text not null,
  pid bigint not null,
  queues text not null,  -- a JSON list of names
  doing text not null,  -- JSON: what is under way, by queue
  started_at bigint not null,
  seen_at bigint not null
);
