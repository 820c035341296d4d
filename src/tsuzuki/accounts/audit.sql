-- name: add_audit
insert into audit (at, actor_id, actor, action, entity_type, entity_id, before, after, reason, address)
values (:at, :actor_id, :actor, :action, :entity_type, :entity_id, :before, :after, :reason, :address);

-- fragment: audit_filter
(cast(:actor_id as text) is null or coalesce(actor_id, 'system') = :actor_id)
  and (cast(:prefix as text) is null or action = :action or substr(action, 1, length(:prefix)) = :prefix)
  and (cast(:entity_type as text) is null or entity_type = :entity_type)
  and (cast(:entity_id as text) is null or entity_id = :entity_id)
  and at >= :since and at < :until

-- name: list_audit
select id, at, actor_id, actor, action, entity_type, entity_id, before, after, reason, address
from audit
where {audit_filter}
order by at desc, id desc
limit :most offset :skip;

-- name: find_shelf_name
select name from shelf where public_id = :public_id;

-- name: find_user_name
select username from user_account where public_id = :public_id;

-- name: find_tenant_name
select name from tenant where public_id = :public_id;

-- name: count_audit
select count(*) as total from audit where {audit_filter};
