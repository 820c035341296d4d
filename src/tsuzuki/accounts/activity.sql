-- fragment: activity_columns
id, tenant_id, shelf_id, activity_type, resource_type, snapshot, created_at, billed_at

-- name: is_billed
-- inline: by its key
select is_on from billing_switch where id = 1;

-- fragment: account_columns
tenant.id, tenant.anchor_at, tenant.renewed_at, tenant.churned_at

-- name: lock_account
-- Whatever changes what a tenant pays is done one after the other. SQLite has one writer.
select {account_columns} from tenant where tenant.id = :tenant_id;

-- name: lock_account_of_shelf
select {account_columns} from tenant where tenant.id = (select shelf.tenant_id from shelf where shelf.id = :shelf_id);

-- name: last_moment
select coalesce(max(created_at), 0) as moment from activity where shelf_id = :shelf_id;

-- name: add_activity
insert into activity (tenant_id, shelf_id, activity_type, resource_type, snapshot, created_at)
values (:tenant_id, :shelf_id, :activity_type, :resource_type, :snapshot, :moment)
returning {activity_columns};

-- name: list_activity
select {activity_columns} from activity where tenant_id = :tenant_id order by id desc limit :most offset :skip;

-- name: count_activity
select count(*) as total from activity where tenant_id = :tenant_id;

-- name: list_billable_activity
-- By the marker, never by time: what was missed once is found by the next look.
select {activity_columns} from activity
where tenant_id = :tenant_id and billed_at is null
  and activity_type in (select value ->> 0 from json_each(cast(:rows as text)))
order by id;

-- name: get_latest_shelf_activity_before
-- R85, REL-46: strictly before; of the same millisecond only those with a lower id, and none where that is 0.
select {activity_columns} from activity
where shelf_id = :shelf_id and resource_type = 'shelf'
  and (created_at < :before or (created_at = :before and id < :before_id))
order by created_at desc, id desc
limit 1;

-- name: mark_activity_billed
-- I10: whoever changes the row has the activity, and nobody has it twice.
update activity set billed_at = :now where id = :id and billed_at is null;
