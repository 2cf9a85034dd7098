-- Writes with an Idempotency-Key.

-- name: expire_idempotency_key
DELETE FROM idempotency_keys WHERE asker = :asker AND key = :key AND created_at < :before;

-- name: reserve_idempotency_key
-- If two requests arrive at the same time, the key lets only one succeed.
INSERT INTO idempotency_keys (asker, key, request_hash, status, content, created_at)
VALUES (:asker, :key, :request, NULL, NULL, :now)
ON CONFLICT (asker, key) DO NOTHING;

-- name: idempotency_key
SELECT request_hash, status, content, created_at FROM idempotency_keys WHERE asker = :asker AND key = :key;

-- name: take_over_idempotency_key
UPDATE idempotency_keys SET created_at = :now
WHERE asker = :asker AND key = :key AND status IS NULL AND created_at = :begun_at;

-- name: finish_idempotency_key
UPDATE idempotency_keys SET status = :status, content = :content
WHERE asker = :asker AND key = :key AND status IS NULL;

-- name: release_idempotency_key
DELETE FROM idempotency_keys WHERE asker = :asker AND key = :key AND status IS NULL;

-- name: prune_idempotency_keys
DELETE FROM idempotency_keys WHERE (asker, key) IN (
    SELECT asker, key FROM idempotency_keys WHERE created_at < :before ORDER BY created_at LIMIT :limit
);
