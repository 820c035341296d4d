-- Items -----------------------------------------------------------------------------------------------------

-- fragment: item_columns
id, tenant_id, invoice_id, shelf_id, activity_id, description, amount_cents, period_start, period_end, created_at, part_of

-- name: insert_item
-- I10: unique by its activity, or by shelf and period where it is a renewal; a second one is an error.
insert into invoice_item (
  tenant_id, shelf_id, activity_id, description, amount_cents, period_start, period_end, created_at
)
values (:tenant_id, :shelf_id, :activity_id, :description, :amount_cents, :period_start, :period_end, :now)
returning {item_columns};

-- name: list_unbilled_invoice_items
select {item_columns} from invoice_item where tenant_id = :tenant_id and invoice_id is null order by id;

-- name: list_items_of
select {item_columns} from invoice_item where invoice_id = :invoice_id order by id;

-- name: list_items_for_tenant
select {item_columns} from invoice_item where tenant_id = :tenant_id order by id;

-- name: attach_items
update invoice_item set invoice_id = :invoice_id
where invoice_id is null and id in (select cast(value ->> 0 as bigint) from json_each(cast(:rows as text)))
returning id;

-- name: list_charged
-- Who charged for the period that a line gives something back of: every invoice with lines of this shelf and period.
select invoice_item.invoice_id,
  case when invoice.id is null then 'unbilled' when invoice.voided_at is not null then 'voided'
    when invoice.paid_at is not null then 'paid' else 'open' end as status,
  cast(sum(invoice_item.amount_cents) as bigint) as cents
from invoice_item left join invoice on invoice.id = invoice_item.invoice_id
where invoice_item.shelf_id = :shelf_id and invoice_item.period_end = :period_end and invoice_item.id <> :item_id
group by invoice_item.invoice_id, invoice.id, invoice.voided_at, invoice.paid_at
order by invoice_item.invoice_id;

-- name: place_item
update invoice_item set invoice_id = :invoice_id, amount_cents = :amount_cents where id = :id;

-- name: insert_part
insert into invoice_item (
  tenant_id, invoice_id, shelf_id, description, amount_cents, period_start, period_end, created_at, part_of
)
values (
  :tenant_id, :invoice_id, :shelf_id, :description, :amount_cents, :period_start, :period_end, :created_at, :part_of
);

-- name: rented_shelves
select id from shelf where tenant_id = :tenant_id order by id;

-- name: advance_renewal
-- REL-46: once for a period, however often it is tried.
update tenant set renewed_at = :start, updated_at = :now
where id = :tenant_id and coalesce(renewed_at, anchor_at) < :start;

-- Invoices --------------------------------------------------------------------------------------------------

-- fragment: invoice_columns
id, public_id, tenant_id, amount_cents, currency, period_start, period_end, method, reference, created_at, notified_at,
notices, paid_at, voided_at

-- name: insert_invoice
insert into invoice (public_id, tenant_id, amount_cents, currency, period_start, period_end, created_at)
values (:public_id, :tenant_id, :amount_cents, :currency, :period_start, :period_end, :now)
returning {invoice_columns};

-- name: find_invoice
select {invoice_columns} from invoice where public_id = :public_id;

-- name: get_invoice
select {invoice_columns} from invoice where id = :id;

-- name: list_invoices_for_tenant
select {invoice_columns} from invoice where tenant_id = :tenant_id order by id desc limit :most offset :skip;

-- name: count_invoices
select count(*) as total from invoice where tenant_id = :tenant_id;

-- name: list_open_invoices
select {invoice_columns} from invoice
where tenant_id = :tenant_id and paid_at is null and voided_at is null
order by created_at, id;

-- name: lower_invoice
-- Never to nothing: what covers it all is credit, and pays it.
update invoice set amount_cents = amount_cents - :cents where id = :id and paid_at is null and voided_at is null;

