-- name: lock_account
-- Until the end of the transaction; rows that refer to the tenant are not kept waiting.
select {account_columns} from tenant where tenant.id = :tenant_id for no key update;

-- name: lock_account_of_shelf
select {account_columns} from tenant
where tenant.id = (select shelf.tenant_id from shelf where shelf.id = :shelf_id)
for no key update;
