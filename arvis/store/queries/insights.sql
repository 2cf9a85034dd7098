-- Queries for pages and lists. Each query has a limit; cursors are ids, newest first.

-- name: usage_of_turn
SELECT * FROM usage WHERE execution_id = :execution_id ORDER BY id LIMIT 500;

-- name: usage_of_family
-- The usage of an execution and of all executions that were started for it: called executions, delegated tasks, runs,
-- compactions.
WITH RECURSIVE tree (id) AS (
    SELECT executions.id FROM executions WHERE executions.id = :execution_id
    UNION
    SELECT executions.id FROM tree JOIN executions ON executions.begun_by = tree.id
)
SELECT usage.*, agents.slug FROM tree
CROSS JOIN usage
LEFT JOIN agents ON agents.id = usage.agent_id
WHERE usage.execution_id = tree.id
ORDER BY usage.id LIMIT 500;

-- name: sums_of_family
WITH RECURSIVE tree (id) AS (
    SELECT executions.id FROM executions WHERE executions.id = :execution_id
    UNION
    SELECT executions.id FROM tree JOIN executions ON executions.begun_by = tree.id
)
SELECT
    CAST(COALESCE(sum(usage.cost_micros), 0) AS BIGINT) AS cost_micros,
    CAST(COALESCE(sum(usage.input_tokens), 0) AS BIGINT) AS input_tokens,
    CAST(COALESCE(sum(usage.output_tokens), 0) AS BIGINT) AS output_tokens,
    CAST(COALESCE(sum(usage.cached_tokens), 0) AS BIGINT) AS cached_tokens
FROM tree
CROSS JOIN usage
WHERE usage.execution_id = tree.id;

-- name: steps_of
SELECT * FROM steps WHERE execution_id = :execution_id ORDER BY number LIMIT 1000;

-- name: jobs_of_execution
SELECT * FROM jobs WHERE execution_id = :execution_id ORDER BY id LIMIT 100;

-- name: notes_of_message
SELECT * FROM timeline WHERE message_id = :message_id ORDER BY id LIMIT 500;

-- name: deliveries_of_message
SELECT * FROM deliveries WHERE message_id = :message_id ORDER BY part LIMIT 100;

-- name: status_of_message
SELECT messages.status, messages.reason, jobs.status AS job_status
FROM messages
LEFT JOIN jobs ON jobs.execution_id = messages.execution_id AND jobs.status IN ('pending', 'running')
WHERE messages.id = :id
ORDER BY jobs.status DESC LIMIT 1;

-- name: list_jobs
SELECT jobs.* FROM jobs
WHERE jobs.id < :before
    AND (CAST(:kind AS TEXT) IS NULL OR jobs.kind = :kind)
    AND (CAST(:status AS TEXT) IS NULL OR jobs.status = :status)
    AND (CAST(:agent_id AS TEXT) IS NULL OR jobs.agent_id = :agent_id)
ORDER BY jobs.id DESC LIMIT :limit;

-- name: list_waits
SELECT * FROM waits
WHERE id < :before AND kind IN ('approval', 'review', 'user', 'input')
    AND (answered_at IS NULL OR CAST(:open_only AS INTEGER) = 0)
ORDER BY id DESC LIMIT :limit;

-- name: list_conversations
SELECT conversations.*, agents.slug FROM conversations
JOIN agents ON agents.id = conversations.agent_id
WHERE conversations.id < :before AND (CAST(:agent AS TEXT) IS NULL OR agents.slug = :agent)
ORDER BY conversations.id DESC LIMIT :limit;

-- name: list_messages
SELECT * FROM messages
WHERE conversation_id = :conversation_id AND id < :before AND superseded = 0
ORDER BY id DESC LIMIT :limit;

-- name: deliveries_after
SELECT * FROM deliveries
WHERE platform = :platform AND connector = :connector AND channel = :channel AND seq > :seq
ORDER BY seq LIMIT :limit;

-- name: last_seq
SELECT seq FROM channels WHERE platform = :platform AND connector = :connector AND channel = :channel;

-- name: count_live_jobs
SELECT kind, status, CAST(count(*) AS BIGINT) AS number FROM jobs
WHERE status IN ('pending', 'running', 'failed') GROUP BY kind, status;

-- name: oldest_ready
SELECT min(created_at) AS created_at FROM jobs WHERE ready = 1;
