-- R108: identities are never used twice here; on SQLite this step sees to groups and chapters.

-- What apps are told arrived is what appeared on their shelf, which may be later than the inbox says: deliveries in
-- portions, what is restored, what an archive brings.
alter table entry add column appeared_at bigint;  -- null: at created_at
create index entry_appeared on entry (shelf_id, appeared_at) where appeared_at is not null;
