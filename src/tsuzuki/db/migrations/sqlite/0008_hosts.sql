-- Claims by host: behind the long line of a full host others are found without walking it (R97).

create index watch_host on watch (
  host, (case when last_checked_at is null then 0 else 1 end),
  (case when waits_since < next_check_at then waits_since else next_check_at end), next_check_at
) where suspended_at is null;
