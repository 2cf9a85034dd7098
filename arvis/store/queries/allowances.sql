-- Usage of personal limits.

-- name: allowance
SELECT since, used, notified_at FROM allowances WHERE principal_id = :principal_id AND kind = :kind;

-- name: put_allowance
INSERT INTO allowances (principal_id, kind, since, used, notified_at)
VALUES (:principal_id, :kind, :since, :used, :notified_at)
ON CONFLICT (principal_id, kind) DO UPDATE SET since = :since, used = :used, notified_at = :notified_at;

-- name: prune_allowances
DELETE FROM allowances WHERE since < :before;
