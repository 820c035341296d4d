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

-- name: add_digests
-- Nothing for a release that went meanwhile.
insert into chapter_file_digest (digest, release_id)
select value ->> 0, release.id
from json_each(cast(:digests as text)) join release on release.id = :release_id
where true
on conflict (digest, release_id) do nothing;

-- name: releases_of_digest
-- Of several with the same bytes: what this shelf follows, and opened last.
select release.id as release_id, release.chapter_id, series.public_id as series_public_id, release.page_count
from chapter_file_digest
join release on release.id = chapter_file_digest.release_id
join chapter on chapter.id = release.chapter_id
join series on series.id = chapter.series_id
join follow on follow.series_id = series.id and follow.shelf_id = :shelf_id
left join progress on progress.shelf_id = :shelf_id and progress.chapter_id = chapter.id
where chapter_file_digest.digest = :digest
order by coalesce(progress.opened_at, 0) desc, release.id desc
limit 1;

-- name: add_article_digest
-- Nothing for an article that went meanwhile.
insert into article_file_digest (digest, item_id)
select cast(:digest as text), item.id from item where item.id = :item_id
on conflict (digest, item_id) do nothing;

-- name: item_of_digest
-- I8: an article of this shelf.
select entry.item_id from article_file_digest
join entry on entry.shelf_id = :shelf_id and entry.item_id = article_file_digest.item_id
where article_file_digest.digest = :digest
order by entry.item_id desc
limit 1;
