-- Facts with their search words and changes, and values. Only active facts have search words.

-- name: next_number
-- A counter row, because neither ids nor clocks follow the order of commits.
INSERT INTO counters (name, value) VALUES (:name, 1)
ON CONFLICT (name) DO UPDATE SET value = counters.value + 1
RETURNING value;

-- name: add_fact
INSERT INTO facts (
    id, number, agent_id, scope, category, content, taint, author_id, message_id, execution_id, confidence, status,
    superseded_by, accessed_at, access_count, expires_at, created_at, updated_at, valid_from, valid_until
) VALUES (
    :id, :number, :agent_id, :scope, :category, :content, :taint, :author_id, :message_id, :execution_id, :confidence,
    :status, :superseded_by, :accessed_at, :access_count, :expires_at, :created_at, :updated_at,
    :valid_from, :valid_until
);

-- name: add_fact_words
INSERT INTO fact_index (rowid, scope_key, words) VALUES (:number, :scope_key, :words);

-- name: drop_fact_words
DELETE FROM fact_index WHERE rowid = :number;

-- name: get_fact
SELECT * FROM facts WHERE id = :id;

-- name: active_facts
SELECT facts.* FROM json_each(:ids) AS listed JOIN facts ON facts.id = listed.value WHERE facts.status = 'active' LIMIT 2000;

-- name: fact_by_number
SELECT * FROM facts WHERE number = :number;

-- name: facts_of_scopes
-- Up to three scopes in one query, because a turn reads three: those of the person, the room and the agent.
SELECT * FROM facts
WHERE agent_id = :agent_id AND scope IN (:first, :second, :third) AND status = 'active'
    AND (CAST(:category AS TEXT) IS NULL OR category = :category)
ORDER BY confidence DESC, accessed_at DESC, number LIMIT :limit;

-- name: contents_of_facts
-- For the index of facts in memory. A scope has at most 500 active facts.
SELECT id, number, content FROM facts
WHERE agent_id = :agent_id AND scope IN (:first, :second, :third) AND status = 'active' LIMIT 2000;

-- name: same_facts
SELECT * FROM facts
WHERE agent_id = :agent_id AND scope = :scope AND status = 'active' AND content = :content
ORDER BY number;

-- name: weakest_facts
SELECT * FROM facts
WHERE agent_id = :agent_id AND scope = :scope AND status = 'active' AND category <> 'sticky'
    AND (CAST(:tainted_only AS INTEGER) = 0 OR taint <> '')
ORDER BY confidence, accessed_at, number DESC LIMIT :limit;

-- name: search_facts
-- The scope has no weight in the order: it only limits the search to the given scopes.
SELECT facts.* FROM fact_index
JOIN facts ON facts.number = fact_index.rowid
WHERE fact_index MATCH 'scope_key : (' || :scope_keys || ') AND words : (' || :words || ')'
ORDER BY bm25(fact_index, 0.0, 1.0), facts.number LIMIT :limit;

-- name: update_fact
UPDATE facts
SET taint = :taint, confidence = :confidence, status = :status, superseded_by = :superseded_by,
    accessed_at = :accessed_at, access_count = :access_count, expires_at = :expires_at, updated_at = :now,
    confirmed_by = :confirmed_by, valid_from = :valid_from, valid_until = :valid_until
WHERE id = :id;

-- name: touch_fact
UPDATE facts SET accessed_at = :now, access_count = access_count + 1 WHERE id = :id;

-- name: idle_facts
SELECT * FROM facts
WHERE status = 'active' AND category = :category AND accessed_at < :before AND updated_at < :before
ORDER BY accessed_at, id LIMIT :limit;

-- name: expired_facts
SELECT * FROM facts
WHERE status = 'active' AND expires_at IS NOT NULL AND expires_at <= :now
ORDER BY expires_at LIMIT :limit;

-- name: facts_over
SELECT * FROM facts
WHERE status = 'active' AND valid_until IS NOT NULL AND valid_until <= :now
ORDER BY valid_until LIMIT :limit;

-- name: past_facts
-- Up to three scopes in one query, because a turn reads three: those of the person, the room and the agent.
SELECT * FROM facts
WHERE agent_id = :agent_id AND scope IN (:first, :second, :third)
    AND valid_until IS NOT NULL AND status IN ('active', 'superseded', 'ended') AND valid_until <= :now
    AND (expires_at IS NULL OR expires_at > :now)
ORDER BY valid_until DESC, number DESC LIMIT :limit;

-- name: facts_replaced_by
SELECT * FROM facts WHERE superseded_by = :id AND status <> 'deleted' ORDER BY number DESC LIMIT :limit;

-- name: count_facts
SELECT CAST(count(*) AS BIGINT) AS number FROM facts
WHERE agent_id = :agent_id AND scope = :scope AND status = 'active';

