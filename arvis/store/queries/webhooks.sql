-- Webhooks (addresses that other programs call) and their calls.

-- name: get_webhook
SELECT * FROM webhooks WHERE id = :id;

-- name: webhook_by_path
SELECT * FROM webhooks WHERE path = :path;

-- name: add_webhook
INSERT INTO webhooks (
    id, path, name, agent_id, preset, template, platform, connector, channel, thread, secret, secret_end, enabled,
    principal_id, last_triggered, trigger_count, created_at, updated_at, graph, author_id
) VALUES (
    :id, :path, :name, :agent_id, :preset, :template, :platform, :connector, :channel, :thread, :secret, :secret_end,
    :enabled, :principal_id, :last_triggered, :trigger_count, :created_at, :updated_at, :graph, :author_id
);

-- name: update_webhook
UPDATE webhooks
SET path = :path, name = :name, agent_id = :agent_id, preset = :preset, template = :template, platform = :platform,
    connector = :connector, channel = :channel, thread = :thread, secret = :secret, secret_end = :secret_end,
    enabled = :enabled, principal_id = :principal_id, updated_at = :updated_at, graph = :graph,
    author_id = :author_id
WHERE id = :id;

-- name: remove_webhook
DELETE FROM webhooks WHERE id = :id;

-- name: forget_webhook_calls
DELETE FROM webhook_calls WHERE webhook_id = :webhook_id;

-- name: add_webhook_call
INSERT INTO webhook_calls (webhook_id, call_id, execution_id, at) VALUES (:webhook_id, :call_id, :execution_id, :now)
ON CONFLICT (webhook_id, call_id) DO NOTHING;

-- name: get_webhook_call
SELECT execution_id FROM webhook_calls WHERE webhook_id = :webhook_id AND call_id = :call_id;

-- name: note_webhook_run
UPDATE webhook_calls SET execution_id = :execution_id WHERE webhook_id = :webhook_id AND call_id = :call_id;

-- name: count_webhook_call
UPDATE webhooks SET last_triggered = :now, trigger_count = trigger_count + 1 WHERE id = :id;

-- name: prune_webhook_calls
DELETE FROM webhook_calls WHERE (webhook_id, call_id) IN (
    SELECT webhook_id, call_id FROM webhook_calls WHERE at < :before ORDER BY at LIMIT :limit
);

-- name: list_webhooks
SELECT * FROM webhooks
WHERE id < :before AND (CAST(:agent_id AS TEXT) IS NULL OR agent_id = :agent_id)
ORDER BY id DESC LIMIT :limit;
