-- A mark writes into every index of its entry again, and a delivery into all of them: so one for each way of looking.

-- The key of an item on a shelf also finds the item's entries.
create unique index entry_item_shelf on entry (item_id, shelf_id) where item_id is not null;  -- I2
create unique index entry_chapter_shelf on entry (chapter_id, shelf_id) where chapter_id is not null;  -- I2
drop index entry_item, entry_chapter, entry_of_item, entry_of_chapter;
alter index entry_item_shelf rename to entry_item;
alter index entry_chapter_shelf rename to entry_chapter;

-- What writes the moment itself spares a call for each row.
drop trigger entry_changed_at on entry;
create trigger entry_changed_at before update of unread, saved on entry for each row
  when ((old.unread <> new.unread or old.saved <> new.saved) and new.changed_at is not distinct from old.changed_at)
  execute function entry_changes();
