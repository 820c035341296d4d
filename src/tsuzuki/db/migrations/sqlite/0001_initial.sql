-- Times are integer milliseconds since 1970 (UTC). Booleans are 0 or 1. JSON is text that json_valid accepts.
-- public_id is a UUIDv7 in 16 bytes. Every foreign key says what its deletion takes along.

-- Who pays, who signs in ------------------------------------------------------------------------------------

create table tenant (
  id integer primary key,
  public_id blob not null unique check (length(public_id) = 16),
  name text not null,
  anchor_at integer not null,  -- R83: periods are calendar months from here
  renewed_at integer,
  churned_at integer,
  created_at integer not null,
  updated_at integer not null
) strict;

create table shelf (
  id integer primary key,
  public_id blob not null unique check (length(public_id) = 16),
  tenant_id integer not null references tenant (id) on delete cascade,
  name text not null,
  plan text not null,
  status text not null default 'active' check (status in ('active', 'inactive', 'delinquent')),  -- R81
  synced integer not null default 0 check (synced in (0, 1)),
  sync_error text not null default '',
  sync_attempts integer not null default 0,
  sync_at integer,  -- not tried again before
  retention integer check (retention > 0),  -- the plan's, applied by the reactor
  proxy_images integer not null default 0 check (proxy_images in (0, 1)),  -- articles' images come through us
  created_at integer not null,
  updated_at integer not null,
  unique (tenant_id, name)
) strict;
create index shelf_pending on shelf (id) where not synced or sync_error <> '';

create table user_account (
  id integer primary key,
  public_id blob not null unique check (length(public_id) = 16),
  tenant_id integer not null references tenant (id) on delete cascade,
  default_shelf_id integer references shelf (id) on delete set null,
  username text not null unique check (username = lower(username)),
  role text not null check (role in ('admin', 'reader')),
  password_hash text,
  email text,
  oidc_issuer text,
  oidc_subject text,
  preferences text not null default '{}' check (json_valid(preferences)),
  disabled_at integer,
  created_at integer not null,
  updated_at integer not null,
  unique (oidc_issuer, oidc_subject)
) strict;
create index user_account_tenant on user_account (tenant_id);

create table session (
  id integer primary key,
  public_id blob not null unique check (length(public_id) = 16),
  user_id integer not null references user_account (id) on delete cascade,
  key_hash blob not null unique check (length(key_hash) = 32),  -- R73: the cookie's value itself is nowhere
  user_agent text not null default '',
  address text not null default '',
  created_at integer not null,
  last_used_at integer not null,
  expires_at integer not null
) strict;
create index session_of_user on session (user_id);
create index session_expiry on session (expires_at);

create table api_token (
  id integer primary key,
  public_id blob not null unique check (length(public_id) = 16),
  user_id integer not null references user_account (id) on delete cascade,
  name text not null,
  kind text not null default 'token' check (kind in ('token', 'device')),
  key_hash blob not null unique check (length(key_hash) = 32),  -- R77
  scopes text not null,
  created_at integer not null,
  last_used_at integer,
  expires_at integer,
  revoked_at integer
) strict;
create index api_token_user on api_token (user_id);

create table invite (
  id integer primary key,
  public_id blob not null unique check (length(public_id) = 16),
  tenant_id integer not null references tenant (id) on delete cascade,
  role text not null check (role in ('admin', 'reader')),
  code_hash blob not null unique check (length(code_hash) = 32),
  invited_by integer references user_account (id) on delete cascade,  -- null for the code of the first visit
  created_at integer not null,
  expires_at integer not null
) strict;
create index invite_tenant on invite (tenant_id);
create index invite_inviter on invite (invited_by);
create index invite_expiry on invite (expires_at);

create table sign_in_guard (
  key text primary key,  -- an address or a name, hashed: people type passwords into the name's field
  recent text not null default '[]' check (json_valid(recent)),  -- when the failures of the window were
  blocked_until integer,
  forget_at integer not null
) strict, without rowid;
create index sign_in_guard_age on sign_in_guard (forget_at);

create table oidc_flow (
  key_hash blob primary key check (length(key_hash) = 32),  -- of a cookie: the flow belongs to one browser
  state text not null,
  nonce text not null,
  verifier text not null,
  next text not null,
  user_id integer references user_account (id) on delete cascade,  -- whose account is being linked
  expires_at integer not null
) strict, without rowid;
create index oidc_flow_user on oidc_flow (user_id);
create index oidc_flow_expiry on oidc_flow (expires_at);

create table server_secret (
  name text primary key,  -- what it signs
  value blob not null check (length(value) >= 32),
  created_at integer not null
) strict, without rowid;

create table audit (
  id integer primary key,
  at integer not null,
  actor_id text,  -- the public id, without a foreign key: the log outlives who acted; null for the system
  actor text not null,  -- the name as it was then, or 'system'
  action text not null,
  entity_type text not null,
  entity_id text not null,
  before text check (json_valid(before)),
  after text check (json_valid(after)),
  reason text,
  address text
) strict;
create index audit_at on audit (at, id);
create index audit_entity on audit (entity_type, entity_id, id);
create trigger audit_unchanged before update on audit begin
  select raise(abort, 'the audit log is append-only');
