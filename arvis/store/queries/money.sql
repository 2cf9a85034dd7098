-- name: get_spending
SELECT micros, calls, turns FROM spending WHERE scope = :scope AND period = :period AND key = :key;

-- name: hold_spending
-- For concurrent writers. Creates the row if necessary, and locks it until the commit.
INSERT INTO spending (scope, period, key, micros, calls, turns) VALUES (:scope, :period, :key, 0, 0, 0)
ON CONFLICT (scope, period, key) DO UPDATE SET micros = spending.micros
RETURNING micros, calls, turns;

-- name: book_spending
INSERT INTO spending (scope, period, key, micros, calls, turns)
VALUES (:scope, :period, :key, :micros, :calls, :turns)
ON CONFLICT (scope, period, key) DO UPDATE
SET micros = spending.micros + excluded.micros, calls = spending.calls + excluded.calls,
    turns = spending.turns + excluded.turns;

-- name: sum_reserved
SELECT CAST(COALESCE(sum(micros), 0) AS BIGINT) AS micros FROM budget_reservations
WHERE scope = :scope AND period = :period AND key = :key AND expires_at > :now
    AND NOT (execution_id = :execution_id AND visit = :visit);

-- name: add_reservation
INSERT INTO budget_reservations (scope, period, key, execution_id, visit, micros, expires_at)
VALUES (:scope, :period, :key, :execution_id, :visit, :micros, :expires_at);

-- name: drop_reservation
DELETE FROM budget_reservations WHERE execution_id = :execution_id AND visit = :visit;

-- name: drop_reservations
DELETE FROM budget_reservations WHERE execution_id = :execution_id;

-- name: add_open_call
INSERT INTO open_calls (
    id, execution_id, visit, turn, job_id, agent_id, principal_id, client_id, account, provider, model, input_tokens,
    output_tokens, cost_micros, priced, started_at
) VALUES (
    :id, :execution_id, :visit, :turn, :job_id, :agent_id, :principal_id, :client_id, :account, :provider, :model,
    :input_tokens, :output_tokens, :cost_micros, :priced, :started_at
);

-- name: drop_open_call
DELETE FROM open_calls WHERE id = :id;

-- name: open_calls_of_job
SELECT * FROM open_calls WHERE job_id = :job_id ORDER BY id LIMIT 1000;

-- name: open_calls_of_visit
SELECT * FROM open_calls WHERE execution_id = :execution_id AND visit = :visit ORDER BY id LIMIT 1000;

-- name: open_calls_before
SELECT * FROM open_calls WHERE started_at < :before ORDER BY started_at LIMIT 1000;

-- name: prune_turns
-- Ids of executions begin with their start time, so the oldest are at the front of the primary key.
DELETE FROM spending WHERE scope = 'turn' AND period = '' AND key IN (
    SELECT key FROM spending WHERE scope = 'turn' AND period = '' AND key < :first_execution ORDER BY key LIMIT :limit
);

-- name: prune_days
DELETE FROM spending WHERE scope = :scope AND (period, key) IN (
    SELECT period, key FROM spending WHERE scope = :scope AND period < :day ORDER BY period, key LIMIT :limit
);

-- name: prune_reservations
DELETE FROM budget_reservations WHERE (execution_id, visit) IN (
    SELECT execution_id, visit FROM budget_reservations WHERE expires_at <= :now ORDER BY expires_at LIMIT :limit
);

-- name: get_client
SELECT * FROM clients WHERE id = :id;

-- name: client_by_name
SELECT * FROM clients WHERE name = :name;

-- name: client_at
SELECT clients.* FROM client_channels JOIN clients ON clients.id = client_channels.client_id
WHERE client_channels.platform = :platform AND client_channels.channel = :channel AND clients.status <> 'archived';

-- name: add_client
INSERT INTO clients (
    id, name, plan, status, price_per_task_micros, monthly_fee_micros, token_factor_milli, balance_micros,
    monthly_limit_micros, notes, created_at, updated_at
) VALUES (
    :id, :name, :plan, :status, :price_per_task_micros, :monthly_fee_micros, :token_factor_milli, :balance_micros,
    :monthly_limit_micros, :notes, :created_at, :updated_at
)
ON CONFLICT (name) DO NOTHING;

-- name: update_client
UPDATE clients SET
    name = :name, plan = :plan, status = :status, price_per_task_micros = :price_per_task_micros,
    monthly_fee_micros = :monthly_fee_micros, token_factor_milli = :token_factor_milli,
    monthly_limit_micros = :monthly_limit_micros, notes = :notes, updated_at = :updated_at
WHERE id = :id;

-- name: move_balance
UPDATE clients SET balance_micros = balance_micros + :micros, updated_at = :now WHERE id = :id;

-- name: list_clients
SELECT * FROM clients WHERE id < :before ORDER BY id DESC LIMIT :limit;

