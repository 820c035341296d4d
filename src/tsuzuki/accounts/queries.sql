-- Tenants ----------------------------------------------------------------------------------------------------

-- fragment: tenant_columns
id, public_id, name, churned_at, created_at, updated_at

-- name: add_tenant
insert into tenant (public_id, name, anchor_at, created_at, updated_at)
values (:public_id, :name, :now, :now, :now)
returning {tenant_columns};

-- name: first_tenant
select {tenant_columns} from tenant order by id limit 1;

-- name: find_tenant
select {tenant_columns} from tenant where public_id = :public_id;

-- name: get_tenant
select {tenant_columns} from tenant where id = :id;

-- name: list_tenants
select {tenant_columns} from tenant where {is_searched} order by id limit :most offset :skip;

-- name: count_tenants
select count(*) as total from tenant where {is_searched};

-- fragment: is_searched
(cast(:pattern as text) is null or lower(name) like cast(:pattern as text) escape '\')

-- name: rename_tenant
update tenant set name = :name, updated_at = :now where id = :id
returning {tenant_columns};

-- name: count_tenant_contents
select
  (select count(*) from user_account where user_account.tenant_id = tenant.id) as users,
  (select count(*) from shelf where shelf.tenant_id = tenant.id) as shelves,
  (select count(*) from subscription join shelf on shelf.id = subscription.shelf_id
   where shelf.tenant_id = tenant.id) as subscriptions,
  (select count(*) from follow join shelf on shelf.id = follow.shelf_id
   where shelf.tenant_id = tenant.id) as follows,
  (select count(*) from bookmark join shelf on shelf.id = bookmark.shelf_id
   where shelf.tenant_id = tenant.id) as bookmarks,
  (select count(*) from activity where activity.tenant_id = tenant.id) as activities,
  (select count(*) from invoice_item where invoice_item.tenant_id = tenant.id)
  + (select count(*) from invoice where invoice.tenant_id = tenant.id)
  + (select count(*) from credit where credit.tenant_id = tenant.id) as charges
from tenant
where tenant.id = :id;

-- name: delete_subscriptions_of_tenant
-- Before the tenant: a subscription needs its group, whichever of the two the cascade meets first; so does a follow.
delete from subscription where shelf_id in (select id from shelf where tenant_id = :tenant_id);

-- name: delete_follows_of_tenant
delete from follow where shelf_id in (select id from shelf where tenant_id = :tenant_id);

-- name: delete_activities_of_tenant
-- Before its shelves: what was never charged for need not be remembered.
delete from activity where tenant_id = :tenant_id;

-- name: delete_tenant
delete from tenant where id = :id;

-- name: tenant_plans
-- The plans of the tenant's shelves that are awake, if billing is on.
select shelf.plan from shelf
join billing_switch on billing_switch.id = 1 and billing_switch.is_on
where shelf.tenant_id = :tenant_id and shelf.status = 'active';

-- name: count_members
-- Whoever is invited has a place kept.
select
  (select count(*) from user_account where user_account.tenant_id = :tenant_id)
  + (select count(*) from invite
     where invite.tenant_id = :tenant_id and invite.invited_by is not null and invite.expires_at > :invited_until) as used;

-- People ----------------------------------------------------------------------------------------------------

-- fragment: user_columns
id, public_id, tenant_id, default_shelf_id, username, role, email, disabled_at, created_at, updated_at, is_offered_shelf

-- name: add_user
insert into user_account (
  public_id, tenant_id, default_shelf_id, username, role, password_hash, email, oidc_issuer, oidc_subject,
  created_at, updated_at
)
values (
  :public_id, :tenant_id, :default_shelf_id, :username, :role, :password_hash, :email, :oidc_issuer, :oidc_subject,
  :now, :now
)
returning {user_columns};

-- name: has_users
select exists (select 1 from user_account) as found;

-- name: find_user
select {user_columns} from user_account where public_id = :public_id;

-- name: get_user
select {user_columns} from user_account where id = :id;

-- name: find_user_by_name
select {user_columns} from user_account where username = :username;

-- name: find_user_by_identity
select {user_columns} from user_account where oidc_issuer = :issuer and oidc_subject = :subject;

-- name: find_credential
select id as user_id, password_hash, disabled_at from user_account where username = :username;

-- name: get_credential
select id as user_id, password_hash, disabled_at from user_account where id = :user_id;

-- name: get_ways
select password_hash is not null as has_password, oidc_subject is not null as is_linked
from user_account where id = :user_id;

-- name: list_users
select
  user_account.public_id, tenant.public_id as tenant_public_id, tenant.name as tenant_name, user_account.username,
  user_account.role, user_account.email, user_account.password_hash is not null as has_password,
  user_account.oidc_subject is not null as is_linked, user_account.disabled_at, user_account.created_at,
  (select max(session.last_used_at) from session where session.user_id = user_account.id) as last_used_at
from user_account
join tenant on tenant.id = user_account.tenant_id
order by user_account.id
limit :most offset :skip;

-- name: count_users
select count(*) as total from user_account;

-- name: count_other_admins
select count(*) as total from user_account where role = 'admin' and disabled_at is null and id <> :id;

-- name: change_user
update user_account
set role = :role, email = :email, default_shelf_id = :default_shelf_id, updated_at = :now
where id = :id
returning {user_columns};

-- name: set_disabled
update user_account set disabled_at = :disabled_at, updated_at = :now where id = :id
returning {user_columns};

-- name: lock_user
-- Keys are made and revoked one after the other: a child made at that moment would survive its parent.
update user_account set updated_at = updated_at where id = :id
returning {user_columns};

-- name: set_password_hash
update user_account set password_hash = :password_hash, updated_at = :now where id = :id;

-- name: set_identity
update user_account set oidc_issuer = :issuer, oidc_subject = :subject, updated_at = :now where id = :id;

-- name: count_user_contents
-- A shelf goes with its last owner.
with sole as (
  select mine.shelf_id from shelf_member as mine
  where mine.user_id = :id and mine.role = 'owner' and not exists (
    select 1 from shelf_member as other
    where other.shelf_id = mine.shelf_id and other.role = 'owner' and other.user_id <> mine.user_id
  )
)
select
  (select count(*) from session where session.user_id = user_account.id) as sessions,
  (select count(*) from api_token where api_token.user_id = user_account.id and api_token.revoked_at is null) as tokens,
  (select count(*) from invite where invite.invited_by = user_account.id) as invites,
  (select count(*) from sole) as shelves,
  (select count(*) from subscription where subscription.shelf_id in (select shelf_id from sole)) as subscriptions,
  (select count(*) from follow where follow.shelf_id in (select shelf_id from sole)) as follows,
  (select count(*) from bookmark where bookmark.shelf_id in (select shelf_id from sole)) as bookmarks
from user_account
where user_account.id = :id;

-- name: delete_user
delete from user_account where id = :id;

-- Invitations -----------------------------------------------------------------------------------------------

-- name: add_invite
insert into invite (public_id, tenant_id, role, code_hash, invited_by, created_at, expires_at)
values (:public_id, :tenant_id, :role, :code_hash, :invited_by, :now, :expires_at);

-- name: list_invites
-- The code of the first visit is nobody's invitation.
select
  invite.public_id, invite.tenant_id, tenant.public_id as tenant_public_id, invite.role,
  user_account.username as invited_by, invite.created_at, invite.expires_at
from invite
join tenant on tenant.id = invite.tenant_id
join user_account on user_account.id = invite.invited_by
where invite.expires_at > :now
order by invite.id;

-- fragment: open_invite
-- It is worth what its inviter is.
code_hash = :code_hash and expires_at > :now and (invited_by is null) = cast(:is_setup as boolean)
  and (
    invited_by is null
    or exists (
      select 1 from user_account
      where user_account.id = invite.invited_by and user_account.role = 'admin' and user_account.disabled_at is null
    )
  )

-- name: take_invite
-- Whoever deletes the row has the invitation: it cannot be used twice.
delete from invite
where {open_invite}
returning tenant_id, role;

-- name: has_invite
select exists (select 1 from invite where {open_invite}) as is_open;

-- name: revoke_invite
delete from invite where public_id = :public_id and invited_by is not null;

-- name: delete_setup_codes
delete from invite where invited_by is null;

-- name: delete_old_invites
delete from invite where expires_at <= :now;

-- Sessions --------------------------------------------------------------------------------------------------

-- fragment: holder_columns
user_account.id as user_id, user_account.public_id as user_public_id, user_account.tenant_id,
user_account.default_shelf_id, user_account.username, user_account.role, user_account.is_offered_shelf

-- name: add_session
insert into session (public_id, user_id, key_hash, user_agent, address, created_at, last_used_at, expires_at)
values (:public_id, :user_id, :key_hash, :user_agent, :address, :now, :now, :expires_at);

-- name: find_session
-- inline: by two unique keys, at every request with a cookie
-- SEC-34: nobody disabled has a session, whatever rows are left.
select session.id as key_id, session.public_id as key_public_id, session.last_used_at, '' as scopes, {holder_columns}
from session
join user_account on user_account.id = session.user_id
where session.key_hash = :key_hash and session.expires_at > :now and user_account.disabled_at is null;

-- name: has_session
select count(*) as total from session where id = :id and public_id = :public_id;

-- name: touch_session
update session set last_used_at = :now, expires_at = :expires_at, address = :address where id = :id;

-- name: list_sessions
select id, public_id, user_agent, address, created_at, last_used_at, expires_at
from session
where user_id = :user_id and expires_at > :now
order by last_used_at desc, id desc;

-- name: end_session
-- I8: only one's own.
delete from session where public_id = :public_id and user_id = :user_id;

-- name: end_session_by_key
delete from session where key_hash = :key_hash;

-- name: end_sessions
delete from session where user_id = :user_id and id <> :but_id;

-- name: delete_old_sessions
delete from session where expires_at <= :now;

-- Tokens ----------------------------------------------------------------------------------------------------

-- fragment: token_columns
id, public_id, name, kind, scopes, kinds, client, created_at, last_used_at, expires_at, revoked_at,
(select shelf.name from shelf where shelf.id = api_token.shelf_id) as shelf_name

-- name: add_token
insert into api_token (
  public_id, user_id, name, kind, key_hash, scopes, kinds, shelf_id, created_at, expires_at, parent_id, made_in
)
values (
  :public_id, :user_id, :name, :kind, :key_hash, :scopes, :kinds, :shelf_id, :now, :expires_at, :parent_id, :made_in
)
returning {token_columns};

-- name: find_token
-- inline: by two unique keys, at every request with a token
select
  api_token.id as key_id, api_token.public_id as key_public_id, api_token.last_used_at, api_token.scopes,
  {holder_columns}
from api_token
join user_account on user_account.id = api_token.user_id
where api_token.key_hash = :key_hash and api_token.kind = :kind and api_token.revoked_at is null
  and (api_token.expires_at is null or api_token.expires_at > :now) and user_account.disabled_at is null;

-- name: touch_token
update api_token set last_used_at = :now where id = :id;

-- name: add_device_key
-- What an app sends instead of the password. A repeat changes nothing.
insert into device_key (key_hash, token_id, protocol) values (:key_hash, :token_id, :protocol)
on conflict (key_hash, protocol) do nothing;

-- fragment: device_columns
api_token.id as key_id, api_token.public_id as key_public_id, api_token.last_used_at, api_token.scopes, {holder_columns},
api_token.kinds, api_token.client, shelf.public_id as shelf_public_id

-- name: find_device
-- inline: by unique keys, at every request of an app
-- R107: by the password itself, or by what this protocol sends instead.
select {device_columns}
from api_token
join user_account on user_account.id = api_token.user_id
left join shelf on shelf.id = api_token.shelf_id
where api_token.id = coalesce(
    (select known.id from api_token as known where known.key_hash = :key_hash),
    (
      select device_key.token_id from device_key
      where device_key.key_hash = :key_hash and device_key.protocol = :protocol
    )
  )
  and api_token.kind = 'device' and api_token.revoked_at is null
  and (api_token.expires_at is null or api_token.expires_at > :now) and user_account.disabled_at is null
limit 1;

-- name: touch_device
update api_token set last_used_at = :now, client = :client where id = :id;

-- name: find_device_by_id
-- inline: by a unique key, for every picture that an app shows
-- A picture's address names the password that it was given out with, and ends with it.
select {device_columns}
from api_token
join user_account on user_account.id = api_token.user_id
left join shelf on shelf.id = api_token.shelf_id
where api_token.public_id = :public_id and api_token.kind = 'device' and api_token.revoked_at is null
  and (api_token.expires_at is null or api_token.expires_at > :now) and user_account.disabled_at is null;

-- name: get_token
select {token_columns} from api_token where id = :id;

-- name: list_tokens
select {token_columns} from api_token where user_id = :user_id order by id desc;

-- name: revoke_token
-- I8: only one's own, and all that came out of it; a second time changes nothing.
with recursive family (id) as (
  select api_token.id from api_token where api_token.public_id = :public_id and api_token.user_id = :user_id
  union
  select api_token.id from api_token join family on api_token.parent_id = family.id
)
update api_token set revoked_at = :now where revoked_at is null and id in (select family.id from family)
returning {token_columns};

-- name: revoke_tokens
-- All of a person's but the one with this id, and those that this session made itself.
update api_token set revoked_at = :now
where user_id = :user_id and revoked_at is null and id <> :but_id
  and (made_in is null or made_in <> :but_made_in)
returning {token_columns};
