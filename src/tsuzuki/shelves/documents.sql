-- name: find_document
-- inline: by its primary key
select document, progress, percentage, device, device_id, at from document_progress
where shelf_id = :shelf_id and document = :document;

-- name: write_document
-- The last report counts.
insert into document_progress (shelf_id, document, progress, percentage, device, device_id, at)
values (:shelf_id, :document, :progress, :percentage, :device, :device_id, :at)
on conflict (shelf_id, document) do update set
  progress = excluded.progress, percentage = excluded.percentage, device = excluded.device,
  device_id = excluded.device_id, at = excluded.at;

-- name: forget_documents
-- Those not reported for longest, beyond the limit.
delete from document_progress where shelf_id = :shelf_id and at < (
  select kept.at from document_progress as kept where kept.shelf_id = :shelf_id
  order by kept.at desc limit 1 offset :most
);
