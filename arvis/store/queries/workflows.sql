-- Workflows, their versions, triggers, runs and run logs.

-- name: get_workflow
SELECT * FROM workflows WHERE id = :id;

-- name: workflow_by_slug
SELECT * FROM workflows WHERE slug = :slug AND removed_at IS NULL;

-- name: hold_workflow
SELECT * FROM workflows WHERE id = :id /*hold*/;

-- name: add_workflow
INSERT INTO workflows (
    id, slug, name, description, enabled, version, runnable, principal_id, created_at, updated_at, removed_at
) VALUES (
    :id, :slug, :name, :description, :enabled, :version, :runnable, :principal_id, :created_at, :updated_at, :removed_at
);

-- name: update_workflow
UPDATE workflows
SET slug = :slug, name = :name, description = :description, enabled = :enabled, version = :version,
    runnable = :runnable, updated_at = :updated_at, removed_at = :removed_at
WHERE id = :id;

-- name: all_workflows
SELECT * FROM workflows WHERE removed_at IS NULL ORDER BY id LIMIT 1000;

-- name: count_workflows
-- There are few workflows, because people draw them.
SELECT COUNT(*) AS count FROM workflows WHERE removed_at IS NULL;

-- name: add_workflow_version
INSERT INTO workflow_versions (workflow_id, version, document, problems, note, principal_id, author_id, at)
VALUES (:workflow_id, :version, :document, :problems, :note, :principal_id, :author_id, :at);

-- name: get_workflow_version
SELECT * FROM workflow_versions WHERE workflow_id = :workflow_id AND version = :version;

-- name: drop_workflow_triggers
DELETE FROM workflow_triggers WHERE workflow_id = :workflow_id;

-- name: add_workflow_trigger
INSERT INTO workflow_triggers (workflow_id, node_id, kind, platform, channel, words, description)
VALUES (:workflow_id, :node_id, :kind, :platform, :channel, :words, :description);

-- name: workflow_triggers_of_kind
-- This query runs for every message. With one kind, the index returns the rows in order.
SELECT * FROM workflow_triggers WHERE kind = :kind ORDER BY workflow_id, node_id LIMIT :limit;

-- name: rows_that_begin_workflow
-- There are few schedules and webhooks. Each may name the workflow by its id or its slug.
SELECT DISTINCT kind FROM schedules WHERE enabled = 1 AND graph IN (:by_id, :by_slug)
UNION
SELECT DISTINCT 'webhook' AS kind FROM webhooks WHERE enabled = 1 AND graph IN (:by_id, :by_slug);

-- name: add_workflow_run
INSERT INTO workflow_runs (
    execution_id, workflow_id, version, source, entry, rerun_of, entries, principal_id, request, created_at
) VALUES (
    :execution_id, :workflow_id, :version, :source, :entry, :rerun_of, :entries, :principal_id, :request,
    :created_at
);

-- name: get_workflow_run
SELECT * FROM workflow_runs WHERE execution_id = :execution_id;

-- name: workflow_run_of_request
SELECT * FROM workflow_runs WHERE request = :request AND request IS NOT NULL;

-- name: count_run_entries
-- The counter defines the order of the lines, even if child executions of a run write at the same time.
UPDATE workflow_runs SET entries = entries + :count WHERE execution_id = :execution_id RETURNING entries;

-- name: add_run_entry
INSERT INTO workflow_run_log (run_id, number, at, node_id, type, content)
VALUES (:run_id, :number, :at, :node_id, :type, :content);

-- name: run_entries
SELECT * FROM workflow_run_log WHERE run_id = :run_id AND number > :after ORDER BY number LIMIT :limit;

-- name: live_runs
SELECT id AS execution_id FROM executions
WHERE graph = :graph AND substr(graph, 1, 9) = 'workflow:' AND status IN ('running', 'paused')
ORDER BY id DESC LIMIT :limit;

-- name: live_workflow_runs
SELECT * FROM executions
WHERE substr(graph, 1, 9) = 'workflow:' AND status IN ('running', 'paused')
ORDER BY id DESC LIMIT :limit;

-- name: old_runs
-- Uses the primary key: ids begin with their creation time, so the oldest runs are read first. Runs without a log were
-- pruned before.
SELECT workflow_runs.execution_id FROM workflow_runs
JOIN executions ON executions.id = workflow_runs.execution_id
WHERE workflow_runs.execution_id < :oldest AND workflow_runs.entries > 0
    AND executions.status IN ('done', 'failed', 'cancelled') AND executions.updated_at < :before
ORDER BY workflow_runs.execution_id LIMIT :limit;

-- name: forget_run_log
DELETE FROM workflow_run_log WHERE run_id = :execution_id;

-- name: forget_run_entries
UPDATE workflow_runs SET entries = 0 WHERE execution_id = :execution_id;

-- name: delete_workflow_run
DELETE FROM workflow_runs WHERE execution_id = :execution_id;
