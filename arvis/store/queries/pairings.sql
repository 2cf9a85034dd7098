-- name: add_pairing
INSERT INTO pairings (
    id, code_hash, platform, connector, channel, user_id, user_name, status, created_at, expires_at
) VALUES (
    :id, :code_hash, :platform, :connector, :channel, :user_id, :user_name, :status, :created_at, :expires_at
);

-- name: get_pairing
SELECT * FROM pairings WHERE id = :id;

-- name: pairing_by_code
SELECT * FROM pairings WHERE code_hash = :code_hash;

-- name: newest_pairing
-- The newest by id, which is exact enough: a person has one request at a time.
SELECT * FROM pairings WHERE platform = :platform AND user_id = :user_id ORDER BY id DESC LIMIT 1;

-- name: count_pending_pairings
SELECT CAST(count(*) AS BIGINT) AS number FROM pairings
WHERE platform = :platform AND connector = :connector AND expires_at > :now AND status = 'pending';

-- name: settle_pairing
UPDATE pairings SET status = :status, settled_at = :now, by_id = :by_id WHERE id = :id AND status = 'pending';

-- name: prune_pairings
-- Ids begin with their creation time.
DELETE FROM pairings WHERE id IN (SELECT id FROM pairings WHERE id < :oldest ORDER BY id LIMIT :limit);

-- name: list_pairings
SELECT * FROM pairings
WHERE id < :before
    AND (CAST(:now AS BIGINT) IS NULL OR (status = 'pending' AND expires_at > :now))
ORDER BY id DESC LIMIT :limit;
