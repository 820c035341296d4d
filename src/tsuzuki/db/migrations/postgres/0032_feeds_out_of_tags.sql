-- A feed out of what has a tag (R119), by the tag's public id.
alter table feed_out add column of_tag bytea check (length(of_tag) = 16);
