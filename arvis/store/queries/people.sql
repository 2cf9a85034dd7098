-- People. A row is an identity; a linked identity has the id, the rights and the preferences of its person.

-- name: find_principal
SELECT principals.id AS identity_id, COALESCE(main.id, principals.id) AS id, principals.platform, principals.user_id,
    principals.name, COALESCE(main.role, principals.role) AS role,
    CASE WHEN main.id IS NULL THEN principals.paired_at ELSE main.paired_at END AS paired_at,
    CASE WHEN main.id IS NULL THEN principals.timezone ELSE main.timezone END AS timezone,
    CASE WHEN main.id IS NULL THEN principals.language ELSE main.language END AS language,
    principals.created_at, principals.updated_at
FROM principals LEFT JOIN principals AS main ON main.id = principals.person_id
WHERE principals.platform = :platform AND principals.user_id = :user_id;

-- name: get_principal
SELECT principals.id AS identity_id, COALESCE(main.id, principals.id) AS id, principals.platform, principals.user_id,
    principals.name, COALESCE(main.role, principals.role) AS role,
    CASE WHEN main.id IS NULL THEN principals.paired_at ELSE main.paired_at END AS paired_at,
    CASE WHEN main.id IS NULL THEN principals.timezone ELSE main.timezone END AS timezone,
    CASE WHEN main.id IS NULL THEN principals.language ELSE main.language END AS language,
    principals.created_at, principals.updated_at
FROM principals LEFT JOIN principals AS main ON main.id = principals.person_id
WHERE principals.id = :id;

-- name: identities_of
-- All identities of a person, with their own ids.
SELECT principals.id AS identity_id, principals.* FROM principals WHERE principals.id = :person_id
UNION ALL
SELECT principals.id AS identity_id, principals.* FROM principals WHERE principals.person_id = :person_id;

-- name: add_principal
INSERT INTO principals (id, platform, user_id, name, role, created_at, updated_at)
VALUES (:id, :platform, :user_id, :name, :role, :now, :now);

-- name: set_role_of_principal
UPDATE principals SET role = :role, updated_at = :now
WHERE id = COALESCE((SELECT linked.person_id FROM principals AS linked WHERE linked.id = :id), :id)
    OR person_id = COALESCE((SELECT linked.person_id FROM principals AS linked WHERE linked.id = :id), :id);

-- name: rename_identity
UPDATE principals SET name = :name, updated_at = :now WHERE id = :id;

-- name: link_identity
UPDATE principals SET person_id = :person_id, updated_at = :now WHERE id = :id;

-- name: unlink_identity
UPDATE principals SET person_id = NULL, role = :role, paired_at = CAST(:paired_at AS BIGINT), updated_at = :now
WHERE id = :id AND person_id IS NOT NULL;

-- name: unlink_identities_of
UPDATE principals SET person_id = NULL, role = :role, updated_at = :now,
    paired_at = (SELECT main.paired_at FROM principals AS main WHERE main.id = :id)
WHERE person_id = :id;

-- name: pair_principal
-- Keeps the time of the first pairing.
UPDATE principals SET paired_at = COALESCE(paired_at, :now), updated_at = :now
WHERE id = COALESCE((SELECT linked.person_id FROM principals AS linked WHERE linked.id = :id), :id)
    OR person_id = COALESCE((SELECT linked.person_id FROM principals AS linked WHERE linked.id = :id), :id);

-- name: unpair_principal
UPDATE principals SET paired_at = NULL, updated_at = :now
WHERE id = COALESCE((SELECT linked.person_id FROM principals AS linked WHERE linked.id = :id), :id)
    OR person_id = COALESCE((SELECT linked.person_id FROM principals AS linked WHERE linked.id = :id), :id);

-- name: prefer_of_principal
UPDATE principals SET timezone = :timezone, language = :language, updated_at = :now
WHERE id = COALESCE((SELECT linked.person_id FROM principals AS linked WHERE linked.id = :id), :id)
    OR person_id = COALESCE((SELECT linked.person_id FROM principals AS linked WHERE linked.id = :id), :id);

-- name: list_people
-- A person with the stored role owner may no longer be an owner in the configuration; the caller checks this.
SELECT principals.id AS identity_id, COALESCE(main.id, principals.id) AS id, principals.platform, principals.user_id,
    principals.name, COALESCE(main.role, principals.role) AS role,
    CASE WHEN main.id IS NULL THEN principals.paired_at ELSE main.paired_at END AS paired_at,
    CASE WHEN main.id IS NULL THEN principals.timezone ELSE main.timezone END AS timezone,
    CASE WHEN main.id IS NULL THEN principals.language ELSE main.language END AS language,
    principals.created_at, principals.updated_at
FROM principals LEFT JOIN principals AS main ON main.id = principals.person_id
WHERE principals.id < :before
    AND (CAST(:platform AS TEXT) IS NULL OR principals.platform = :platform)
    AND (CAST(:role AS TEXT) IS NULL OR COALESCE(main.role, principals.role) = :role
        OR (CAST(:role AS TEXT) = 'member' AND COALESCE(main.role, principals.role) = 'owner'))
    AND (CAST(:paired AS INTEGER) IS NULL OR CAST(:paired AS INTEGER) = (
        CASE WHEN (CASE WHEN main.id IS NULL THEN principals.paired_at ELSE main.paired_at END) IS NULL THEN 0 ELSE 1 END
    ))
    AND (CAST(:pattern AS TEXT) IS NULL OR lower(principals.name) LIKE lower(CAST(:pattern AS TEXT)) ESCAPE '!'
        OR lower(principals.user_id) LIKE lower(CAST(:pattern AS TEXT)) ESCAPE '!')
ORDER BY principals.id DESC LIMIT :limit;

-- name: people_with_rights
-- Runs once at each start.
SELECT principals.id AS identity_id, principals.* FROM principals
WHERE role IN ('owner', 'operator') AND person_id IS NULL ORDER BY id LIMIT 10000;

-- name: other_person
-- Stops at the first row. Only in a table with many owners and blocked people does it read more rows.
SELECT id FROM principals WHERE COALESCE(person_id, id) <> :id AND role IN ('member', 'operator') LIMIT 1;

-- name: get_setting
SELECT value FROM settings WHERE key = :key;

-- name: put_setting
INSERT INTO settings (key, value, updated_at) VALUES (:key, :value, :now)
ON CONFLICT (key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at;

-- name: get_key_value
SELECT value FROM kv WHERE key = :key;

-- name: delete_key_value
DELETE FROM kv WHERE key = :key;

-- name: delete_other_key_values
DELETE FROM kv
WHERE substr(key, 1, length(CAST(:prefix AS TEXT))) = CAST(:prefix AS TEXT)
    AND key NOT IN (SELECT listed.value FROM json_each(:keys) AS listed);

-- name: swap_key_value
UPDATE kv SET value = :value, updated_at = :now WHERE key = :key AND value = :before;

-- name: put_key_value
INSERT INTO kv (key, value, updated_at) VALUES (:key, :value, :now)
ON CONFLICT (key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at;
