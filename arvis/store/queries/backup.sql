-- Counts for a backup, and the changes of a restore in the prepared database, which no other process has open.

-- name: count_messages
SELECT CAST(count(*) AS BIGINT) AS number FROM messages;

-- name: blobs_in_use
-- A file that was not fetched yet has no hash.
SELECT DISTINCT sha256 FROM attachments WHERE sha256 <> '' ORDER BY sha256;

-- name: rounds_with_pictures
-- The pictures that tools have shown are named only in the rounds.
SELECT rounds FROM messages WHERE replace(rounds, '"pictures"', '') <> rounds;

-- name: size_of_blobs
SELECT CAST(COALESCE(sum(size), 0) AS BIGINT) AS bytes
FROM (SELECT DISTINCT sha256, size FROM attachments WHERE sha256 <> '') AS blobs;

-- name: size_of_document_files
-- The stored files are compressed, so this is an upper bound.
SELECT CAST(COALESCE(sum(size), 0) AS BIGINT) AS bytes
FROM (SELECT DISTINCT blob, size FROM knowledge_documents WHERE blob <> '') AS blobs;

-- name: mark_unsent_deliveries_unknown
-- These deliveries may have been sent since the backup was made.
UPDATE deliveries SET state = 'unknown', error = :error, settled_at = :now WHERE state IN ('pending', 'sending');

-- name: interrupted_executions
-- Executions with a live job, executions with a timer that has expired since the backup (the replaced database has
-- continued them), and the callers of both. `asks`: a person may still answer a question, which continues the
-- execution.
WITH RECURSIVE interrupted (id) AS (
    SELECT execution_id FROM jobs WHERE status IN ('pending', 'running') AND execution_id IS NOT NULL
    UNION
    SELECT execution_id FROM waits WHERE answered_at IS NULL AND expires_at <= :now
    UNION
    SELECT waits.execution_id FROM interrupted
    JOIN executions ON executions.id = interrupted.id
    JOIN waits ON waits.id = executions.parent_wait
)
SELECT executions.id,
    EXISTS (
        SELECT 1 FROM jobs WHERE jobs.execution_id = executions.id AND jobs.status IN ('pending', 'running')
    ) AS has_job,
    EXISTS (
        SELECT 1 FROM waits
        WHERE waits.execution_id = executions.id AND waits.answered_at IS NULL
            AND waits.kind IN ('approval', 'review', 'user', 'input') AND (waits.expires_at IS NULL OR waits.expires_at > :now)
    ) AS asks
FROM interrupted
JOIN executions ON executions.id = interrupted.id
WHERE executions.status IN ('running', 'paused')
ORDER BY executions.id;

-- name: fail_live_jobs
-- As at the end of a job, a key that applies only to live jobs is freed.
UPDATE jobs
SET status = 'failed', ready = 0, owner = NULL, lease_until = NULL, error = :error, reason = :reason,
    finished_at = :now, key = CASE WHEN key_live = 1 THEN NULL ELSE key END
WHERE status IN ('pending', 'running');

-- name: empty_lanes
-- After `fail_live_jobs` no lane has live jobs.
DELETE FROM lanes;

-- name: raise_seqs
-- Clients may know numbers that were assigned after the backup, so new numbers begin above all of these. For a channel
-- without a row, `next_seq` begins there.
UPDATE channels SET seq = :seq WHERE seq < :seq;

-- name: end_sessions
-- A user may have logged out since the backup.
DELETE FROM sessions;

-- name: drop_login_codes
-- The codes may have been used since the backup.
DELETE FROM login_codes;

-- name: accepted_hook_calls
-- Read from the replaced database, so that a call that was accepted before is not accepted again.
SELECT webhook_id, call_id, execution_id, at FROM webhook_calls ORDER BY at DESC LIMIT 1000000;

-- name: accepted_keys
SELECT asker, key, request_hash, status, content, created_at FROM idempotency_keys ORDER BY created_at DESC LIMIT 1000000;

-- name: present_positions
-- Read from the replaced database, so that bots do not read messages again that this database has received.
SELECT platform, connector, feed, position FROM read_positions LIMIT 1000000;

-- name: forget_positions
-- Bots would read the messages since the backup again. Without a position, they begin with new messages.
DELETE FROM read_positions;

-- name: carry_position
INSERT INTO read_positions (platform, connector, feed, position) VALUES (:platform, :connector, :feed, :position)
ON CONFLICT (platform, connector, feed) DO NOTHING;

-- name: carry_hook_call
INSERT INTO webhook_calls (webhook_id, call_id, execution_id, at) VALUES (:webhook_id, :call_id, :execution_id, :at)
ON CONFLICT (webhook_id, call_id) DO NOTHING;

-- name: carry_key
INSERT INTO idempotency_keys (asker, key, request_hash, status, content, created_at)
VALUES (:asker, :key, :request_hash, :status, :content, :created_at)
ON CONFLICT (asker, key) DO UPDATE SET status = excluded.status, content = excluded.content;
