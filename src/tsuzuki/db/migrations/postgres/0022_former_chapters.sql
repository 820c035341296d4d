-- Apps keep the ids of chapters for ever: when two chapters become one, the id of the one that goes means the other.
create table former_chapter (
  id bigint primary key,
  chapter_id bigint not null references chapter (id) on delete cascade
);
create index former_chapter_chapter on former_chapter (chapter_id);
