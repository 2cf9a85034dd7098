-- name: find_principal
SELECT * FROM principals WHERE platform = :platform AND user_id = :user_id;

-- name: get_principal
SELECT * FROM principals WHERE id = :id;

-- name: add_principal
INSERT INTO principals (id, platform, user_id, name, role, created_at, updated_at)
VALUES (:id, :platform, :user_id, :name, :role, :now, :now);

-- name: update_principal
UPDATE principals SET name = :name, role = :role, updated_at = :now WHERE id = :id;

-- name: pair_principal
-- The first time counts.
UPDATE principals SET paired_at = COALESCE(paired_at, :now), updated_at = :now WHERE id = :id;

-- name: unpair_principal
UPDATE principals SET paired_at = NULL, updated_at = :now WHERE id = :id;

-- name: list_people
-- Whose row says owner may be struck off the configuration since: the caller knows.
SELECT * FROM principals
WHERE id < :before
    AND (CAST(:platform AS TEXT) IS NULL OR platform = :platform)
    AND (CAST(:role AS TEXT) IS NULL OR role = :role OR (CAST(:role AS TEXT) = 'member' AND role = 'owner'))
    AND (CAST(:paired AS INTEGER) IS NULL OR CAST(:paired AS INTEGER) = (CASE WHEN paired_at IS NULL THEN 0 ELSE 1 END))
    AND (CAST(:pattern AS TEXT) IS NULL OR lower(name) LIKE lower(CAST(:pattern AS TEXT)) ESCAPE '!'
        OR lower(user_id) LIKE lower(CAST(:pattern AS TEXT)) ESCAPE '!')
ORDER BY id DESC LIMIT :limit;

-- name: add_login_code
INSERT INTO login_codes (code_hash, expires_at) VALUES (:code_hash, :expires_at);

-- name: drop_old_login_codes
DELETE FROM login_codes WHERE expires_at < :now;

-- name: use_login_code
UPDATE login_codes SET used_at = :now
WHERE code_hash = :code_hash AND used_at IS NULL AND expires_at >= :now
RETURNING code_hash;

-- name: add_session
INSERT INTO sessions (token_hash, principal_id, created_at, seen_at) VALUES (:token_hash, :principal_id, :now, :now);

-- name: get_session
SELECT * FROM sessions WHERE token_hash = :token_hash;

-- name: touch_session
UPDATE sessions SET seen_at = :now WHERE token_hash = :token_hash;

-- name: delete_session
DELETE FROM sessions WHERE token_hash = :token_hash;

-- name: get_setting
SELECT value FROM settings WHERE key = :key;

-- name: put_setting
INSERT INTO settings (key, value, updated_at) VALUES (:key, :value, :now)
ON CONFLICT (key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at;
