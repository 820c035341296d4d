-- name: add_flow
insert into oidc_flow (key_hash, state, nonce, verifier, next, user_id, expires_at)
values (:key_hash, :state, :nonce, :verifier, :next, :user_id, :expires_at);

-- name: take_flow
-- A flow ends once: whoever deletes the row has it.
delete from oidc_flow where key_hash = :key_hash and expires_at > :now
returning state, nonce, verifier, next, user_id;

-- name: delete_old_flows
delete from oidc_flow where expires_at <= :now;