end;
create trigger audit_undeleted before delete on audit begin
  select raise(abort, 'the audit log is append-only');
end;

-- What can be called ----------------------------------------------------------------------------------------

create table source (
  id integer primary key autoincrement,  -- from 100000 (R9): sqlite_sequence is set below
  uid integer not null,
  name text not null unique,
  slug text not null unique,
  lang text not null default 'all',
  base_url text not null,
  connector text,  -- the connector's reverse-domain id; null while none is chosen
  config text not null default '{}' check (json_valid(config)),
  is_enabled integer not null default 1 check (is_enabled in (0, 1)),
  is_nsfw integer not null default 0 check (is_nsfw in (0, 1)),
  supports_latest integer not null default 0 check (supports_latest in (0, 1)),
  consecutive_fails integer not null default 0 check (consecutive_fails >= 0),
  disabled_by_job integer,  -- R46: the failed job that disabled it
  last_succeeded_at integer,
  last_failed_at integer,
  created_at integer not null,
  updated_at integer not null
) strict;
create index source_uid on source (uid);
insert into sqlite_sequence (name, seq) values ('source', 99999);

create table crawler_pause (
  id integer primary key check (id = 1),  -- there is a row while the operator lets no source be called
  at integer not null,
  reason text not null
) strict;

create table crawler_generation (  -- counts writes that outdate kept answers, for processes that no bell joins
  id integer primary key check (id = 1),
  generation integer not null
) strict;

create table source_meta (
  source_id integer not null references source (id) on delete cascade,
  key text not null,
  value text not null,
  primary key (source_id, key)
) strict, without rowid;

create table series (
  id integer primary key,
  public_id blob not null unique check (length(public_id) = 16),
  title text not null,
  match_key text not null,  -- normalised title and author: what a discovered series is matched by
  author text,
  artist text,
  description text,
  cover_url text,
  language text,
  status integer not null default 0 check (status between 0 and 6),  -- R10
  is_nsfw integer not null default 0 check (is_nsfw in (0, 1)),
  latest_number text,
  latest_sort integer,  -- R6: never goes down
  last_chapter_at integer,
  created_at integer not null,
  updated_at integer not null
) strict;
create index series_match on series (match_key);

create table former_series (  -- one that was merged into another: its id still leads there, and a split gives it back
  public_id blob primary key check (length(public_id) = 16),
  series_id integer not null references series (id) on delete cascade,
  details text not null check (json_valid(details)),
  sources text not null check (json_valid(sources)),  -- the series sources that it had
  merged_at integer not null
) strict, without rowid;
create index former_series_series on former_series (series_id);

create table series_source (
  id integer primary key autoincrement,
  series_id integer not null references series (id) on delete cascade,
  source_id integer not null references source (id) on delete cascade,
  source_key text not null,  -- the source's own id or slug
  url text not null,
  real_url text,
  is_active integer not null default 1 check (is_active in (0, 1)),
  title text not null default '',
  author text,
  artist text,
  description text,
  genres text not null default '[]' check (json_valid(genres)),
  status integer not null default 0 check (status between 0 and 6),
  cover_url text,
  cover_fetched_at integer,
  is_initialized integer not null default 0 check (is_initialized in (0, 1)),
  update_strategy text not null default 'ALWAYS_UPDATE' check (update_strategy in ('ALWAYS_UPDATE', 'ONLY_FETCH_ONCE')),
  listed_at integer,
  details_fetched_at integer,  -- R61: apart from the list's freshness
  chapters_fetched_at integer,
  created_at integer not null,
  updated_at integer not null,
  unique (source_id, source_key)
) strict;
create index series_source_series on series_source (series_id);
create index series_source_url on series_source (source_id, url);
insert into sqlite_sequence (name, seq) values ('series_source', 199999);

create table feed (
  id integer primary key,
  link text not null,
  proxy text not null default '',  -- another proxy is another feed: its answers may differ (SEC-10)
  title text not null default '',
  site_url text,
  description text,
  language text,
  icon_url text,
  hub_url text,
  has_unstable_keys integer not null default 0 check (has_unstable_keys in (0, 1)),
  created_at integer not null,
  updated_at integer not null,
  unique (link, proxy)
) strict;

create table watch (
  id integer primary key,
  feed_id integer unique references feed (id) on delete cascade,
  series_source_id integer unique references series_source (id) on delete cascade,
  host text not null,
  priority integer not null default 2 check (priority in (1, 2, 3)),  -- HOT, WARM, COLD
  next_check_at integer not null,  -- I5: this alone decides when it is due
  next_check_why text not null default '',
  refresh_at integer,  -- a person wants it now; suspended or not
  poll_floor integer,  -- the fastest plan among its followers, in milliseconds
  suspended_at integer,
  suspended_reason text,
  lease_token integer not null default 0,  -- I4: a writer without the newest token writes nothing
  lease_until integer,
  etag text,
  last_modified text,
  cache_control text,
  expires_at integer,
  retry_after_until integer,
  body_hash blob,
  last_checked_at integer,
  last_full_at integer,  -- R26: the last unconditional GET
  last_http_status integer,
  last_success_at integer,
  last_error_at integer,
  last_error text,
  last_error_code text,
  consecutive_failures integer not null default 0 check (consecutive_failures >= 0),
  first_harvest_at integer,  -- R8: null until the back-catalogue is in
  last_release_at integer,
  moved_to text,
  moved_count integer not null default 0,
  moved_since integer,
  gone_since integer,
  created_at integer not null,
  check ((feed_id is null) <> (series_source_id is null))
) strict;
create index watch_due on watch (priority, next_check_at) where suspended_at is null;
create index watch_refresh on watch (refresh_at) where refresh_at is not null;

