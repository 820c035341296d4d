-- A mark writes into most indexes of its entry again, and a delivery into all of them: so one for each way of looking.

-- The key of an item on a shelf also finds the item's entries.
drop index entry_item;
drop index entry_chapter;
drop index entry_of_item;
drop index entry_of_chapter;
create unique index entry_item on entry (item_id, shelf_id) where item_id is not null;  -- I2
create unique index entry_chapter on entry (chapter_id, shelf_id) where chapter_id is not null;  -- I2

-- What writes the moment itself spares a second update of each row.
drop trigger entry_changed_at;
create trigger entry_changed_at after update of unread, saved on entry
when (old.unread <> new.unread or old.saved <> new.saved) and new.changed_at is old.changed_at begin
  update entry set changed_at = cast(unixepoch('subsec') * 1000 as integer) where id = new.id;
end;
