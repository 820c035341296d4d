-- What Stripe tells of payments that somebody disputes: the money is gone meanwhile, and the operator decides.

create table dispute (
  id text primary key,  -- the provider's own id
  intent_id text not null references intent (id) on delete restrict,
  invoice_id integer not null references invoice (id) on delete restrict,
  amount_cents integer not null,
  reason text not null,
  status text not null,  -- as the provider words it
  created_at integer not null,
  updated_at integer not null
) strict;
create index dispute_invoice on dispute (invoice_id);
create index dispute_intent on dispute (intent_id);
