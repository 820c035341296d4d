-- A mark writes into every index of its entry again, and a delivery into all of them: so one for each way of looking.

-- The key of an item on a shelf also finds the item's entries.
create unique index entry_item_shelf on entry (item_id, shelf_id) where item_id is not null;  -- I2
create unique index entry_chapter_shelf on entry (chapter_id, shelf_id) where chapter_id is not null;  -- I2
drop index entry_item, entry_chapter, entry_of_item, entry_of_chapter;
alter index entry_item_shelf rename to entry_item;
alter index entry_chapter_shelf rename to entry_chapter;

-- What was marked, saved, or appeared after it had been stored: whichever was last.
create index entry_touched on entry
  (shelf_id, (case when changed_at > appeared_at then changed_at else coalesce(appeared_at, changed_at) end))
where case when changed_at > appeared_at then changed_at else coalesce(appeared_at, changed_at) end is not null;
drop index entry_changed, entry_appeared;
alter index entry_touched rename to entry_changed;
