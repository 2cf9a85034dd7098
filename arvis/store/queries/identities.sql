-- Links between identities of one person: requests, and the rows that a linked identity passes to its person.

-- name: add_link_request
INSERT INTO link_requests (id, code_hash, identity_id, address, status, created_at, expires_at)
VALUES (:id, :code_hash, :identity_id, :address, 'open', :now, :expires_at);

-- name: link_request_by_code
SELECT * FROM link_requests WHERE code_hash = :code_hash;

-- name: newest_link_request
SELECT * FROM link_requests WHERE identity_id = :identity_id ORDER BY id DESC LIMIT 1;

-- name: claim_link_request
UPDATE link_requests SET status = 'claimed', claimed_by = :claimed_by WHERE id = :id AND status = 'open';

-- name: settle_link_request
UPDATE link_requests SET status = :status WHERE id = :id AND status IN ('open', 'claimed');

-- name: prune_link_requests
-- Ids begin with their creation time.
DELETE FROM link_requests WHERE id IN (SELECT id FROM link_requests WHERE id < :oldest ORDER BY id LIMIT :limit);

-- name: pass_authored_facts
UPDATE facts SET author_id = :person_id WHERE author_id = :id;

-- name: pass_confirmed_facts
UPDATE facts SET confirmed_by = :person_id WHERE confirmed_by = :id;

-- name: drop_double_values
-- If both have a value for a key, the value of the person is kept.
DELETE FROM agent_state WHERE scope = 'principal:' || CAST(:id AS TEXT) AND EXISTS (
    SELECT 1 FROM agent_state AS kept
    WHERE kept.agent_id = agent_state.agent_id AND kept.key = agent_state.key
        AND kept.scope = 'principal:' || CAST(:person_id AS TEXT)
);

-- name: pass_values
UPDATE agent_state SET scope = 'principal:' || CAST(:person_id AS TEXT) WHERE scope = 'principal:' || CAST(:id AS TEXT);

-- name: pass_authored_values
UPDATE agent_state SET author_id = :person_id WHERE author_id = :id;

-- name: pass_spending
INSERT INTO spending (scope, period, key, micros, calls, turns)
SELECT scope, period, CAST(:person_id AS TEXT), micros, calls, turns FROM spending WHERE scope = 'principal' AND key = :id
ON CONFLICT (scope, period, key) DO UPDATE
SET micros = spending.micros + excluded.micros, calls = spending.calls + excluded.calls,
    turns = spending.turns + excluded.turns;

-- name: pass_reservations
UPDATE budget_reservations SET key = :person_id WHERE scope = 'principal' AND key = :id;

-- name: pass_allowances
INSERT INTO allowances (principal_id, kind, since, used, notified_at)
SELECT CAST(:person_id AS TEXT), kind, since, used, notified_at FROM allowances WHERE principal_id = :id
ON CONFLICT (principal_id, kind) DO UPDATE SET used = allowances.used + excluded.used;

-- name: pass_usage
UPDATE usage SET principal_id = :person_id WHERE principal_id = :id;

-- name: messages_to_pass
-- Reads the whole table, because people seldom link identities.
SELECT messages.id FROM messages LEFT JOIN messages AS asked ON asked.id = messages.reply_to
WHERE messages.principal_id = :id OR asked.principal_id = :id;

-- name: pass_vectors
UPDATE embeddings SET area = :person_id WHERE kind = 'message' AND area = :id;

-- name: pass_messages
-- Reads the whole table, because people seldom link identities.
UPDATE messages SET principal_id = :person_id WHERE principal_id = :id;

-- name: pass_executions
UPDATE executions SET principal_id = :person_id WHERE principal_id = :id AND status IN ('running', 'paused');

-- name: pass_jobs
UPDATE jobs SET principal_id = :person_id WHERE principal_id = :id AND status IN ('pending', 'running');

-- name: pass_schedules
UPDATE schedules SET principal_id = :person_id WHERE principal_id = :id;

-- name: pass_authored_schedules
UPDATE schedules SET author_id = :person_id WHERE author_id = :id;

-- name: pass_webhooks
UPDATE webhooks SET principal_id = :person_id WHERE principal_id = :id;

-- name: pass_authored_webhooks
UPDATE webhooks SET author_id = :person_id WHERE author_id = :id;

-- name: pass_projects
UPDATE projects SET principal_id = :person_id WHERE principal_id = :id;

-- name: pass_authored_projects
UPDATE projects SET author_id = :person_id WHERE author_id = :id;

-- name: pass_authored_workflows
UPDATE workflow_versions SET author_id = :person_id WHERE author_id = :id;

-- name: pass_feedback
DELETE FROM feedback WHERE principal_id = :id AND message_id IN (
    SELECT rated.message_id FROM feedback AS rated WHERE rated.principal_id = :person_id
);

-- name: pass_remaining_feedback
UPDATE feedback SET principal_id = :person_id WHERE principal_id = :id;
