-- name: add_execution
INSERT INTO executions (
    id, graph, version, state, status, result, lane, priority, principal_id, parent_wait, steps, created_at,
    updated_at, begun_by
) VALUES (
    :id, :graph, :version, :state, 'running', 'null', :lane, :priority, :principal_id, :parent_wait, 0, :now, :now,
    COALESCE(:begun_by, (SELECT waits.execution_id FROM waits WHERE waits.id = :parent_wait))
);

-- name: set_begun_by
UPDATE executions SET begun_by = NULLIF(:begun_by, '') WHERE id = :id;

-- name: get_execution
SELECT * FROM executions WHERE id = :id;

-- name: list_executions
SELECT * FROM executions
WHERE id < :before
    AND (CAST(:graph AS TEXT) IS NULL OR graph = :graph)
    AND (CAST(:status AS TEXT) IS NULL OR status = :status)
ORDER BY id DESC LIMIT :limit;

-- name: save_execution
UPDATE executions
SET graph = :graph, version = :version, state = :state, status = :status, result = :result, steps = :steps, error = :error,
    updated_at = :updated_at
WHERE id = :id;

-- name: set_execution_status
UPDATE executions SET status = :status, error = :error, updated_at = :now WHERE id = :id;

-- name: delete_execution_cursors
DELETE FROM cursors WHERE execution_id = :execution_id;

-- name: delete_execution
-- For an execution whose message has joined another turn. It is deleted only if it has made no step.
DELETE FROM executions WHERE id = :id AND steps = 0;

-- name: count_visits
SELECT COUNT(*) AS count FROM steps
WHERE execution_id = :execution_id AND decision NOT IN ('pause', 'call', 'repeat', 'join', 'drop');

-- name: cursors_of
SELECT * FROM cursors WHERE execution_id = :execution_id ORDER BY id;

-- name: put_cursor
INSERT INTO cursors (id, execution_id, node, value, repeats, visits, wait_id)
VALUES (:id, :execution_id, :node, :value, :repeats, :visits, :wait_id)
ON CONFLICT (id) DO UPDATE
SET node = excluded.node, value = excluded.value, repeats = excluded.repeats, visits = excluded.visits,
    wait_id = excluded.wait_id;

-- name: delete_cursor
DELETE FROM cursors WHERE id = :id;

-- name: add_step
INSERT INTO steps (execution_id, number, node, decision, changes, at)
VALUES (:execution_id, :number, :node, :decision, :changes, :at);

-- name: effects_of
SELECT * FROM effects WHERE execution_id = :execution_id ORDER BY visit, name;

-- name: put_effect
INSERT INTO effects (execution_id, cursor_id, visit, name, state, result, at)
VALUES (:execution_id, :cursor_id, :visit, :name, :state, :result, :at)
ON CONFLICT (execution_id, cursor_id, visit, name) DO UPDATE
SET state = excluded.state, result = excluded.result, at = excluded.at;

-- name: costs_of_executions
SELECT executions.id, CAST(sum(usage.cost_micros) AS BIGINT) AS micros FROM executions
JOIN usage ON usage.execution_id = executions.id
WHERE executions.id >= :oldest AND executions.id <= :newest
    AND (CAST(:graph AS TEXT) IS NULL OR executions.graph = :graph)
    AND (CAST(:status AS TEXT) IS NULL OR executions.status = :status)
GROUP BY executions.id;

-- name: executions_below
-- All executions that were started for these: called executions, delegated tasks, runs, compactions.
WITH RECURSIVE tree (id) AS (
    SELECT executions.id FROM json_each(:ids) AS listed JOIN executions ON executions.begun_by = listed.value
    UNION
    SELECT executions.id FROM tree JOIN executions ON executions.begun_by = tree.id
)
SELECT executions.* FROM tree CROSS JOIN executions WHERE executions.id = tree.id
ORDER BY executions.id LIMIT :limit;

-- name: children_of
SELECT executions.* FROM executions
JOIN waits ON waits.id = executions.parent_wait
WHERE waits.execution_id = :execution_id
ORDER BY executions.id;

-- name: add_wait
INSERT INTO waits (id, execution_id, cursor_id, kind, prompt, choices, subject, resumes, lane, asked_at, expires_at)
SELECT :id, executions.id, :cursor_id, :kind, :prompt, :choices, :subject, :resumes, executions.lane, CAST(:asked_at AS BIGINT),
    CAST(:expires_at AS BIGINT)
FROM executions WHERE executions.id = :execution_id;

-- name: get_wait
SELECT * FROM waits WHERE id = :id;

-- name: waits_of
SELECT * FROM waits WHERE execution_id = :execution_id ORDER BY id;

-- name: answered_waits
SELECT id FROM waits WHERE execution_id = :execution_id AND answered_at IS NOT NULL;

-- name: any_open_wait
SELECT id FROM waits WHERE answered_at IS NULL AND id > '' LIMIT 1;

-- name: open_waits_in_lane
SELECT * FROM waits WHERE lane = :lane AND answered_at IS NULL AND kind IN (:kind, :second, :third)
ORDER BY id LIMIT 100;

-- name: find_wait_in
-- This column is used only for the search. The execution itself stays in its own lane.
UPDATE waits SET lane = :lane WHERE id = :id;

-- name: answer_wait
-- Only the first answer counts.
UPDATE waits SET answer = :answer, answered_by = :answered_by, answered_at = :now
WHERE id = :id AND answered_at IS NULL
RETURNING id;

-- name: close_waits
UPDATE waits SET answered_by = 'closed', answered_at = :now WHERE execution_id = :execution_id AND answered_at IS NULL;

-- name: due_waits
SELECT * FROM waits WHERE answered_at IS NULL AND expires_at IS NOT NULL AND expires_at <= :now
ORDER BY expires_at LIMIT :limit;

-- name: next_due_wait
SELECT expires_at FROM waits WHERE answered_at IS NULL AND expires_at IS NOT NULL ORDER BY expires_at LIMIT 1;

-- name: old_executions
SELECT id FROM executions
WHERE id < :oldest AND updated_at < :before AND status IN ('done', 'failed', 'cancelled')
ORDER BY id LIMIT :limit;

-- name: delete_execution_steps
DELETE FROM steps WHERE execution_id = :execution_id;

-- name: delete_execution_effects
DELETE FROM effects WHERE execution_id = :execution_id;

-- name: delete_execution_waits
DELETE FROM waits WHERE execution_id = :execution_id;

-- name: delete_execution_delegation
DELETE FROM delegations WHERE execution_id = :execution_id;

-- name: delete_old_execution
DELETE FROM executions WHERE id = :execution_id;
