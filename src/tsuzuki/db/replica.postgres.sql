-- name: server_state
-- Which server this is, and up to where its log is committed or, on a standby, replayed. That a list can be read is
-- tried too. A standby's timeline is that of its last restart point, which is earlier at worst.
select
  (select system_identifier from pg_control_system()) as system,
  cast(current_database() as text) as database,
  pg_is_in_recovery() as is_standby,
  case
    when pg_is_in_recovery() then (select lpad(upper(to_hex(timeline_id)), 8, '0') from pg_control_checkpoint())
    else left(pg_walfile_name(pg_current_wal_flush_lsn()), 8)
  end as timeline,
  cast(pg_postmaster_start_time() as text) as started,
  case
    when pg_is_in_recovery() then cast(coalesce(pg_last_wal_replay_lsn() - '0/0', 0) as bigint)
    else cast(pg_current_wal_flush_lsn() - '0/0' as bigint)
  end as position
where not exists (select 1 from entry limit 0);

-- name: committed_position
-- A commit is flushed before anybody sees it, unless the server does not wait for its disk. The flushed end of the log
-- is rarely far from the last commit; the written end is ahead of it by whatever runs.
select
  cast(
    case current_setting('synchronous_commit')
      when 'off' then pg_current_wal_insert_lsn()
      else pg_current_wal_flush_lsn()
    end - '0/0' as bigint
  ) as position,
  left(pg_walfile_name(pg_current_wal_flush_lsn()), 8) as timeline;

-- name: has_replayed
-- False on a server that was promoted: what others write there is not in the first.
select pg_is_in_recovery() and coalesce(pg_last_wal_replay_lsn() - '0/0' >= cast(:position as bigint), false);
