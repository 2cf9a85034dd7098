-- Pages about workflows and their runs.

-- name: list_workflows
SELECT workflows.*, workflow_versions.problems FROM workflows
JOIN workflow_versions
    ON workflow_versions.workflow_id = workflows.id AND workflow_versions.version = workflows.version
WHERE workflows.id < :before AND workflows.removed_at IS NULL
    AND (CAST(:enabled AS INTEGER) IS NULL OR workflows.enabled = :enabled)
    AND (
        CAST(:pattern AS TEXT) IS NULL
        OR lower(workflows.name) LIKE lower(CAST(:pattern AS TEXT)) ESCAPE '!'
        OR lower(workflows.slug) LIKE lower(CAST(:pattern AS TEXT)) ESCAPE '!'
        OR lower(workflows.description) LIKE lower(CAST(:pattern AS TEXT)) ESCAPE '!'
    )
ORDER BY workflows.id DESC LIMIT :limit;

-- name: shown_workflow
SELECT workflows.*, workflow_versions.problems FROM workflows
JOIN workflow_versions
    ON workflow_versions.workflow_id = workflows.id AND workflow_versions.version = workflows.version
WHERE workflows.id = :id;

-- name: trigger_kinds_of
SELECT kind FROM workflow_triggers WHERE workflow_id = :workflow_id ORDER BY node_id LIMIT 500;

-- name: last_run_of
SELECT execution_id FROM workflow_runs
WHERE workflow_id = :workflow_id
ORDER BY execution_id DESC LIMIT 1;

-- name: count_live_runs
SELECT COUNT(*) AS count FROM (
    SELECT id FROM executions
    WHERE graph = :graph AND substr(graph, 1, 9) = 'workflow:' AND status IN ('running', 'paused')
    LIMIT :limit
) AS picked;

-- name: list_workflow_versions
SELECT workflow_versions.version, workflow_versions.problems, workflow_versions.note, workflow_versions.at,
    principals.name AS principal_name
FROM workflow_versions LEFT JOIN principals ON principals.id = workflow_versions.principal_id
WHERE workflow_versions.workflow_id = :workflow_id AND workflow_versions.version < :before
ORDER BY workflow_versions.version DESC LIMIT :limit;

-- name: list_runs
-- The runs of all workflows, in the order of the primary key. `list_runs_of` reads those of one workflow by its index.
SELECT workflow_runs.*, workflows.slug, workflows.name, executions.status, executions.steps, executions.error,
    executions.updated_at, executions.parent_wait, spending.micros,
    EXISTS (
        SELECT 1 FROM waits
        WHERE waits.execution_id = executions.id AND waits.kind = 'child' AND waits.answered_at IS NULL
    ) AS calls,
    EXISTS (
        SELECT 1 FROM jobs WHERE jobs.execution_id = executions.id AND jobs.status IN ('pending', 'running')
    ) AS queued
FROM workflow_runs
JOIN executions ON executions.id = workflow_runs.execution_id
JOIN workflows ON workflows.id = workflow_runs.workflow_id
LEFT JOIN spending
    ON spending.scope = 'turn' AND spending.period = '' AND spending.key = workflow_runs.execution_id
WHERE workflow_runs.execution_id < :before
    AND (CAST(:status AS TEXT) IS NULL OR executions.status = :status)
    AND (
        CAST(:source AS TEXT) IS NULL OR workflow_runs.source = :source
        OR workflow_runs.source LIKE CAST(:pattern AS TEXT) ESCAPE '!'
    )
ORDER BY workflow_runs.execution_id DESC LIMIT :limit;

-- name: list_runs_of
SELECT workflow_runs.*, workflows.slug, workflows.name, executions.status, executions.steps, executions.error,
    executions.updated_at, executions.parent_wait, spending.micros,
    EXISTS (
        SELECT 1 FROM waits
        WHERE waits.execution_id = executions.id AND waits.kind = 'child' AND waits.answered_at IS NULL
    ) AS calls,
    EXISTS (
        SELECT 1 FROM jobs WHERE jobs.execution_id = executions.id AND jobs.status IN ('pending', 'running')
    ) AS queued
FROM workflow_runs
JOIN executions ON executions.id = workflow_runs.execution_id
JOIN workflows ON workflows.id = workflow_runs.workflow_id
LEFT JOIN spending
    ON spending.scope = 'turn' AND spending.period = '' AND spending.key = workflow_runs.execution_id
WHERE workflow_runs.workflow_id = :workflow_id AND workflow_runs.execution_id < :before
    AND (CAST(:status AS TEXT) IS NULL OR executions.status = :status)
    AND (
        CAST(:source AS TEXT) IS NULL OR workflow_runs.source = :source
        OR workflow_runs.source LIKE CAST(:pattern AS TEXT) ESCAPE '!'
    )
ORDER BY workflow_runs.execution_id DESC LIMIT :limit;

-- name: list_live_runs
-- Live runs. The query uses the index that contains only live runs.
SELECT workflow_runs.*, workflows.slug, workflows.name, executions.status, executions.steps, executions.error,
    executions.updated_at, executions.parent_wait, spending.micros,
    EXISTS (
        SELECT 1 FROM waits
        WHERE waits.execution_id = executions.id AND waits.kind = 'child' AND waits.answered_at IS NULL
    ) AS calls,
    EXISTS (
        SELECT 1 FROM jobs WHERE jobs.execution_id = executions.id AND jobs.status IN ('pending', 'running')
    ) AS queued
