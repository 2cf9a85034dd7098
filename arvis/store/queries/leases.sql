-- name: get_role_lease
SELECT * FROM role_leases WHERE name = :name;

-- name: add_role_lease
-- The first holder; if two processes try at the same moment, the key refuses one.
INSERT INTO role_leases (name, owner, node, claim, beat) VALUES (:name, :owner, :node, 1, 0)
ON CONFLICT (name) DO NOTHING RETURNING *;

-- name: take_role_lease
-- Only from the holder that was silent: a heartbeat or a take-over in between has changed one of the counters.
UPDATE role_leases SET owner = :owner, node = :node, claim = claim + 1, beat = 0
WHERE name = :name AND claim = :claim AND beat = :beat RETURNING *;

-- name: renew_role_lease
UPDATE role_leases SET beat = beat + 1 WHERE name = :name AND owner = :owner AND claim = :claim;

-- name: release_role_lease
UPDATE role_leases SET owner = NULL WHERE name = :name AND owner = :owner AND claim = :claim;
