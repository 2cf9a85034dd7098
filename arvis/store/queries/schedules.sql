-- Crons and heartbeats as rows.

-- name: get_schedule
SELECT * FROM schedules WHERE id = :id;

-- name: add_schedule
INSERT INTO schedules (
    id, kind, agent_id, name, schedule, timezone, prompt, platform, connector, channel, script, missed, enabled,
    principal_id, last_run, next_run, created_at, updated_at
) VALUES (
    :id, :kind, :agent_id, :name, :schedule, :timezone, :prompt, :platform, :connector, :channel, :script, :missed,
    :enabled, :principal_id, :last_run, :next_run, :created_at, :updated_at
);

-- name: update_schedule
UPDATE schedules
SET agent_id = :agent_id, name = :name, schedule = :schedule, timezone = :timezone, prompt = :prompt,
    platform = :platform, connector = :connector, channel = :channel, script = :script, missed = :missed,
    enabled = :enabled, principal_id = :principal_id, last_run = :last_run, next_run = :next_run,
    updated_at = :updated_at
WHERE id = :id;

-- name: remove_schedule
DELETE FROM schedules WHERE id = :id;

-- name: schedules_of_agent
SELECT * FROM schedules
WHERE agent_id = :agent_id AND (CAST(:kind AS TEXT) IS NULL OR kind = :kind)
ORDER BY id LIMIT 100;

-- name: schedules_of_kind
SELECT * FROM schedules WHERE kind = :kind ORDER BY id LIMIT :limit;

-- name: list_schedules
SELECT * FROM schedules
WHERE id < :before
    AND (CAST(:kind AS TEXT) IS NULL OR kind = :kind)
    AND (CAST(:agent_id AS TEXT) IS NULL OR agent_id = :agent_id)
ORDER BY id DESC LIMIT :limit;
