-- Chapters as files: what a file of an image's bytes needs to know of them, and by what readers' devices know such a file.

alter table image add column crc32 bigint check (crc32 between 0 and 4294967295);  -- null until somebody needed it

create table chapter_file_digest (
  digest text not null check (length(digest) = 32),  -- MD5 in hex: of samples of the file, as KOReader takes them, or of its name
  release_id bigint not null references release (id) on delete cascade,
  primary key (digest, release_id)
);
create index chapter_file_digest_release on chapter_file_digest (release_id);
