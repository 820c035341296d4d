-- Files that devices have stay known for as long as what is in them: by the chapter, which outlives its sources, and
-- with the pages that the file had; of a book of articles, by all that are in it.

create table chapter_book (  -- a CBZ that somebody may have, by what devices know it
  digest text not null check (length(digest) = 32),  -- MD5 in hex: of samples of the file, as KOReader takes them, or of its name
  chapter_id integer not null references chapter (id) on delete cascade,
  release_id integer not null,  -- which says, while it is there, of which chapter it is by now
  page_count integer not null,  -- of that file; -1 where it is not known
  primary key (digest, chapter_id)
) strict, without rowid;
insert into chapter_book (digest, chapter_id, release_id, page_count)
select former.digest, release.chapter_id, max(release.id), max(release.page_count)
from chapter_file_digest as former join release on release.id = former.release_id
group by former.digest, release.chapter_id;
drop table chapter_file_digest;
create index chapter_book_chapter on chapter_book (chapter_id);

create table article_book (  -- an EPUB that was given to a shelf, by what devices know it
  shelf_id integer not null references shelf (id) on delete cascade,
  digest text not null check (length(digest) = 32),
  item_id integer not null references item (id) on delete cascade,
  place integer not null,  -- of the article in the book, from 1
  primary key (shelf_id, digest, item_id)
) strict, without rowid;
create index article_book_item on article_book (item_id);
insert into article_book (shelf_id, digest, item_id, place)
select entry.shelf_id, article_file_digest.digest, article_file_digest.item_id, 1
from article_file_digest join entry on entry.item_id = article_file_digest.item_id;
drop table article_file_digest;
