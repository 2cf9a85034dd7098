-- name: get_role_lease
SELECT * FROM role_leases WHERE name = :name;

-- name: add_role_lease
-- For the first owner. If two processes try at the same time, the key lets only one succeed.
INSERT INTO role_leases (name, owner, node, claim, beat) VALUES (:name, :owner, :node, 1, 0)
ON CONFLICT (name) DO NOTHING RETURNING *;

-- name: take_role_lease
-- Only if the owner did not renew the lease: a renewal or another take-over would have changed one of the counters.
UPDATE role_leases SET owner = :owner, node = :node, claim = claim + 1, beat = 0
WHERE name = :name AND claim = :claim AND beat = :beat RETURNING *;

-- name: renew_role_lease
UPDATE role_leases SET beat = beat + 1 WHERE name = :name AND owner = :owner AND claim = :claim;

-- name: release_role_lease
UPDATE role_leases SET owner = NULL WHERE name = :name AND owner = :owner AND claim = :claim;
