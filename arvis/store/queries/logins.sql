-- Access: one-time codes, logins and users of the dashboard, and API keys.

-- name: add_login_code
INSERT INTO login_codes (code_hash, user_id, expires_at) VALUES (:code_hash, :user_id, :expires_at);

-- name: drop_old_login_codes
DELETE FROM login_codes WHERE expires_at < :now;

-- name: drop_codes_of_user
DELETE FROM login_codes WHERE user_id = :user_id;

-- name: use_login_code
UPDATE login_codes SET used_at = :now
WHERE code_hash = :code_hash AND used_at IS NULL AND expires_at >= :now
RETURNING user_id;

-- name: add_session
INSERT INTO sessions (token_hash, principal_id, device, created_at, seen_at)
VALUES (:token_hash, :principal_id, :device, :now, :now);

-- name: get_session
SELECT * FROM sessions WHERE token_hash = :token_hash;

-- name: session_like
SELECT * FROM sessions WHERE token_hash >= :first AND token_hash < :end ORDER BY token_hash LIMIT 1;

-- name: sessions_of
SELECT * FROM sessions
WHERE principal_id = :principal_id AND seen_at > :seen_from AND created_at > :created_from
    AND (created_at < :created_before OR (created_at = :created_before AND token_hash < :hash_before))
ORDER BY created_at DESC, token_hash DESC LIMIT :limit;

-- name: touch_session
UPDATE sessions SET seen_at = :now WHERE token_hash = :token_hash;

-- name: delete_session
DELETE FROM sessions WHERE token_hash = :token_hash;

-- name: delete_sessions_of
DELETE FROM sessions WHERE principal_id = :principal_id AND token_hash <> :but RETURNING token_hash;

-- name: drop_over_sessions
DELETE FROM sessions WHERE seen_at <= :seen_before OR created_at <= :created_before;

-- name: get_user
SELECT * FROM users WHERE id = :id;

-- name: users_after
SELECT * FROM users WHERE id > :after ORDER BY id LIMIT :limit;

-- name: any_password
SELECT id FROM users WHERE password_hash IS NOT NULL LIMIT 1;

-- name: add_user
INSERT INTO users (id, name, role, password_hash, created_at, updated_at)
VALUES (:id, :name, :role, :password_hash, :created_at, :updated_at)
ON CONFLICT (id) DO NOTHING;

-- name: update_user
UPDATE users SET name = :name, role = :role, password_hash = :password_hash, updated_at = :updated_at WHERE id = :id;

-- name: remove_user
DELETE FROM users WHERE id = :id;

-- name: get_api_key
SELECT * FROM api_keys WHERE id = :id;

-- name: api_key_by_hash
SELECT * FROM api_keys WHERE key_hash = :key_hash;

-- name: api_keys_before
SELECT * FROM api_keys WHERE id < :before ORDER BY id DESC LIMIT :limit;

-- name: add_api_key
INSERT INTO api_keys (id, name, role, agents, key_hash, created_by, created_at, used_at)
VALUES (:id, :name, :role, :agents, :key_hash, :created_by, :created_at, NULL);

-- name: touch_api_key
UPDATE api_keys SET used_at = :now WHERE id = :id;

-- name: remove_api_key
DELETE FROM api_keys WHERE id = :id;
