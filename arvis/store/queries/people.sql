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
-- Keeps the time of the first pairing.
UPDATE principals SET paired_at = COALESCE(paired_at, :now), updated_at = :now WHERE id = :id;

-- name: unpair_principal
UPDATE principals SET paired_at = NULL, updated_at = :now WHERE id = :id;

-- name: prefer_of_principal
UPDATE principals SET timezone = :timezone, language = :language, updated_at = :now WHERE id = :id;

-- name: list_people
-- A person with the stored role owner may no longer be an owner in the configuration; the caller checks this.
SELECT * FROM principals
WHERE id < :before
    AND (CAST(:platform AS TEXT) IS NULL OR platform = :platform)
    AND (CAST(:role AS TEXT) IS NULL OR role = :role OR (CAST(:role AS TEXT) = 'member' AND role = 'owner'))
    AND (CAST(:paired AS INTEGER) IS NULL OR CAST(:paired AS INTEGER) = (CASE WHEN paired_at IS NULL THEN 0 ELSE 1 END))
    AND (CAST(:pattern AS TEXT) IS NULL OR lower(name) LIKE lower(CAST(:pattern AS TEXT)) ESCAPE '!'
        OR lower(user_id) LIKE lower(CAST(:pattern AS TEXT)) ESCAPE '!')
ORDER BY id DESC LIMIT :limit;

-- name: people_with_rights
-- Runs once at each start.
SELECT * FROM principals WHERE role IN ('owner', 'operator') ORDER BY id LIMIT 10000;

-- name: other_person
-- Stops at the first row. Only in a table with many owners and blocked people does it read more rows.
SELECT id FROM principals WHERE id <> :id AND role IN ('member', 'operator') LIMIT 1;

-- name: get_setting
SELECT value FROM settings WHERE key = :key;

-- name: put_setting
INSERT INTO settings (key, value, updated_at) VALUES (:key, :value, :now)
ON CONFLICT (key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at;

-- name: get_key_value
SELECT value FROM kv WHERE key = :key;

-- name: delete_key_value
DELETE FROM kv WHERE key = :key;

-- name: put_key_value
INSERT INTO kv (key, value, updated_at) VALUES (:key, :value, :now)
ON CONFLICT (key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at;