-- What was found --------------------------------------------------------------------------------------------

create table chapter (
  id integer primary key,
  series_id integer not null references series (id) on delete cascade,
  key text not null,  -- R3: its number, or its release's key when it has none
  number text,  -- R2: exact decimal, canonical
  number_sort integer,  -- the same in millionths
  volume text,
  title text not null default '',
  published_at integer,
  first_seen_at integer not null,
  updated_at integer not null,
  revision integer not null default 0,  -- R1: 0 in an upsert's RETURNING means that it inserted
  unique (series_id, key)  -- I1, I2
) strict;
create index chapter_order on chapter (series_id, number_sort);

create table release (
  id integer primary key autoincrement,  -- clients hold it: never given again
  chapter_id integer not null references chapter (id) on delete cascade,
  series_source_id integer not null references series_source (id) on delete cascade,
  key text not null,  -- R3: stable while its address changes
  source_key text,
  url text not null,  -- R5: an attribute
  real_url text,
  title text not null default '',
  language text,
  group_name text,
  published_at integer,
  source_order integer not null default 0,  -- R11: oldest is 0
  page_count integer not null default -1,
  pages_fetched_at integer,
  is_available integer not null default 1 check (is_available in (0, 1)),
  is_readable integer not null default 1 check (is_readable in (0, 1)),
  content_hash blob not null,
  first_seen_at integer not null,
  last_seen_at integer not null,
  revision integer not null default 0,  -- R1: 0 in an upsert's RETURNING means that it inserted
  unique (series_source_id, key)  -- I1
) strict;
create index release_chapter on release (chapter_id);
create index release_order on release (series_source_id, source_order);

create table appearance (
  series_source_id integer not null references series_source (id) on delete cascade,
  chapter_id integer not null references chapter (id) on delete cascade,
  at integer not null,
  primary key (series_source_id, chapter_id)  -- R4: "chapter N appeared on source S" happens once
) strict, without rowid;
create index appearance_chapter on appearance (chapter_id);

create table page (
  release_id integer not null references release (id) on delete cascade,
  position integer not null check (position >= 0),
  url text not null,
  image_url text,
  primary key (release_id, position)  -- R63
) strict, without rowid;

create table image (
  id integer primary key,
  hash blob not null unique check (length(hash) = 32),  -- sha256: also its name on disk
  media_type text not null check (media_type in ('image/jpeg', 'image/png', 'image/webp', 'image/gif', 'image/avif')),
  width integer not null check (width > 0),
  height integer not null check (height > 0),
  bytes integer not null check (bytes > 0),
  created_at integer not null,
  used_at integer not null  -- to the hour or so: every look would be a write
) strict;
create index image_used on image (used_at, id);

create table image_of (
  id integer primary key,
  subject text not null,  -- page:RELEASE:POSITION, cover:SERIES_SOURCE or address:SHA256
  thumbnail integer not null default 0 check (thumbnail >= 0),  -- its width; 0 is the image as it came
  release_id integer references release (id) on delete cascade,
  series_source_id integer references series_source (id) on delete cascade,
  image_id integer references image (id) on delete cascade,  -- null while it cannot be had
  address text,  -- where it came from, where that does not expire (R66)
  error text,
  failures integer not null default 0 check (failures >= 0),
  tried_at integer not null,
  retry_at integer,
  unique (subject, thumbnail),
  check ((image_id is null) = (error is not null))
) strict;
create index image_of_release on image_of (release_id) where release_id is not null;
create index image_of_series_source on image_of (series_source_id) where series_source_id is not null;
create index image_of_image on image_of (image_id) where image_id is not null;
create index image_of_broken on image_of (tried_at) where image_id is null;

create table item (
  id integer primary key,
  feed_id integer not null references feed (id) on delete cascade,
  key text not null,  -- R31
  title text not null,
  link text,
  link_key text,  -- REL-27: the same page under another key is the same item
  author text,
  content text not null default '',
  summary text,
  published_at integer,
  published_raw text,
  sort_at integer not null,  -- R30: min(published, first seen)
  categories text not null default '[]' check (json_valid(categories)),
  enclosures text not null default '[]' check (json_valid(enclosures)),
  page_urls text not null default '[]' check (json_valid(page_urls)),
  image_url text,
  comments_url text,
  content_hash blob not null,
  created_at integer not null,
  updated_at integer,
  revision integer not null default 0,  -- R1: 0 in an upsert's RETURNING means that it inserted
  unique (feed_id, key)  -- I1
) strict;
create index item_order on item (feed_id, sort_at, id);
create index item_link on item (feed_id, link_key) where link_key is not null;

