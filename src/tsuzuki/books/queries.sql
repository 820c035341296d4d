-- fragment: facts
chapter.id as chapter_id, series.public_id as series_public_id,
  series.title as series_title, series.author, series.artist, series.language as series_language, series.is_nsfw,
  chapter.number, chapter.volume,
  case when chapter.title <> '' then chapter.title else coalesce(release.title, chapter_copy.title, '') end as title,
  coalesce(release.language, chapter_copy.language) as language,
  coalesce(release.group_name, chapter_copy.group_name) as group_name,
  coalesce(release.real_url, release.url) as url, coalesce(release.published_at, chapter.published_at) as published_at

-- name: list_copies
-- Every complete download, whoever has it, the oldest first: it keeps its name when others come.
select chapter_copy.release_id, {facts}, chapter_copy.id as copy_id, chapter_copy.updated_at
from chapter_copy
join chapter on chapter.id = chapter_copy.chapter_id
join series on series.id = chapter.series_id
left join release on release.id = chapter_copy.release_id
where chapter_copy.status = 'done'
  and exists (select 1 from kept_chapter where kept_chapter.copy_id = chapter_copy.id)
order by chapter_copy.id;

-- name: find_facts
-- Of a release that is gone, what its copy says; a series' own name stands over those of its sources.
select cast(:release_id as bigint) as release_id, {facts}
from chapter
join series on series.id = chapter.series_id
left join release on release.id = :release_id
left join chapter_copy on chapter_copy.release_id = :release_id
where chapter.id = coalesce(
  (select release.chapter_id from release where release.id = :release_id),
  (select chapter_copy.chapter_id from chapter_copy where chapter_copy.release_id = :release_id)
);

-- name: add_books
-- By every digest; nothing for a chapter that went meanwhile.
insert into chapter_book (digest, chapter_id, release_id, page_count)
select value ->> 0, chapter.id, cast(:release_id as bigint), cast(:page_count as integer)
from json_each(cast(:digests as text)) join chapter on chapter.id = :chapter_id
where true
on conflict (digest, chapter_id) do update set release_id = excluded.release_id, page_count = excluded.page_count;

-- name: chapters_of_digest
-- Of several with the same digest: what this shelf follows, and opened last. A release says of which chapter it is by
-- now; where it is gone, the chapter stays.
select chapter.id as chapter_id, series.public_id as series_public_id, chapter_book.page_count
from chapter_book
left join release on release.id = chapter_book.release_id
join chapter on chapter.id = coalesce(release.chapter_id, chapter_book.chapter_id)
join series on series.id = chapter.series_id
join follow on follow.series_id = series.id and follow.shelf_id = :shelf_id
left join progress on progress.shelf_id = :shelf_id and progress.chapter_id = chapter.id
where chapter_book.digest = :digest
order by coalesce(progress.opened_at, 0) desc, chapter_book.release_id desc
limit 1;

-- name: forget_article_book
-- What the shelf was given under this digest before: a book of a day that is not over grows under its name.
delete from article_book where shelf_id = :shelf_id and digest = :digest;

-- name: add_article_book
-- Without articles that went meanwhile.
insert into article_book (shelf_id, digest, item_id, place)
select cast(:shelf_id as bigint), cast(:digest as text), item.id, cast(value ->> 1 as integer)
from json_each(cast(:rows as text)) join item on item.id = cast(value ->> 0 as bigint);

-- name: articles_of_digest
-- I8: articles that this shelf was given, and has.
select entry.item_id, entry.unread, entry.read_at, article_book.place
from article_book
join entry on entry.shelf_id = article_book.shelf_id and entry.item_id = article_book.item_id
where article_book.shelf_id = :shelf_id and article_book.digest = :digest
order by article_book.place;
