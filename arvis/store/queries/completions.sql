-- Requests to /v1.

-- name: add_completion_request
INSERT INTO completion_requests (
    id, scope, request_hash, transcript_hash, system_hash, answer_hash, request_key, thread, position, disconnected_at, created_at
) VALUES (
    :id, :scope, :request_hash, :transcript_hash, :system_hash, NULL, :request_key, :thread, :position, NULL, :created_at
) ON CONFLICT DO NOTHING;

-- name: drop_completion_request
DELETE FROM completion_requests WHERE id = :id;

-- name: completion_by_key
SELECT * FROM completion_requests WHERE scope = :scope AND request_key = :request_key;

-- name: completion_by_request
SELECT * FROM completion_requests WHERE scope = :scope AND request_hash = :request_hash AND created_at >= :since
ORDER BY created_at DESC, id DESC LIMIT 1;

-- name: completion_by_talk
SELECT * FROM completion_requests AS known
WHERE scope = :scope AND transcript_hash = :transcript_hash AND answer_hash = :answer_hash AND NOT EXISTS (
    SELECT 1 FROM completion_requests AS later
    WHERE later.scope = known.scope AND later.thread = known.thread AND later.position > known.position
)
ORDER BY created_at DESC, id DESC LIMIT 1;

-- name: newest_completion
SELECT * FROM completion_requests WHERE scope = :scope AND thread = :thread ORDER BY position DESC LIMIT 1;

-- name: completion_answered
UPDATE completion_requests SET answer_hash = :answer_hash, disconnected_at = NULL WHERE id = :id;

-- name: completion_left
UPDATE completion_requests SET disconnected_at = :disconnected_at WHERE id = :id AND answer_hash IS NULL;

-- name: prune_completion_requests
DELETE FROM completion_requests WHERE id IN (
    SELECT id FROM completion_requests WHERE created_at < :before ORDER BY created_at LIMIT :limit
);