create table item_full_text (
  item_id integer primary key references item (id) on delete cascade,
  content text not null default '',  -- sanitised
  error text,  -- why there is none
  fetched_at integer not null
) strict;

create table item_tombstone (
  feed_id integer not null references feed (id) on delete cascade,
  key text not null,
  at integer not null,
  primary key (feed_id, key)  -- REL-39d: what was pruned does not come back as new
) strict, without rowid;

create table listing (
  source_id integer not null references source (id) on delete cascade,
  kind text not null check (kind in ('popular', 'latest', 'search')),
  page integer not null check (page >= 1),
  query text not null default '',
  filters text not null default '',
  series_source_ids text not null check (json_valid(series_source_ids)),  -- R60: the order as the source gave it
  has_next integer not null check (has_next in (0, 1)),
  fetched_at integer not null,
  primary key (source_id, kind, page, query, filters)
) strict, without rowid;

-- Tokens are made by us (model/tokens.py); the ascii tokenizer leaves them as they are.
create virtual table item_search using fts5 (title, body, content = '', contentless_delete = 1, tokenize = 'ascii');
create virtual table series_search using fts5 (title, body, content = '', contentless_delete = 1, tokenize = 'ascii');
-- Only chapters that have a title; by their numbers they are found without an index of words.
create virtual table chapter_search using fts5 (title, body, content = '', contentless_delete = 1, tokenize = 'ascii');
create trigger item_search_gone after delete on item begin
  delete from item_search where rowid = old.id;
end;
create trigger series_search_gone after delete on series begin
  delete from series_search where rowid = old.id;
end;
create trigger chapter_search_gone after delete on chapter when old.title <> '' begin
  delete from chapter_search where rowid = old.id;
end;

-- What a reader has -----------------------------------------------------------------------------------------

create table shelf_group (
  id integer primary key,
  public_id blob not null unique check (length(public_id) = 16),
  shelf_id integer not null references shelf (id) on delete cascade,
  name text not null,
  position integer not null default 0,
  is_default integer not null default 0 check (is_default in (0, 1)),
  created_at integer not null,
  updated_at integer not null,
  unique (shelf_id, name)
) strict;
create unique index shelf_group_default on shelf_group (shelf_id) where is_default;

create table subscription (
  id integer primary key,
  public_id blob not null unique check (length(public_id) = 16),
  shelf_id integer not null references shelf (id) on delete cascade,
  feed_id integer not null references feed (id) on delete restrict,
  group_id integer not null references shelf_group (id) on delete restrict,
  name text not null default '',
  site_url text,
  suspended_at integer,
  notify integer not null default 1 check (notify in (0, 1)),
  full_text integer not null default 0 check (full_text in (0, 1)),
  poll_interval integer check (poll_interval > 0),
  retention integer check (retention > 0),
  held_at integer,  -- by the plan: its shelf sleeps, or has no room for it
  created_at integer not null,
  updated_at integer not null,
  unique (shelf_id, feed_id)
) strict;
create index subscription_feed on subscription (feed_id);
create index subscription_wish on subscription (feed_id, poll_interval) where poll_interval is not null;
create index subscription_group on subscription (group_id);

create table former_subscription (  -- what an undo restores, with former_entry; the feed stays meanwhile
  shelf_id integer not null references shelf (id) on delete cascade,
  feed_id integer not null references feed (id) on delete cascade,
  public_id blob not null unique check (length(public_id) = 16),
  group_id integer references shelf_group (id) on delete set null,
  name text not null,
  site_url text,
  suspended_at integer,
  notify integer not null check (notify in (0, 1)),
  full_text integer not null check (full_text in (0, 1)),
  poll_interval integer,
  retention integer,
  created_at integer not null,
  left_at integer not null,
  primary key (shelf_id, feed_id)
) strict, without rowid;
create index former_subscription_feed on former_subscription (feed_id);
create index former_subscription_group on former_subscription (group_id);
create index former_subscription_left on former_subscription (left_at);

create table former_entry (
  shelf_id integer not null,
  feed_id integer not null,
  item_id integer not null references item (id) on delete cascade,
  unread integer not null check (unread in (0, 1)),
  saved integer not null check (saved in (0, 1)),
  sort_at integer not null,
  read_at integer,
  created_at integer not null,
  bookmark_id integer,  -- no foreign key: who deletes it meanwhile no longer has it saved
  primary key (shelf_id, item_id),
  foreign key (shelf_id, feed_id) references former_subscription (shelf_id, feed_id)
    on update cascade on delete cascade
) strict, without rowid;
create index former_entry_feed on former_entry (shelf_id, feed_id);
create index former_entry_item on former_entry (item_id);

create table follow (
  id integer primary key,
  public_id blob not null unique check (length(public_id) = 16),
  shelf_id integer not null references shelf (id) on delete cascade,
  series_id integer not null references series (id) on delete restrict,  -- I9
  group_id integer not null references shelf_group (id) on delete restrict,
  status text not null default 'reading' check (status in ('reading', 'plan', 'done', 'dropped')),
  notify integer not null default 1 check (notify in (0, 1)),
  preferences text not null default '{}' check (json_valid(preferences)),
  held_at integer,  -- by the plan: its shelf sleeps, or has no room for it
  created_at integer not null,
  updated_at integer not null,
  unique (shelf_id, series_id)
) strict;
create index follow_series on follow (series_id);
create index follow_group on follow (group_id);

