-- name: add_audit
-- Rows are only added: no query changes a row.
INSERT INTO audit (
    id, at, execution_id, message_id, agent_id, principal_id, ordinal, kind, subject, proposal, taint, outcome, reason,
    report
) VALUES (
    :id, :at, :execution_id, :message_id, :agent_id, :principal_id, :ordinal, :kind, :subject, :proposal, :taint,
    :outcome, :reason, :report
);

-- name: audit_of_execution
SELECT * FROM audit WHERE execution_id = :execution_id ORDER BY ordinal, id;

-- name: count_audit
SELECT CAST(count(*) AS BIGINT) AS number FROM audit
WHERE principal_id = :principal_id AND kind = :kind AND at >= :since AND outcome = 'done';

-- name: list_audit
SELECT * FROM audit
WHERE id < :before
    AND (CAST(:agent_id AS TEXT) IS NULL OR agent_id = :agent_id)
    AND (CAST(:kind AS TEXT) IS NULL OR kind = :kind)
    AND (CAST(:outcome AS TEXT) IS NULL OR outcome = :outcome)
ORDER BY id DESC LIMIT :limit;

-- name: add_delegation
INSERT INTO delegations (execution_id, root_id, parent_id, agent_id, depth, path, kind, created_at)
VALUES (:execution_id, :root_id, :parent_id, :agent_id, :depth, :path, :kind, :created_at);

-- name: get_delegation
SELECT * FROM delegations WHERE execution_id = :execution_id;

-- name: hold_root
SELECT id FROM executions WHERE id = :root_id /*hold*/;

-- name: count_delegations
SELECT CAST(count(*) AS BIGINT) AS number FROM delegations WHERE root_id = :root_id AND kind <> 'run';

-- name: count_delegated_runs
SELECT CAST(count(*) AS BIGINT) AS number FROM delegations WHERE root_id = :root_id AND kind = 'run';

-- name: delegations_of_root
SELECT * FROM delegations WHERE root_id = :root_id ORDER BY created_at, execution_id LIMIT 1000;

-- name: prune_audit
DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE id < :oldest ORDER BY id LIMIT :limit);