-- name: channels_of_client
SELECT platform, channel FROM client_channels WHERE client_id = :client_id ORDER BY platform, channel LIMIT 1000;

-- name: bind_client
INSERT INTO client_channels (platform, channel, client_id, created_at) VALUES (:platform, :channel, :client_id, :now)
ON CONFLICT (platform, channel) DO UPDATE SET client_id = excluded.client_id, created_at = excluded.created_at;

-- name: unbind_client
DELETE FROM client_channels WHERE platform = :platform AND channel = :channel AND client_id = :client_id;

-- name: add_charge
INSERT INTO charges (
    id, client_id, type, status, amount_micros, description, message_id, execution_id, created_at
) VALUES (
    :id, :client_id, :type, :status, :amount_micros, :description, :message_id, :execution_id, :created_at
)
ON CONFLICT (execution_id) WHERE execution_id IS NOT NULL DO NOTHING;

-- name: set_charge_status
UPDATE charges SET status = :status WHERE id = :id AND client_id = :client_id;

-- name: list_charges
-- Ids begin with the time, so a month is a range of ids.
SELECT * FROM charges WHERE client_id = :client_id AND id >= :first AND id < :before ORDER BY id DESC LIMIT :limit;

-- name: sum_charges
SELECT
    CAST(COALESCE(sum(CASE WHEN type = 'payment' THEN 0 ELSE amount_micros END), 0) AS BIGINT) AS charged,
    CAST(COALESCE(sum(CASE WHEN type = 'payment' THEN amount_micros ELSE 0 END), 0) AS BIGINT) AS paid
FROM charges WHERE client_id = :client_id AND id >= :first AND id < :before;

-- name: usage_report
-- Reads a range of the primary key: ids of receipts begin with the time at which the call ended. The caller knows the
-- time zone and sums up the quarters of an hour to days.
SELECT
    CASE CAST(:by AS TEXT)
        WHEN 'agent' THEN COALESCE(agent_id, '')
        WHEN 'model' THEN provider || '/' || model
        WHEN 'account' THEN account
        WHEN 'client' THEN COALESCE(client_id, '')
        WHEN 'principal' THEN COALESCE(principal_id, '')
        ELSE CAST((started_at + duration_ms) / 900000 AS TEXT)
    END AS name,
    CAST(count(*) AS BIGINT) AS calls,
    CAST(sum(input_tokens) AS BIGINT) AS input_tokens,
    CAST(sum(output_tokens) AS BIGINT) AS output_tokens,
    CAST(sum(cached_tokens) AS BIGINT) AS cached_tokens,
    CAST(sum(written_tokens) AS BIGINT) AS written_tokens,
    CAST(sum(cost_micros) AS BIGINT) AS cost_micros,
    CAST(sum(duration_ms) AS BIGINT) AS duration_ms,
    CAST(sum(CASE WHEN error IS NULL THEN 0 ELSE 1 END) AS BIGINT) AS errors,
    CAST(sum(CASE WHEN priced = 0 AND error IS NULL THEN 1 ELSE 0 END) AS BIGINT) AS unpriced
FROM usage WHERE id >= :first AND id < :before
GROUP BY 1 ORDER BY 1 LIMIT 100000;

-- name: usage_by_time
-- Reads the same range as `usage_report`, in quarters of an hour and by a second key.
SELECT
    (started_at + duration_ms) / 900000 AS quarter,
    CASE CAST(:by AS TEXT)
        WHEN 'agent' THEN COALESCE(agent_id, '')
        WHEN 'model' THEN provider || '/' || model
        WHEN 'account' THEN account
        ELSE COALESCE(client_id, '')
    END AS name,
    CAST(count(*) AS BIGINT) AS calls,
    CAST(sum(input_tokens) AS BIGINT) AS input_tokens,
    CAST(sum(output_tokens) AS BIGINT) AS output_tokens,
    CAST(sum(cached_tokens) AS BIGINT) AS cached_tokens,
    CAST(sum(written_tokens) AS BIGINT) AS written_tokens,
    CAST(sum(cost_micros) AS BIGINT) AS cost_micros,
    CAST(sum(duration_ms) AS BIGINT) AS duration_ms,
    CAST(sum(CASE WHEN error IS NULL THEN 0 ELSE 1 END) AS BIGINT) AS errors,
    CAST(sum(CASE WHEN priced = 0 AND error IS NULL THEN 1 ELSE 0 END) AS BIGINT) AS unpriced
FROM usage WHERE id >= :first AND id < :before
GROUP BY 1, 2 ORDER BY 1, 2 LIMIT 200000;

-- name: prune_usage
DELETE FROM usage WHERE id IN (SELECT id FROM usage WHERE id < :oldest ORDER BY id LIMIT :limit);
