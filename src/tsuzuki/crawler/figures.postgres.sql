-- name: list_amounts
-- Rows as the statistics know them: to count millions takes seconds here. crawl_log is the sum of its partitions.
-- What was found by browsing and nobody follows is not watched.
select 'database' as name, pg_database_size(current_database()) as amount
union all select 'images', cast(coalesce(sum(bytes), 0) as bigint) from image
union all select 'watches', count(*) from watch where suspended_reason is distinct from 'nobody follows it'
union all
select kinds.name, cast(coalesce(sum(counted.n_live_tup), 0) as bigint)
from (
  values ('items', 'item'), ('chapters', 'chapter'), ('entries', 'entry'), ('logs', 'crawl_log')
) as kinds (name, relation)
left join pg_stat_user_tables as counted
  on counted.schemaname = current_schema()
  and (counted.relname = kinds.relation or (kinds.name = 'logs' and counted.relname like 'crawl\_log\_%'))
group by kinds.name;
