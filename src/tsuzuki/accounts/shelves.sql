-- fragment: columns
id, public_id, name, plan, status, proxy_images, own_retention

-- fragment: member_columns
shelf.id, shelf.public_id, shelf.name, shelf.plan, shelf.status, shelf.proxy_images,
shelf.own_retention, shelf_member.role,
case when shelf_member.role <> 'owner' then (
  select min(user_account.username)
  from shelf_member as other
  join user_account on user_account.id = other.user_id
  where other.shelf_id = shelf.id and other.role = 'owner'
) end as owner

-- name: add_shelf
insert into shelf (public_id, tenant_id, name, plan, created_at, updated_at)
values (:public_id, :tenant_id, :name, :plan, :now, :now)
returning {columns};

-- name: add_default_group
insert into shelf_group (public_id, shelf_id, name, is_default, created_at, updated_at)
values (:public_id, :shelf_id, 'Default', true, :now, :now);

-- name: list_member_shelves
-- inline: a person's few, along an index, at every page; the caller puts them in order
select {member_columns}
from shelf_member
join shelf on shelf.id = shelf_member.shelf_id
where shelf_member.user_id = :user_id;

-- name: find_member_shelf
-- inline: by two unique keys, at every request that names a shelf and every message of a stream
-- I8: a shelf that is neither theirs nor shared with them is not found.
select {member_columns}
from shelf
join shelf_member on shelf_member.shelf_id = shelf.id and shelf_member.user_id = :user_id
where shelf.public_id = :public_id;

-- name: set_proxy_images
update shelf set proxy_images = :proxy_images, updated_at = :now where id = :id
returning {columns};

-- name: set_retention
update shelf set own_retention = :retention, updated_at = :now where id = :id;

-- name: rename_shelf
update shelf set name = :name, updated_at = :now where id = :id
returning {columns};

-- name: list_shelf_names
select name from shelf where tenant_id = :tenant_id;

-- name: unclaimed_shelf
-- What a tenant began with belongs to whoever comes first.
select {columns} from shelf
where tenant_id = :tenant_id and status = 'active'
  and not exists (select 1 from shelf_member where shelf_member.shelf_id = shelf.id)
order by id
limit 1;

-- Who has them -----------------------------------------------------------------------------------------------

-- name: put_member
-- I8: nobody of another tenant.
insert into shelf_member (shelf_id, user_id, role, created_at)
select shelf.id, user_account.id, cast(:role as text), cast(:now as bigint)
from shelf
join user_account on user_account.tenant_id = shelf.tenant_id
where shelf.id = :shelf_id and user_account.id = :user_id
on conflict (shelf_id, user_id) do update set role = excluded.role;

-- name: remove_member
delete from shelf_member where shelf_id = :shelf_id and user_id = :user_id;

-- name: list_members
select
  shelf_member.user_id, user_account.public_id, user_account.username, shelf_member.role, shelf_member.created_at
from shelf_member
join user_account on user_account.id = shelf_member.user_id
where shelf_member.shelf_id = :shelf_id
order by user_account.username;

-- name: list_others
-- The people of a tenant who do not have this shelf; nobody who is locked out.
select user_account.username
from user_account
where user_account.tenant_id = :tenant_id and user_account.disabled_at is null
  and not exists (
    select 1 from shelf_member where shelf_member.shelf_id = :shelf_id and shelf_member.user_id = user_account.id
  )
order by user_account.username;

-- name: first_person
select id from user_account where tenant_id = :tenant_id order by id limit 1;

-- name: set_default_shelf
update user_account set default_shelf_id = :shelf_id, updated_at = :now where id = :user_id;

-- name: forget_default_shelf
update user_account set default_shelf_id = null, updated_at = :now
where id = :user_id and default_shelf_id = :shelf_id;

-- name: close_offer
update user_account set is_offered_shelf = false, updated_at = :now where id = :user_id;

-- name: list_old_shared
select tenant.name as tenant, shelf.name, count(*) as people
from shelf_member
join user_account on user_account.id = shelf_member.user_id and user_account.is_offered_shelf
join shelf on shelf.id = shelf_member.shelf_id
join tenant on tenant.id = shelf.tenant_id
group by shelf.id, tenant.name, shelf.name
order by shelf.id;

-- Deleting ---------------------------------------------------------------------------------------------------

-- name: list_sole_shelves
-- What goes when this person goes: no other owner has it.
select {member_columns}
from shelf_member
join shelf on shelf.id = shelf_member.shelf_id
where shelf_member.user_id = :user_id and shelf_member.role = 'owner'
  and not exists (
    select 1 from shelf_member as other
    where other.shelf_id = shelf.id and other.role = 'owner' and other.user_id <> :user_id
  )
order by shelf.id;

-- name: count_shelf_contents
select
  (select count(*) from subscription where subscription.shelf_id = shelf.id) as subscriptions,
  (select count(*) from follow where follow.shelf_id = shelf.id) as follows,
  (select count(*) from bookmark where bookmark.shelf_id = shelf.id) as bookmarks,
  (select count(*) from shelf_member where shelf_member.shelf_id = shelf.id) as people
from shelf
where shelf.id = :id;

-- name: was_charged
select exists (select 1 from invoice_item where invoice_item.shelf_id = :shelf_id) as found;

-- name: delete_activities
-- What was never charged for need not be remembered.
delete from activity where shelf_id = :shelf_id;

-- name: delete_subscriptions
delete from subscription where shelf_id = :shelf_id;

-- name: delete_follows
delete from follow where shelf_id = :shelf_id;

-- name: delete_shelf
delete from shelf where id = :id;

-- name: delete_former_subscriptions
delete from former_subscription where shelf_id = :shelf_id;

-- name: delete_former_follows
delete from former_follow where shelf_id = :shelf_id;

-- name: delete_groups
delete from shelf_group where shelf_id = :shelf_id and not is_default;

-- name: delete_tags
delete from tag where shelf_id = :shelf_id;

-- name: delete_entries
delete from entry where shelf_id = :shelf_id;

-- name: delete_tombstones
delete from entry_tombstone where shelf_id = :shelf_id;

-- name: delete_progress
delete from progress where shelf_id = :shelf_id;

-- name: delete_kept_chapters
delete from kept_chapter where shelf_id = :shelf_id;

-- name: delete_bookmarks
delete from bookmark where shelf_id = :shelf_id;

-- name: delete_events
delete from event where shelf_id = :shelf_id;

-- name: delete_channels
delete from channel where shelf_id = :shelf_id;

-- name: delete_members
delete from shelf_member where shelf_id = :shelf_id;

-- name: put_to_sleep
-- R80: the enforcer has to look again.
update shelf
set status = 'inactive', synced = false, sync_error = '', sync_attempts = 0, sync_at = null, updated_at = :now
where id = :id
returning {columns};