-- name: mark_invoice_paid
-- Once, and never one that was voided.
update invoice set paid_at = :now, method = :method, reference = :reference
where id = :id and paid_at is null and voided_at is null;

-- name: void_invoice
update invoice set voided_at = :now where id = :id and paid_at is null and voided_at is null;

-- name: mark_invoice_notified
-- Counted up to what is due, so that a reminder is recorded once though several look at the same time.
update invoice set notified_at = :now, notices = :notices
where id = :id and notices < :notices and paid_at is null and voided_at is null;

-- Credit ----------------------------------------------------------------------------------------------------

-- fragment: credit_columns
id, tenant_id, invoice_id, amount_cents, kind, reason, created_at

-- name: insert_credit
insert into credit (tenant_id, invoice_id, amount_cents, kind, reason, created_at)
values (:tenant_id, :invoice_id, :amount_cents, :kind, :reason, :now)
returning {credit_columns};

-- name: list_credits_for_tenant
select {credit_columns} from credit where tenant_id = :tenant_id order by id;

-- name: credit_left
select cast(coalesce(sum(amount_cents), 0) as bigint) as cents from credit where tenant_id = :tenant_id;

-- name: credit_applied
select cast(coalesce(-sum(amount_cents), 0) as bigint) as cents from credit
where invoice_id = :invoice_id and kind = 'applied';

-- name: credit_returned
select cast(coalesce(sum(amount_cents), 0) as bigint) as cents from credit
where invoice_id = :invoice_id and kind = 'returned';

-- Tenants ---------------------------------------------------------------------------------------------------

-- name: mark_churned
update tenant set churned_at = :now, updated_at = :now where id = :tenant_id and churned_at is null;

-- name: mark_returned
update tenant set churned_at = null, updated_at = :now where id = :tenant_id and churned_at is not null;

-- fragment: open_of_tenant
invoice.tenant_id = tenant.id and invoice.paid_at is null and invoice.voided_at is null

-- name: list_tenants_to_bill
-- R89: by markers, so that whatever was missed is found.
select tenant.id from tenant
where coalesce(tenant.renewed_at, tenant.anchor_at) <= :renewed_before
  or exists (
    select 1 from activity
    where activity.tenant_id = tenant.id and activity.billed_at is null and activity.resource_type = 'shelf'
      and activity.activity_type <> 'shelf.renamed'
  )
  or exists (select 1 from invoice_item where invoice_item.tenant_id = tenant.id and invoice_item.invoice_id is null)
  or exists (  -- R84: a reminder, sleep or the end is due, or there is credit to use; else time brings nothing
    select 1 from invoice
    where {open_of_tenant} and (
      invoice.notices < case
        when invoice.created_at <= :third_from then 3 when invoice.created_at <= :second_from then 2
        when invoice.created_at <= :first_from then 1 else 0 end
      or invoice.created_at <= :churned_from
      or (invoice.created_at <= :delinquent_from and exists (
        select 1 from shelf where shelf.tenant_id = tenant.id and shelf.status = 'active'
          and shelf.plan in (select value ->> 0 from json_each(cast(:paid_plans as text)))
      ))
      or (select sum(credit.amount_cents) from credit where credit.tenant_id = tenant.id) > 0
    )
  )
  or (
    tenant.churned_at is null
    and exists (select 1 from shelf where shelf.tenant_id = tenant.id and shelf.status = 'delinquent')
    and not exists (select 1 from invoice where {open_of_tenant} and invoice.created_at <= :delinquent_from)
  )
order by tenant.id;

-- fragment: given_back
(select cast(coalesce(sum(refund.amount_cents - refund.credit_cents), 0) as bigint)
 from invoice join refund on refund.invoice_id = invoice.id where invoice.tenant_id = :tenant_id)

-- fragment: refund_columns
refund.intent_id, refund.invoice_id, refund.total_cents, refund.amount_cents, refund.credit_cents, refund.created_at