create table former_follow (  -- what following again restores; read and saved stand in progress
  shelf_id integer not null references shelf (id) on delete cascade,
  series_id integer not null references series (id) on delete cascade,
  group_id integer references shelf_group (id) on delete set null,
  status text not null check (status in ('reading', 'plan', 'done', 'dropped')),
  notify integer not null check (notify in (0, 1)),
  preferences text not null check (json_valid(preferences)),
  entries text not null check (json_valid(entries)),  -- the keys of the chapters that were in the inbox
  created_at integer not null,
  left_at integer not null,
  primary key (shelf_id, series_id)
) strict, without rowid;
create index former_follow_series on former_follow (series_id);
create index former_follow_group on former_follow (group_id);

create table entry (
  id integer primary key,
  shelf_id integer not null references shelf (id) on delete cascade,
  feed_id integer,  -- its item's, for the lists by feed: the item goes with its feed, and the entry with its item
  item_id integer references item (id) on delete cascade,
  series_id integer,  -- its chapter's, in the same way
  chapter_id integer references chapter (id) on delete restrict,  -- I9: a reader's state holds the chapter
  unread integer not null default 1 check (unread in (0, 1)),
  saved integer not null default 0 check (saved in (0, 1)),
  sort_at integer not null,
  read_at integer,
  created_at integer not null,
  check ((item_id is null) <> (chapter_id is null)),
  check ((item_id is null) = (feed_id is null)),
  check ((chapter_id is null) = (series_id is null))
) strict;
create unique index entry_item on entry (shelf_id, item_id) where item_id is not null;  -- I2
create unique index entry_chapter on entry (shelf_id, chapter_id) where chapter_id is not null;  -- I2
create index entry_unread on entry (shelf_id, sort_at, id) where unread;
create index entry_order on entry (shelf_id, sort_at, id);
create index entry_newest on entry (shelf_id, id);  -- up to where a mass mark goes
create index entry_saved on entry (shelf_id, sort_at, id) where saved;
create index entry_feed on entry (shelf_id, feed_id, sort_at, id) where feed_id is not null;
create index entry_series on entry (shelf_id, series_id, sort_at, id) where series_id is not null;
create index entry_of_item on entry (item_id) where item_id is not null;
create index entry_of_chapter on entry (chapter_id) where chapter_id is not null;

-- How many entries a shelf has of each feed (its items) and series (its chapters). REL-19h: only the triggers below write
-- here, in the transaction of the entries themselves, so it is never another truth.
create table tally (
  shelf_id integer not null,  -- no foreign key: the row goes with its last entry
  kind text not null check (kind in ('item', 'chapter')),
  of_id integer not null,
  entries integer not null,
  unread integer not null,
  primary key (shelf_id, kind, of_id)
) strict, without rowid;
create trigger entry_added after insert on entry begin
  insert into tally (shelf_id, kind, of_id, entries, unread)
  values (
    new.shelf_id, iif(new.feed_id is null, 'chapter', 'item'), coalesce(new.feed_id, new.series_id), 1, new.unread
  )
  on conflict (shelf_id, kind, of_id) do update set entries = entries + 1, unread = unread + excluded.unread;
end;
create trigger entry_moved after update of shelf_id, feed_id, series_id on entry  -- series are merged and split
when (old.shelf_id, old.feed_id, old.series_id) is not (new.shelf_id, new.feed_id, new.series_id) begin
  update tally set entries = entries - 1, unread = unread - new.unread
  where shelf_id = old.shelf_id and kind = iif(old.feed_id is null, 'chapter', 'item')
    and of_id = coalesce(old.feed_id, old.series_id);
  delete from tally
  where shelf_id = old.shelf_id and kind = iif(old.feed_id is null, 'chapter', 'item')
    and of_id = coalesce(old.feed_id, old.series_id) and entries = 0;
  insert into tally (shelf_id, kind, of_id, entries, unread)
  values (
    new.shelf_id, iif(new.feed_id is null, 'chapter', 'item'), coalesce(new.feed_id, new.series_id), 1, new.unread
  )
  on conflict (shelf_id, kind, of_id) do update set entries = entries + 1, unread = unread + excluded.unread;
end;
create trigger entry_marked after update of unread on entry when old.unread <> new.unread begin
  update tally set unread = unread + new.unread - old.unread
  where shelf_id = old.shelf_id and kind = iif(old.feed_id is null, 'chapter', 'item')
    and of_id = coalesce(old.feed_id, old.series_id);
end;
create trigger entry_gone after delete on entry begin
  update tally set entries = entries - 1, unread = unread - old.unread
  where shelf_id = old.shelf_id and kind = iif(old.feed_id is null, 'chapter', 'item')
    and of_id = coalesce(old.feed_id, old.series_id);
  delete from tally
  where shelf_id = old.shelf_id and kind = iif(old.feed_id is null, 'chapter', 'item')
    and of_id = coalesce(old.feed_id, old.series_id) and entries = 0;
end;

