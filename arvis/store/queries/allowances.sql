-- Usage of personal limits.

-- name: allowance
SELECT since, used, notified_at FROM allowances WHERE principal_id = :principal_id AND kind = :kind;

-- name: put_allowance
INSERT INTO allowances (principal_id, kind, since, used, notified_at)
VALUES (:principal_id, :kind, :since, :used, :notified_at)
ON CONFLICT (principal_id, kind) DO UPDATE SET since = :since, used = :used, notified_at = :notified_at;

-- name: use_allowance
-- The window of the limit has begun and not ended, and the new use stays within the limit.
UPDATE allowances SET used = used + :size
WHERE principal_id = :principal_id AND kind = :kind AND since > :after AND since <= :now AND used + :size <= :most
RETURNING used;

-- name: prune_allowances
DELETE FROM allowances WHERE since < :before;
