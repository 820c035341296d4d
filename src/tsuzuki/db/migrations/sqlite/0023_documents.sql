-- How far documents were read on devices that tell each other by us: files that we know nothing else of, and our own.
create table document_progress (
  shelf_id integer not null references shelf (id) on delete cascade,
  document text not null check (length(document) between 1 and 200),  -- as the devices name it
  progress text not null,  -- a page, or a place in a text: only they know which
  percentage real not null check (percentage between 0 and 1),
  device text not null,
  device_id text,
  at integer not null,  -- when we were told, by our clock
  primary key (shelf_id, document)
) strict, without rowid;
create index document_progress_age on document_progress (shelf_id, at);

create table article_file_digest (  -- by what devices know an article that was given out as a file
  digest text not null check (length(digest) = 32),
  item_id integer not null references item (id) on delete cascade,
  primary key (digest, item_id)
) strict, without rowid;
create index article_file_digest_item on article_file_digest (item_id);