create table progress (
  shelf_id integer not null references shelf (id) on delete cascade,
  chapter_id integer not null references chapter (id) on delete restrict,  -- I9
  page integer not null default 0 check (page >= 0),
  furthest_page integer not null default 0 check (furthest_page >= 0),
  is_read integer not null default 0 check (is_read in (0, 1)),
  is_bookmarked integer not null default 0 check (is_bookmarked in (0, 1)),
  device text,  -- that wrote the page
  paged_at integer,  -- of the page: the newest wins; null where nobody opened it
  marked_at integer,  -- of is_read: the newest wins
  opened_at integer,  -- paged_at, while the history shows it
  updated_at integer not null,
  primary key (shelf_id, chapter_id)
) strict, without rowid;
create index progress_history on progress (shelf_id, opened_at, chapter_id) where opened_at is not null;
create index progress_chapter on progress (chapter_id);

create table chapter_copy (  -- the pages of a release, kept by us: outlives the source (I9)
  id integer primary key,
  chapter_id integer not null references chapter (id) on delete restrict,  -- I9
  release_id integer not null unique,  -- no foreign key: releases go with their source
  title text not null default '',
  language text,
  group_name text,
  status text not null default 'queued' check (status in ('queued', 'running', 'done', 'failed')),
  total integer check (total > 0),  -- null until its page list is known
  error text,
  created_at integer not null,
  updated_at integer not null
) strict;
create index chapter_copy_chapter on chapter_copy (chapter_id);

create table copy_page (
  copy_id integer not null references chapter_copy (id) on delete cascade,
  position integer not null check (position >= 0),
  image_id integer not null references image (id) on delete restrict,  -- what is kept is not evicted
  primary key (copy_id, position)
) strict, without rowid;
create index copy_page_image on copy_page (image_id);

create table kept_chapter (
  shelf_id integer not null references shelf (id) on delete cascade,
  copy_id integer not null references chapter_copy (id) on delete cascade,
  created_at integer not null,
  primary key (shelf_id, copy_id)
) strict, without rowid;
create index kept_chapter_order on kept_chapter (shelf_id, created_at, copy_id);
create index kept_chapter_copy on kept_chapter (copy_id);

create table bookmark (
  id integer primary key,
  public_id blob not null unique check (length(public_id) = 16),
  shelf_id integer not null references shelf (id) on delete cascade,
  item_id integer references item (id) on delete set null,  -- the snapshot outlives its item
  feed_id integer references feed (id) on delete set null,
  link text not null default '',
  title text not null,
  content text not null default '',
  feed_name text not null default '',
  note text not null default '',
  published_at integer,
  created_at integer not null
) strict;
create unique index bookmark_link on bookmark (shelf_id, link) where link <> '';  -- R71
create unique index bookmark_item on bookmark (shelf_id, item_id) where link = '' and item_id is not null;
create index bookmark_order on bookmark (shelf_id, created_at, id);
create index bookmark_of_item on bookmark (item_id) where item_id is not null;
create index bookmark_of_feed on bookmark (feed_id) where feed_id is not null;

create table event (
  id integer primary key autoincrement,  -- never used twice
  txid integer not null default 0,  -- there is one writer: ids are committed in their order
  shelf_id integer not null references shelf (id) on delete cascade,
  kind text not null check (kind in ('entry', 'counts', 'feed')),
  payload text not null,
  created_at integer not null
) strict;
create index event_shelf on event (shelf_id, txid, id);  -- what Last-Event-ID names
create index event_order on event (txid, id);
create index event_age on event (created_at);

create table channel (
  id integer primary key,
  public_id blob not null unique check (length(public_id) = 16),
  shelf_id integer not null references shelf (id) on delete cascade,
  kind text not null,  -- webhook, ntfy
  name text not null,
  config text not null check (json_valid(config)),  -- R47: its secrets are shown as ***
  is_enabled integer not null default 1 check (is_enabled in (0, 1)),
  consecutive_failures integer not null default 0 check (consecutive_failures >= 0),
  rests_until integer,  -- its breaker is open until then
  last_sent_at integer,
  last_failed_at integer,
  last_error text,
  created_at integer not null,
  updated_at integer not null,
  unique (shelf_id, name)
) strict;

-- How much came at once, over all the batches of a poll: a flood is told once (REL-29).
create table surge (
  kind text not null check (kind in ('item', 'chapter', 'catalogue')),
  of_id integer not null,  -- the feed or the series; no foreign key: rows are forgotten within a day
  since integer not null,
  count integer not null check (count > 0),
  floods integer not null default 0,  -- deliveries since it counts as a flood: the first of them tells
  primary key (kind, of_id)
) strict, without rowid;
create index surge_age on surge (since);

create table outage (
  id integer primary key,
  watch_id integer not null references watch (id) on delete cascade,
  source_id integer references source (id) on delete cascade,  -- of a series; a feed is its own source
  reason text not null,
  since integer not null,
  healed_at integer
) strict;
create unique index outage_open on outage (watch_id) where healed_at is null;  -- one alert for each outage
create index outage_open_source on outage (source_id) where healed_at is null and source_id is not null;
create index outage_watch on outage (watch_id, since);
create index outage_source on outage (source_id) where source_id is not null;

-- Work to be done -------------------------------------------------------------------------------------------

