-- A mark writes into most indexes of its entry again, and a delivery into all of them: so one for each way of looking.

-- The key of an item on a shelf also finds the item's entries.
drop index entry_item;
drop index entry_chapter;
drop index entry_of_item;
drop index entry_of_chapter;
create unique index entry_item on entry (item_id, shelf_id) where item_id is not null;  -- I2
create unique index entry_chapter on entry (chapter_id, shelf_id) where chapter_id is not null;  -- I2

-- What was marked, saved, or appeared after it had been stored: whichever was last.
drop index entry_changed;
drop index entry_appeared;
create index entry_changed on entry
  (shelf_id, (case when changed_at > appeared_at then changed_at else coalesce(appeared_at, changed_at) end))
where case when changed_at > appeared_at then changed_at else coalesce(appeared_at, changed_at) end is not null;