-- name: list_refunds_for_tenant
select {refund_columns} from invoice join refund on refund.invoice_id = invoice.id
where invoice.tenant_id = :tenant_id order by refund.created_at, refund.intent_id, refund.total_cents;

-- name: list_refunds_of
select {refund_columns} from refund where invoice_id = :invoice_id order by created_at, intent_id, total_cents;

-- name: list_disputes_of
select amount_cents, status, created_at from dispute where invoice_id = :invoice_id order by created_at, id;

-- name: totals
select
  (select cast(coalesce(sum(amount_cents), 0) as bigint) from invoice_item where tenant_id = :tenant_id) as charged,
  (select cast(coalesce(sum(amount_cents), 0) as bigint) from invoice where tenant_id = :tenant_id) as invoiced,
  (select cast(coalesce(sum(amount_cents), 0) as bigint) from invoice
   where tenant_id = :tenant_id and paid_at is not null and method <> 'credit') - {given_back} as paid,
  (select cast(coalesce(-sum(amount_cents), 0) as bigint) from credit
   where tenant_id = :tenant_id and kind = 'settled') as settled,
  (select cast(coalesce(sum(amount_cents), 0) as bigint) from invoice
   where tenant_id = :tenant_id and voided_at is not null) + {given_back} as written_off,
  (select cast(coalesce(sum(amount_cents), 0) as bigint) from invoice
   where tenant_id = :tenant_id and paid_at is null and voided_at is null) as open,
  (select cast(coalesce(sum(amount_cents), 0) as bigint) from invoice_item
   where tenant_id = :tenant_id and invoice_id is null) as unbilled,
  (select cast(coalesce(sum(amount_cents), 0) as bigint) from credit
   where tenant_id = :tenant_id and kind not in ('applied', 'settled')) as credited,
  (select cast(coalesce(-sum(amount_cents), 0) as bigint) from credit
   where tenant_id = :tenant_id and kind = 'applied') as applied;

-- The switch ------------------------------------------------------------------------------------------------

-- name: turn_switch
-- Touches a row only when it changes something.
insert into billing_switch (id, is_on, changed_at) values (1, :is_on, :now)
on conflict (id) do update set is_on = excluded.is_on, changed_at = excluded.changed_at
where billing_switch.is_on <> excluded.is_on;

-- name: desync_shelves
-- Whether billing counts decides what limits count: the enforcer looks at every shelf again.
update shelf set synced = false, sync_error = '', sync_attempts = 0, sync_at = null where plan <> 'self-hosted';

-- name: unlogged_shelves
-- Shelves from before billing was switched on.
select id, name, plan, status from shelf
where not exists (select 1 from activity where activity.shelf_id = shelf.id and activity.resource_type = 'shelf')
order by id;

-- name: get_account
-- inline: by its key
select id, anchor_at, renewed_at, churned_at from tenant where id = :tenant_id;

-- name: list_accounts
select id, anchor_at, renewed_at, churned_at from tenant order by id;

-- name: skip_periods
-- What passed while billing was off is not charged.
update tenant set renewed_at = :start, updated_at = :now where id = :tenant_id;

-- Answered requests -----------------------------------------------------------------------------------------

-- name: add_answer
-- REL-47: whoever inserts the row does the work; on PostgreSQL a second one waits here for the first.
insert into answered_request (tenant_id, key, request_hash, answer, created_at)
values (:tenant_id, :key, :request_hash, '', :now)
on conflict (tenant_id, key) do nothing;

-- name: set_answer
update answered_request set answer = :answer where tenant_id = :tenant_id and key = :key;

-- name: find_answer
select request_hash, answer from answered_request where tenant_id = :tenant_id and key = :key;

-- name: forget_answers
delete from answered_request where created_at < :before;

-- Rented shelves --------------------------------------------------------------------------------------------

-- fragment: shelf_columns
id, public_id, tenant_id, name, plan, status, synced, sync_error, sync_attempts, sync_at, created_at, updated_at