create table task (
  id integer primary key autoincrement,
  queue text not null,
  key text not null,
  payload text not null,
  priority integer not null default 2 check (priority in (1, 2, 3)),
  run_at integer not null,
  status text not null default 'queued' check (status in ('queued', 'running', 'done', 'failed', 'cancelled', 'skipped')),
  attempts integer not null default 0 check (attempts >= 0),  -- that failed
  losses integer not null default 0 check (losses >= 0),  -- R42: that died with their worker
  lease_token integer not null default 0,  -- I4
  lease_until integer,
  worker text,
  error text,
  first_failed_at integer,
  created_at integer not null,
  finished_at integer,
  check ((status = 'running') = (lease_until is not null))
) strict;
create unique index task_active on task (queue, key) where status in ('queued', 'running');
create index task_due on task (queue, priority, run_at, id) where status = 'queued';
create index task_suspect on task (queue, priority, run_at, id) where status = 'queued' and losses > 0;
create index task_leased on task (queue) where status = 'running';
create index task_finished on task (queue, status, finished_at, id) where finished_at is not null;

create table dead_letter (
  id integer primary key autoincrement,
  task_id integer not null,  -- no foreign key: tasks are forgotten sooner (R58)
  queue text not null,
  key text not null,
  payload text not null,
  priority integer not null,
  error text not null,
  error_code text not null,
  stack text not null default '',
  attempts integer not null,
  first_failed_at integer not null,
  last_failed_at integer not null,
  replayed_at integer,
  replayed_as integer,  -- the task
  discarded_at integer
) strict;
create index dead_letter_open on dead_letter (queue, id) where replayed_at is null and discarded_at is null;
-- What is given up again and again is one letter until somebody deals with it.
create unique index dead_letter_key on dead_letter (queue, key) where replayed_at is null and discarded_at is null;

create table crawl_job (
  id integer primary key autoincrement,  -- never given again: the log outlives its job
  public_id blob not null unique check (length(public_id) = 16),
  kind text not null check (kind in ('discovery', 'targeted')),  -- R44
  source_id integer not null,  -- R51: no foreign key; a job stays readable after its source is gone
  source_name text not null,
  source_slug text not null,
  series_id integer references series (id) on delete set null,
  status text not null default 'queued' check (status in ('queued', 'running', 'done', 'failed', 'cancelled')),
  scheduled_at integer not null,
  started_at integer,
  finished_at integer,
  pages_count integer not null default 0,
  error_count integer not null default 0,
  last_error text,
  triggered_by integer references user_account (id) on delete set null,
  resume_from text,
  task_id integer not null default 0,  -- R40: the task of the crawl queue, whose lease is the job's
  lease_token integer not null default 0,  -- I4: the task's, when the job was begun; writes without it change nothing
  log_count integer not null default 0,
  last_log_at integer not null default 0,  -- R49: never goes down, whatever clock a writer has
  created_at integer not null,
  updated_at integer not null,
  check ((finished_at is null) = (status in ('queued', 'running')))
) strict;
-- R43: one active job per source, kind and comic; a null comic is made comparable.
create unique index crawl_job_active on crawl_job (source_id, kind, coalesce(series_id, 0)) where status in ('queued', 'running');
create index crawl_job_order on crawl_job (scheduled_at, id);
create index crawl_job_finished on crawl_job (finished_at, id);
-- Few beside the polls that went well and found nothing, so these cost such a poll nothing.
create index crawl_job_not_done on crawl_job (scheduled_at, id) where status <> 'done';
create index crawl_job_manual on crawl_job (scheduled_at, id) where triggered_by is not null;
create index crawl_job_pages on crawl_job (pages_count, id) where pages_count > 0;
create index crawl_job_active_task on crawl_job (task_id) where status in ('queued', 'running');
create index crawl_job_source on crawl_job (source_id, scheduled_at);
create index crawl_job_series on crawl_job (series_id) where series_id is not null;
create index crawl_job_outcome on crawl_job (source_id, status, finished_at);
-- A scheduled poll that found nothing new and met no error has no task and says nothing: it is forgotten after a day.
create index crawl_job_uneventful on crawl_job (finished_at) where task_id = 0 and status = 'done' and log_count = 0;

create table crawl_tally (  -- uneventful polls that were forgotten, so that a week's error rate and latency stay true
  source_id integer not null,
  hour integer not null,  -- since 1970
  jobs integer not null,
  spent_ms integer not null,
  longest_ms integer not null,
  primary key (source_id, hour)
) strict, without rowid;

create table crawl_log (
  id blob primary key check (length(id) = 16),
  job_id integer not null,
  level text not null check (level in ('debug', 'info', 'warn', 'error')),
  message text not null,
  meta text check (json_valid(meta)),
  created_at integer not null
) strict, without rowid;
create index crawl_log_job on crawl_log (job_id, created_at, id);
create index crawl_log_age on crawl_log (created_at);

-- The ledger ------------------------------------------------------------------------------------------------

create table billing_switch (  -- what TSUZUKI_BILLING said at the last start; no row is off
  id integer primary key check (id = 1),
  is_on integer not null check (is_on in (0, 1)),
  changed_at integer not null
) strict;