-- name: add_fact_change
INSERT INTO fact_changes (id, number, fact_id, agent_id, scope, change, other_id, undoes, taint, valid_until, by_id, at)
VALUES (:id, :number, :fact_id, :agent_id, :scope, :change, :other_id, :undoes, :taint, :valid_until, :by_id, :now);

-- name: changes_of_fact
SELECT * FROM fact_changes WHERE fact_id = :fact_id ORDER BY number LIMIT :limit;

-- name: last_change_of_scope
SELECT * FROM fact_changes AS done
WHERE agent_id = :agent_id AND scope = :scope AND undoes IS NULL
    AND change IN ('added', 'superseded', 'merged', 'confirmed', 'deleted')
    AND NOT EXISTS (SELECT 1 FROM fact_changes AS undone WHERE undone.undoes = done.id)
ORDER BY number DESC LIMIT 1;

-- name: next_changed_scope
-- Of all scopes with a fact that a model added after the position: the scope whose newest such fact is the oldest.
SELECT fact_changes.scope, max(fact_changes.number) AS position FROM fact_changes
JOIN facts ON facts.id = fact_changes.fact_id
WHERE fact_changes.agent_id = :agent_id AND fact_changes.number > :after AND fact_changes.change = 'added'
    AND facts.execution_id IS NOT NULL
GROUP BY fact_changes.scope ORDER BY max(fact_changes.number) LIMIT 1;

-- name: erase_changes
DELETE FROM fact_changes WHERE fact_id IN (
    SELECT id FROM facts WHERE status = 'deleted' AND updated_at < :before ORDER BY updated_at, id LIMIT :limit
);

-- name: erase_facts
DELETE FROM facts WHERE id IN (
    SELECT id FROM facts WHERE status = 'deleted' AND updated_at < :before ORDER BY updated_at, id LIMIT :limit
);

-- name: prune_changes
DELETE FROM fact_changes WHERE id IN (SELECT id FROM fact_changes WHERE id < :oldest ORDER BY id LIMIT :limit);

-- name: prune_changes_of_ended_facts
DELETE FROM fact_changes WHERE fact_id IN (
    SELECT id FROM facts WHERE status IN ('superseded', 'faded', 'ended') AND updated_at < :before
    ORDER BY updated_at, id LIMIT :limit
);

-- name: prune_ended_facts
DELETE FROM facts WHERE id IN (
    SELECT id FROM facts WHERE status IN ('superseded', 'faded', 'ended') AND updated_at < :before
    ORDER BY updated_at, id LIMIT :limit
);

-- name: get_state
SELECT * FROM agent_state WHERE agent_id = :agent_id AND scope = :scope AND key = :key;

-- name: states_of_scopes
SELECT * FROM agent_state WHERE agent_id = :agent_id AND scope IN (:first, :second, :third)
ORDER BY key, scope LIMIT :limit;

-- name: count_states
SELECT CAST(count(*) AS BIGINT) AS number FROM agent_state WHERE agent_id = :agent_id AND scope = :scope;

-- name: put_state
INSERT INTO agent_state (agent_id, scope, key, value, taint, author_id, message_id, updated_at)
VALUES (:agent_id, :scope, :key, :value, :taint, :author_id, :message_id, :updated_at)
ON CONFLICT (agent_id, scope, key) DO UPDATE
SET value = excluded.value, taint = excluded.taint, author_id = excluded.author_id, message_id = excluded.message_id,
    updated_at = excluded.updated_at;

-- name: remove_state
DELETE FROM agent_state WHERE agent_id = :agent_id AND scope = :scope AND key = :key;

-- name: list_facts
SELECT * FROM facts
WHERE id < :before
    AND (CAST(:agent_id AS TEXT) IS NULL OR agent_id = :agent_id)
    AND (CAST(:scope AS TEXT) IS NULL OR scope = :scope)
    AND (CAST(:category AS TEXT) IS NULL OR category = :category)
    AND (CAST(:status AS TEXT) IS NULL OR status = :status)
ORDER BY id DESC LIMIT :limit;

-- name: find_facts
SELECT facts.* FROM fact_index
JOIN facts ON facts.number = fact_index.rowid
WHERE fact_index MATCH 'words : (' || :words || ')'
    AND (CAST(:agent_id AS TEXT) IS NULL OR facts.agent_id = :agent_id)
    AND (CAST(:scope AS TEXT) IS NULL OR facts.scope = :scope)
    AND (CAST(:category AS TEXT) IS NULL OR facts.category = :category)
    AND (CAST(:status AS TEXT) IS NULL OR facts.status = :status)
ORDER BY bm25(fact_index, 0.0, 1.0), facts.number LIMIT :limit;

-- name: list_states
SELECT * FROM agent_state
WHERE (CAST(:agent_id AS TEXT) IS NULL OR agent_id = :agent_id)
    AND (CAST(:scope AS TEXT) IS NULL OR scope = :scope)
ORDER BY agent_id, scope, key LIMIT :limit OFFSET :skipped;
