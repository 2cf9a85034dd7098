-- Evaluations: suites, cases, and the results of evaluations.

-- name: list_suites
SELECT evaluation_suites.*,
    (SELECT count(*) FROM evaluation_cases WHERE evaluation_cases.suite_id = evaluation_suites.id) AS cases
FROM evaluation_suites ORDER BY evaluation_suites.name LIMIT 1000;

-- name: get_suite
SELECT evaluation_suites.*,
    (SELECT count(*) FROM evaluation_cases WHERE evaluation_cases.suite_id = evaluation_suites.id) AS cases
FROM evaluation_suites WHERE id = :id;

-- name: suite_by_name
SELECT evaluation_suites.*,
    (SELECT count(*) FROM evaluation_cases WHERE evaluation_cases.suite_id = evaluation_suites.id) AS cases
FROM evaluation_suites WHERE name = :name;

-- name: gates_of_agent
SELECT evaluation_suites.*,
    (SELECT count(*) FROM evaluation_cases WHERE evaluation_cases.suite_id = evaluation_suites.id) AS cases
FROM evaluation_suites WHERE agent_id = :agent_id AND gate = 1 ORDER BY name LIMIT 100;

-- name: add_suite
INSERT INTO evaluation_suites (id, name, agent_id, gate, created_at) VALUES (:id, :name, :agent_id, :gate, :created_at);

-- name: set_gate
UPDATE evaluation_suites SET gate = :gate WHERE id = :id;

-- name: drop_results_of_suite
DELETE FROM evaluation_results
WHERE evaluation_id IN (SELECT id FROM evaluations WHERE suite_id = :suite_id);

-- name: drop_evaluations_of_suite
DELETE FROM evaluations WHERE suite_id = :suite_id;

-- name: drop_cases_of_suite
DELETE FROM evaluation_cases WHERE suite_id = :suite_id;

-- name: drop_suite
DELETE FROM evaluation_suites WHERE id = :suite_id;

-- name: cases_of_suite
SELECT * FROM evaluation_cases WHERE suite_id = :suite_id ORDER BY name LIMIT :limit;

-- name: next_case
SELECT * FROM evaluation_cases WHERE suite_id = :suite_id AND name > :after ORDER BY name LIMIT 1;

-- name: hashes_of_cases
SELECT name, hash FROM evaluation_cases WHERE suite_id = :suite_id ORDER BY name LIMIT :limit;

-- name: get_case
SELECT * FROM evaluation_cases WHERE id = :id;

-- name: case_by_name
SELECT * FROM evaluation_cases WHERE suite_id = :suite_id AND name = :name;

-- name: put_case
INSERT INTO evaluation_cases (
    id, suite_id, name, document, hash, conversation_id, person_id, created_at, updated_at
) VALUES (:id, :suite_id, :name, :document, :hash, :conversation_id, :person_id, :created_at, :updated_at)
ON CONFLICT (id) DO UPDATE SET
    name = excluded.name, document = excluded.document, hash = excluded.hash,
    -- An edited document may lack its conversation, but it still contains the messages.
    conversation_id = COALESCE(excluded.conversation_id, evaluation_cases.conversation_id),
    person_id = excluded.person_id, updated_at = excluded.updated_at;

-- name: drop_case
DELETE FROM evaluation_cases WHERE id = :id;

-- name: drop_results_of_case
DELETE FROM evaluation_results WHERE case_id = :case_id;

-- name: add_evaluation
INSERT INTO evaluations (
    id, suite_id, changes, agent_hash, cases_hash, count, most_micros, judge, by_id, created_at, ended_at, problem
) VALUES (
    :id, :suite_id, :changes, :agent_hash, :cases_hash, :count, :most_micros, :judge, :by_id, :created_at, NULL, ''
);

-- name: end_evaluation
UPDATE evaluations SET ended_at = :ended_at, problem = :problem WHERE id = :id AND ended_at IS NULL;

