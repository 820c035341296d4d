-- Which entries a feed's document had when it was last read: those that are there again as they were need not be read.
create table feed_digest (
  feed_id bigint primary key references feed (id) on delete cascade,
  digests bytea not null,
  compared_at bigint not null  -- when all of a document was last compared with what is stored
);