-- fragment: pending
-- R80: whatever changes, the enforcer has to look again, and its earlier failures count no more.
synced = false, sync_error = '', sync_attempts = 0, sync_at = null, updated_at = :now

-- name: list_shelves_for_tenant
select {shelf_columns} from shelf where tenant_id = :tenant_id order by id;

-- name: list_use_for_tenant
select shelf.public_id,
  (select count(*) from subscription where subscription.shelf_id = shelf.id)
  + (select count(*) from follow where follow.shelf_id = shelf.id) as follows,
  (select count(*) from kept_chapter where kept_chapter.shelf_id = shelf.id) as kept_chapters
from shelf where shelf.tenant_id = :tenant_id
order by shelf.id;

-- name: find_rented
select {shelf_columns} from shelf where public_id = :public_id;

-- name: get_rented
select {shelf_columns} from shelf where id = :id;

-- name: rename_shelf
update shelf set name = :name, {pending} where id = :id
returning {shelf_columns};

-- name: set_shelf_plan
update shelf set plan = :plan, {pending} where id = :id
returning {shelf_columns};

-- name: set_shelf_status
update shelf set status = :status, {pending} where id = :id
returning {shelf_columns};

-- The enforcer -----------------------------------------------------------------------------------------------

-- name: list_shelves_pending_sync
select id from shelf
where (not synced or sync_error <> '') and (sync_at is null or sync_at <= :now)
order by id
limit :most;

-- name: complete_shelf_sync
update shelf set synced = true, sync_error = '', sync_attempts = 0, sync_at = null where id = :id;

-- name: fail_shelf_sync
update shelf set sync_error = :error, sync_attempts = sync_attempts + 1 where id = :id
returning sync_attempts;

-- name: put_off_sync
update shelf set sync_at = :at where id = :id;

-- name: set_retention
update shelf set retention = :retention where id = :id;

-- fragment: places
-- The oldest of feeds and series have the room; :room is 0 for a shelf that sleeps.
select kind, of_id, row_number() over (order by created_at, kind, of_id) as place
from (
  select 'feed' as kind, id as of_id, created_at from subscription where shelf_id = :shelf_id
  union all
  select 'series', id, created_at from follow where shelf_id = :shelf_id
) as both_kinds

-- name: feeds_to_sync
-- What is about to be held or released, so that it can be locked before: in the order of everybody who locks several.
select subscription.feed_id as of_id, subscription.held_at
from subscription
join ({places}) as placed on placed.kind = 'feed' and placed.of_id = subscription.id
where case
  when placed.place > :room then subscription.suspended_at is null or subscription.suspended_at > :now
  else subscription.held_at is not null
end
order by subscription.feed_id;

-- name: series_to_sync
select follow.series_id as of_id, follow.held_at
from follow
join ({places}) as placed on placed.kind = 'series' and placed.of_id = follow.id
where (placed.place > :room) = (follow.held_at is null)
order by follow.series_id;

-- name: suspend_subscriptions
-- What its reader suspended rests already, and stays the reader's to wake.
update subscription set held_at = :now, suspended_at = :now
where shelf_id = :shelf_id and (suspended_at is null or suspended_at > :now)
  and id in (select of_id from ({places}) as placed where kind = 'feed' and place > :room)
returning feed_id;

-- name: release_subscriptions
update subscription set held_at = null, suspended_at = null
where shelf_id = :shelf_id and held_at is not null
  and id in (select of_id from ({places}) as placed where kind = 'feed' and place <= :room)
returning feed_id;

-- name: suspend_follows
update follow set held_at = :now
where shelf_id = :shelf_id and held_at is null
  and id in (select of_id from ({places}) as placed where kind = 'series' and place > :room)
returning series_id;

-- name: release_follows
update follow set held_at = null
where shelf_id = :shelf_id and held_at is not null
  and id in (select of_id from ({places}) as placed where kind = 'series' and place <= :room)
returning series_id;

-- Payments --------------------------------------------------------------------------------------------------

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
