-- R91: every person has a shelf of their own; another one can be shared with named people of the same tenant.

create table shelf_member (  -- I8: whoever has no row here sees nothing of the shelf
  id integer primary key,
  shelf_id integer not null references shelf (id) on delete cascade,
  user_id integer not null references user_account (id) on delete cascade,
  role text not null check (role in ('owner', 'editor', 'reader')),
  created_at integer not null,
  unique (shelf_id, user_id)
) strict;
create index shelf_member_user on shelf_member (user_id, shelf_id);

-- Whether a person is asked if they want a shelf of their own: they shared one before there was a choice.
alter table user_account add column is_offered_shelf integer not null default 0 check (is_offered_shelf in (0, 1));

-- Who made a channel: it goes when they lose the shelf. Null for channels from before, which are the shelf's.
alter table channel add column member_id integer references shelf_member (id) on delete cascade;
create index channel_member on channel (member_id) where member_id is not null;

-- Everybody keeps the shelf that they read from: the one they chose, else their tenant's first. All as owners, so that nobody
-- may do less than before.
insert into shelf_member (shelf_id, user_id, role, created_at)
select home.shelf_id, home.user_id, 'owner', home.created_at
from (
  select user_account.id as user_id, user_account.created_at,
    coalesce(
      user_account.default_shelf_id,
      (select min(shelf.id) from shelf where shelf.tenant_id = user_account.tenant_id)
    ) as shelf_id
  from user_account
) as home
where home.shelf_id is not null
order by home.user_id;

-- Nobody's home: such a shelf was open to everybody of its tenant and stays so (I9).
insert into shelf_member (shelf_id, user_id, role, created_at)
select shelf.id, user_account.id, 'owner', user_account.created_at
from shelf
join user_account on user_account.tenant_id = shelf.tenant_id
where not exists (select 1 from shelf_member where shelf_member.shelf_id = shelf.id)
order by shelf.id, user_account.id;

-- Who has no shelf to themselves is offered one.
update user_account set is_offered_shelf = 1
where exists (select 1 from shelf_member where shelf_member.user_id = user_account.id)
  and not exists (
    select 1 from shelf_member as mine
    where mine.user_id = user_account.id and not exists (
      select 1 from shelf_member as other where other.shelf_id = mine.shelf_id and other.user_id <> mine.user_id
    )
  );

-- A channel of a shelf that one person has is that person's.
update channel set member_id = (select min(shelf_member.id) from shelf_member where shelf_member.shelf_id = channel.shelf_id)
where (select count(*) from shelf_member where shelf_member.shelf_id = channel.shelf_id) = 1;