-- name: get_evaluation
SELECT evaluations.*, executions.status AS execution_status, executions.error AS execution_error
FROM evaluations LEFT JOIN executions ON executions.id = evaluations.id
WHERE evaluations.id = :id;

-- name: list_evaluations
SELECT evaluations.*, executions.status AS execution_status, executions.error AS execution_error
FROM evaluations LEFT JOIN executions ON executions.id = evaluations.id
WHERE evaluations.id < :before AND (CAST(:suite_id AS TEXT) IS NULL OR evaluations.suite_id = :suite_id)
ORDER BY evaluations.id DESC LIMIT :limit;

-- name: evaluations_of_agent
SELECT evaluations.*, executions.status AS execution_status, executions.error AS execution_error
FROM evaluations LEFT JOIN executions ON executions.id = evaluations.id
WHERE evaluations.suite_id = :suite_id AND evaluations.agent_hash = :agent_hash AND evaluations.cases_hash = :cases_hash
ORDER BY evaluations.id DESC LIMIT :limit;

-- name: put_result
INSERT INTO evaluation_results (
    evaluation_id, case_id, passed, cost_micros, input_tokens, output_tokens, duration_ms, recall_5, recall_10, result
) VALUES (
    :evaluation_id, :case_id, :passed, :cost_micros, :input_tokens, :output_tokens, :duration_ms, :recall_5, :recall_10,
    :result
)
ON CONFLICT (evaluation_id, case_id) DO UPDATE SET
    passed = excluded.passed, cost_micros = excluded.cost_micros, input_tokens = excluded.input_tokens,
    output_tokens = excluded.output_tokens, duration_ms = excluded.duration_ms, recall_5 = excluded.recall_5,
    recall_10 = excluded.recall_10, result = excluded.result;

-- name: totals_of_evaluation
SELECT count(*) AS cases, coalesce(sum(passed), 0) AS passed, coalesce(sum(cost_micros), 0) AS cost_micros,
    coalesce(sum(input_tokens), 0) AS input_tokens, coalesce(sum(output_tokens), 0) AS output_tokens,
    coalesce(sum(duration_ms), 0) AS duration_ms, avg(recall_5) AS recall_5, avg(recall_10) AS recall_10
FROM evaluation_results WHERE evaluation_id = :evaluation_id;

-- name: results_of_evaluation
SELECT case_id, result FROM evaluation_results WHERE evaluation_id = :evaluation_id ORDER BY case_id LIMIT :limit;

-- name: prune_results
-- The results of the newest evaluation of each suite are kept.
DELETE FROM evaluation_results WHERE evaluation_id IN (
    SELECT evaluations.id FROM evaluations
    WHERE evaluations.created_at < :before AND EXISTS (
        SELECT 1 FROM evaluations AS newer WHERE newer.suite_id = evaluations.suite_id AND newer.id > evaluations.id
    )
    ORDER BY evaluations.id LIMIT :limit
);

-- name: prune_evaluations
DELETE FROM evaluations WHERE id IN (
    SELECT evaluations.id FROM evaluations
    WHERE evaluations.created_at < :before AND EXISTS (
        SELECT 1 FROM evaluations AS newer WHERE newer.suite_id = evaluations.suite_id AND newer.id > evaluations.id
    )
    ORDER BY evaluations.id LIMIT :limit
);

-- name: cases_to_erase
-- Cases of the person, and cases from conversations with messages that the erasure deletes.
SELECT id, suite_id FROM evaluation_cases
WHERE person_id IN (SELECT listed.value FROM json_each(:people) AS listed)
    OR conversation_id IN (
        SELECT item FROM erasure_items WHERE erasure_id = :erasure_id AND kind IN ('conversation', 'shared')
    )
ORDER BY id LIMIT 10000;

-- name: evaluations_of_suite
SELECT id FROM evaluations WHERE suite_id = :suite_id ORDER BY id LIMIT 10000;

-- name: erase_evaluator
UPDATE evaluations SET by_id = NULL WHERE by_id = :id;