create table activity (
  id integer primary key autoincrement,
  tenant_id integer not null references tenant (id) on delete restrict,
  shelf_id integer references shelf (id) on delete restrict,
  activity_type text not null,
  resource_type text not null,
  snapshot text not null check (json_valid(snapshot)),
  created_at integer not null,
  billed_at integer  -- I10: set once
) strict;
create index activity_unbilled on activity (tenant_id, id) where billed_at is null;
create index activity_tenant on activity (tenant_id, id);
create index activity_shelf on activity (shelf_id, created_at, id);

create table invoice (
  id integer primary key,
  public_id blob not null unique check (length(public_id) = 16),
  tenant_id integer not null references tenant (id) on delete restrict,
  amount_cents integer not null check (amount_cents > 0),
  currency text not null,
  period_start integer not null,
  period_end integer not null,
  method text check (method in ('manual', 'stripe', 'lightning', 'credit')),
  reference text,
  created_at integer not null,
  notified_at integer,
  notices integer not null default 0,  -- R84: how many reminders are recorded
  paid_at integer,
  voided_at integer,
  check (paid_at is null or voided_at is null),
  check ((paid_at is null) = (method is null))
) strict;
create index invoice_tenant on invoice (tenant_id, id);
create index invoice_open on invoice (tenant_id, created_at) where paid_at is null and voided_at is null;

create table invoice_item (
  id integer primary key,
  tenant_id integer not null references tenant (id) on delete restrict,
  invoice_id integer references invoice (id) on delete restrict,
  shelf_id integer references shelf (id) on delete restrict,
  activity_id integer unique references activity (id) on delete restrict,  -- I10: the backstop behind the claim
  description text not null,
  amount_cents integer not null,
  period_start integer not null,
  period_end integer not null,
  created_at integer not null
) strict;
create index invoice_item_unbilled on invoice_item (tenant_id, id) where invoice_id is null;
-- The backstop behind renewed_at: a shelf is renewed once for a period.
create unique index invoice_item_renewal on invoice_item (shelf_id, period_start) where activity_id is null;
create index invoice_item_invoice on invoice_item (invoice_id) where invoice_id is not null;

create table credit (
  id integer primary key,
  tenant_id integer not null references tenant (id) on delete restrict,
  invoice_id integer references invoice (id) on delete restrict,
  amount_cents integer not null,
  kind text not null check (kind in ('granted', 'payment', 'applied', 'settled', 'returned', 'refunded')),
  reason text not null,
  created_at integer not null
) strict;
create index credit_tenant on credit (tenant_id, id);

create table bolt11 (
  id integer primary key,
  invoice_id integer not null references invoice (id) on delete restrict,
  request text not null unique,
  payment_hash text not null unique,
  amount_msat integer not null check (amount_msat > 0),
  created_at integer not null,
  expires_at integer not null,
  settled_at integer
) strict;
create index bolt11_invoice on bolt11 (invoice_id);

create table intent (
  id text primary key,  -- the provider's own id: a repeat inserts nothing
  invoice_id integer not null references invoice (id) on delete restrict,
  amount_cents integer not null,
  currency text not null,
  outcome text not null check (outcome in ('paid', 'credited', 'refused')),
  created_at integer not null
) strict, without rowid;
create index intent_invoice on intent (invoice_id);

create table refund (
  intent_id text not null references intent (id) on delete restrict,
  total_cents integer not null check (total_cents > 0),  -- of the payment, by then: it only grows, and a repeat inserts nothing
  invoice_id integer not null references invoice (id) on delete restrict,
  amount_cents integer not null check (amount_cents between 1 and total_cents),  -- by this one
  credit_cents integer not null check (credit_cents between 0 and amount_cents),  -- of it, what had become credit
  created_at integer not null,
  primary key (intent_id, total_cents)
) strict, without rowid;
create index refund_invoice on refund (invoice_id);

create table payment_attempt (  -- R88: written before a provider is called
  id integer primary key,
  invoice_id integer not null references invoice (id) on delete restrict,
  provider text not null,
  key text not null unique,  -- ours, by which the provider finds the payment again
  status text not null check (status in ('begun', 'unknown', 'paid', 'failed')),
  detail text not null default '',
  created_at integer not null,
  updated_at integer not null
) strict;
-- No second attempt while one may still have taken the money.
create unique index payment_attempt_open on payment_attempt (invoice_id) where status in ('begun', 'unknown');
create index payment_attempt_invoice on payment_attempt (invoice_id, id);

create table answered_request (  -- REL-47: a repeat with the same key gets the same answer
  tenant_id integer not null references tenant (id) on delete cascade,
  key text not null,
  request_hash blob not null check (length(request_hash) = 32),
  answer text not null,
  created_at integer not null,
  primary key (tenant_id, key)
) strict;
create index answered_request_age on answered_request (created_at);

create table figure (  -- how the server fared in each minute, for the operator's charts; kept for a week
  at integer primary key,  -- the minute's beginning
  depth integer not null,  -- tasks that were due, scheduled or running
  oldest_ms integer not null,  -- how long the oldest due one had been waiting
  finished integer not null,
  failed integer not null,
  dead_letters integer not null,
  polls integer not null,
  failing integer not null  -- watches whose last poll failed
) strict;