FROM executions
JOIN workflow_runs ON workflow_runs.execution_id = executions.id
JOIN workflows ON workflows.id = workflow_runs.workflow_id
LEFT JOIN spending
    ON spending.scope = 'turn' AND spending.period = '' AND spending.key = executions.id
WHERE executions.id < :before AND substr(executions.graph, 1, 9) = 'workflow:'
    AND executions.status IN ('running', 'paused')
    AND (CAST(:workflow_id AS TEXT) IS NULL OR workflow_runs.workflow_id = :workflow_id)
    AND (
        CAST(:source AS TEXT) IS NULL OR workflow_runs.source = :source
        OR workflow_runs.source LIKE CAST(:pattern AS TEXT) ESCAPE '!'
    )
ORDER BY executions.id DESC LIMIT :limit;

-- name: count_ended_runs
SELECT COALESCE(sum(CASE WHEN status = 'done' THEN 1 ELSE 0 END), 0) AS completed,
    COALESCE(sum(CASE WHEN status = 'failed' THEN 1 ELSE 0 END), 0) AS failed,
    COALESCE(sum(CASE WHEN status = 'cancelled' THEN 1 ELSE 0 END), 0) AS cancelled
FROM executions
WHERE substr(graph, 1, 9) = 'workflow:' AND status IN ('done', 'failed', 'cancelled')
    AND updated_at >= :since AND updated_at < :until;

-- name: count_sleeping_runs
-- Uses the index of live runs, so the complete condition of the index is repeated here.
SELECT COUNT(*) AS count FROM executions
WHERE id > '' AND substr(graph, 1, 9) = 'workflow:' AND status IN ('running', 'paused') AND status = 'paused';

-- name: one_run
SELECT workflow_runs.*, workflows.slug, workflows.name, executions.status, executions.steps, executions.error,
    executions.updated_at, executions.parent_wait, spending.micros,
    EXISTS (
        SELECT 1 FROM waits
        WHERE waits.execution_id = executions.id AND waits.kind = 'child' AND waits.answered_at IS NULL
    ) AS calls,
    EXISTS (
        SELECT 1 FROM jobs WHERE jobs.execution_id = executions.id AND jobs.status IN ('pending', 'running')
    ) AS queued
FROM workflow_runs
JOIN executions ON executions.id = workflow_runs.execution_id
JOIN workflows ON workflows.id = workflow_runs.workflow_id
LEFT JOIN spending
    ON spending.scope = 'turn' AND spending.period = '' AND spending.key = workflow_runs.execution_id
WHERE workflow_runs.execution_id = :execution_id;

-- name: questions_of_run
-- The open questions of a run and of its child executions, each with the node of the run to which it belongs. The
-- limits for the depth and the number of calls bound this query.
WITH RECURSIVE tree (id, node) AS (
    SELECT executions.id, CAST(NULL AS TEXT) FROM executions WHERE executions.id = :execution_id
    UNION ALL
    SELECT child.id, COALESCE(tree.node, cursors.node) FROM tree
    JOIN waits AS calling ON calling.execution_id = tree.id AND calling.kind = 'child' AND calling.answered_at IS NULL
    JOIN executions AS child ON child.parent_wait = calling.id
    LEFT JOIN cursors ON cursors.id = calling.cursor_id
)
SELECT waits.id, COALESCE(tree.node, cursors.node) AS node FROM tree
CROSS JOIN waits
LEFT JOIN cursors ON cursors.id = waits.cursor_id
WHERE waits.execution_id = tree.id AND waits.kind IN ('approval', 'review', 'user', 'input') AND waits.answered_at IS NULL
ORDER BY waits.id LIMIT :limit;

-- name: costs_below
WITH RECURSIVE tree (id) AS (
    SELECT executions.id FROM executions WHERE executions.id = :execution_id
    UNION ALL
    SELECT child.id FROM tree
    JOIN waits AS calling ON calling.execution_id = tree.id AND calling.kind = 'child'
    JOIN executions AS child ON child.parent_wait = calling.id
)
SELECT CAST(COALESCE(sum(usage.cost_micros), 0) AS BIGINT) AS micros FROM tree
JOIN usage ON usage.execution_id = tree.id;

-- name: visits_of
-- Completed visits. A visit that asks or calls is completed by its answer; a branch that joins another makes no visit.
SELECT node, COUNT(*) AS visits FROM steps
WHERE execution_id = :execution_id AND decision NOT IN ('pause', 'call', 'repeat', 'join', 'drop')
GROUP BY node;

-- name: places_of
SELECT cursors.node, waits.kind FROM cursors
LEFT JOIN waits ON waits.id = cursors.wait_id AND waits.answered_at IS NULL
WHERE cursors.execution_id = :execution_id;

-- name: children_of_run
SELECT executions.id, executions.graph, executions.status, executions.created_at, cursors.node,
    jobs.attempts, jobs.run_at, jobs.error, jobs.reason
FROM executions
JOIN waits ON waits.id = executions.parent_wait
LEFT JOIN cursors ON cursors.id = waits.cursor_id
LEFT JOIN jobs ON jobs.execution_id = executions.id AND jobs.status = 'pending' AND (jobs.error IS NOT NULL OR jobs.attempts > 0)
WHERE waits.execution_id = :execution_id
ORDER BY executions.id LIMIT :limit;
