-- Time that is given back goes to the invoices that charged for it.

alter table invoice_item add column part_of integer references invoice_item (id) on delete restrict;  -- the line that it was split off
drop index invoice_item_renewal;
-- The backstop behind renewed_at: a shelf is renewed once for a period.
create unique index invoice_item_renewal on invoice_item (shelf_id, period_start) where activity_id is null and part_of is null;
create index invoice_item_charged on invoice_item (shelf_id, period_end);
create index invoice_item_part on invoice_item (part_of) where part_of is not null;

alter table bolt11 add column amount_cents integer check (amount_cents > 0);  -- what the invoice asked when it was made; null: as it asks now
