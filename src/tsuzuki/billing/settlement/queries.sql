-- name: insert_intent
-- REL-42: whoever inserts the row settles, in the same transaction; a repeat inserts nothing.
insert into intent (id, invoice_id, amount_cents, currency, outcome, created_at)
values (:id, :invoice_id, :amount_cents, :currency, 'refused', :now)
on conflict (id) do nothing;

-- name: set_intent_outcome
update intent set outcome = :outcome where id = :id;

-- name: find_intent
select id, invoice_id, amount_cents, currency, outcome, created_at from intent where id = :id;

-- name: given_back
-- What was given back of a payment so far, and how much of that had been credit.
select cast(coalesce(max(total_cents), 0) as bigint) as total_cents,
  cast(coalesce(sum(credit_cents), 0) as bigint) as credit_cents
from refund where intent_id = :intent_id;

-- name: insert_refund
insert into refund (intent_id, total_cents, invoice_id, amount_cents, credit_cents, created_at)
values (:intent_id, :total_cents, :invoice_id, :amount_cents, :credit_cents, :created_at);

-- name: put_dispute
-- A repeat changes nothing; what was decided is not undone by an event that comes late.
insert into dispute (id, intent_id, invoice_id, amount_cents, reason, status, created_at, updated_at)
values (:dispute_id, :intent_id, :invoice_id, :amount_cents, :reason, :status, :now, :now)
on conflict (id) do update set status = excluded.status, updated_at = excluded.updated_at
where dispute.status <> excluded.status and dispute.status not in ('won', 'lost', 'warning_closed');

-- name: list_intents
select id, invoice_id, amount_cents, currency, outcome, created_at from intent
where invoice_id = :invoice_id order by created_at, id;

-- fragment: bolt11_columns
id, invoice_id, request, payment_hash, amount_msat, created_at, expires_at, settled_at, amount_cents

-- name: insert_bolt11
insert into bolt11 (invoice_id, request, payment_hash, amount_msat, created_at, expires_at, amount_cents)
select cast(:invoice_id as bigint), cast(:request as text), cast(:payment_hash as text), cast(:amount_msat as bigint),
  cast(:now as bigint), cast(:expires_at as bigint), (select amount_cents from invoice where id = :invoice_id)
where true
on conflict do nothing
returning {bolt11_columns};

-- name: find_bolt11
select {bolt11_columns} from bolt11 where payment_hash = :payment_hash;

-- name: mark_bolt11_settled
-- REL-45: once, however often a node says so.
update bolt11 set settled_at = :now where id = :id and settled_at is null;

-- fragment: attempt_columns
id, invoice_id, provider, key, status, detail, created_at, updated_at

-- name: open_attempt
select {attempt_columns} from payment_attempt
where invoice_id = :invoice_id and status in ('begun', 'unknown');

-- name: insert_attempt
-- R88: the partial unique index refuses a second one while the first may still have taken the money.
insert into payment_attempt (invoice_id, provider, key, status, created_at, updated_at)
values (:invoice_id, :provider, :key, 'begun', :now, :now)
returning {attempt_columns};

-- name: finish_attempt
-- Whoever ends it acts on it.
update payment_attempt set status = :status, detail = :detail, updated_at = :now
where id = :id and status in ('begun', 'unknown');
