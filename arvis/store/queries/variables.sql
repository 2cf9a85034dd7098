-- name: get_variable
SELECT * FROM variables WHERE key = :key;

-- name: variables_after
-- A page in the order of the primary key. The order of letters differs between the databases, but not between pages.
SELECT * FROM variables WHERE key > :after ORDER BY key LIMIT :limit;

-- name: put_variable
INSERT INTO variables (key, value, secret, updated_at) VALUES (:key, :value, :secret, :now)
ON CONFLICT (key) DO UPDATE
SET value = excluded.value, secret = excluded.secret, updated_at = excluded.updated_at;

-- name: remove_variable
DELETE FROM variables WHERE key = :key;
