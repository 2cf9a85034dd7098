-- Crons and heartbeats, and their occurrences.

-- name: get_schedule
SELECT * FROM schedules WHERE id = :id;

-- name: add_schedule
INSERT INTO schedules (
    id, kind, agent_id, name, schedule, timezone, prompt, platform, connector, channel, script, missed, enabled,
    principal_id, last_run, next_run, created_at, updated_at, thread, created_by, graph, max_cycles, grace, failures,
    cooldown_until, memo, author_id, model, effort
) VALUES (
    :id, :kind, :agent_id, :name, :schedule, :timezone, :prompt, :platform, :connector, :channel, :script, :missed,
    :enabled, :principal_id, :last_run, :next_run, :created_at, :updated_at, :thread, :created_by, :graph, :max_cycles,
    :grace, :failures, :cooldown_until, :memo, :author_id, :model, :effort
);

-- name: update_schedule
UPDATE schedules
SET agent_id = :agent_id, name = :name, schedule = :schedule, timezone = :timezone, prompt = :prompt,
    platform = :platform, connector = :connector, channel = :channel, script = :script, missed = :missed,
    enabled = :enabled, principal_id = :principal_id, last_run = :last_run, next_run = :next_run,
    updated_at = :updated_at, thread = :thread, created_by = :created_by, graph = :graph, max_cycles = :max_cycles,
    grace = :grace, failures = :failures, cooldown_until = :cooldown_until, memo = :memo, author_id = :author_id,
    model = :model, effort = :effort
WHERE id = :id;

-- name: remove_schedule
DELETE FROM schedules WHERE id = :id;

-- name: schedules_of_agent
SELECT * FROM schedules
WHERE agent_id = :agent_id AND (CAST(:kind AS TEXT) IS NULL OR kind = :kind)
ORDER BY id LIMIT 100;

-- name: schedules_of_person
SELECT * FROM schedules
WHERE principal_id = :principal_id AND created_by = 'tool' AND enabled = 1 AND next_run IS NOT NULL
ORDER BY id LIMIT :limit;

-- name: remember_of_schedule
UPDATE schedules SET memo = :memo WHERE id = :id;

-- name: count_schedules
SELECT count(*) AS number FROM schedules WHERE agent_id = :agent_id AND kind = :kind AND created_by <> 'tool';

-- name: schedule_named
SELECT * FROM schedules
WHERE agent_id = :agent_id AND kind = :kind AND name = :name AND created_by <> 'tool'
ORDER BY id LIMIT 1;

-- name: forget_reminders
-- Completed reminders, except those that people switched off.
DELETE FROM schedules
WHERE principal_id = :principal_id AND created_by = 'tool' AND enabled = 1 AND next_run IS NULL AND last_run < :before;

-- name: due_schedules
-- A schedule that still runs is not returned until its run has ended, so that it does not delay other schedules.
SELECT * FROM schedules
WHERE enabled = 1 AND next_run <= :now AND NOT EXISTS (
    SELECT 1 FROM schedule_runs WHERE schedule_runs.schedule_id = schedules.id AND schedule_runs.ended_at IS NULL
)
ORDER BY next_run LIMIT :limit;

-- name: next_due_schedule
SELECT next_run FROM schedules WHERE enabled = 1 AND next_run > :after ORDER BY next_run LIMIT 1;

-- name: schedules_to_come
-- Runs once at each start, and when the clock was set back.
SELECT * FROM schedules WHERE enabled = 1 AND next_run > :after ORDER BY next_run LIMIT :limit;

-- name: advance_schedule
-- If two processes advance the schedule at the same time, only one succeeds; none succeeds if the schedule was changed
-- meanwhile.
UPDATE schedules SET last_run = :last_run, next_run = :next_run
WHERE id = :id AND enabled = 1 AND next_run = :was AND updated_at = :updated_at;

-- name: rate_schedule
UPDATE schedules SET failures = :failures, cooldown_until = :cooldown_until WHERE id = :id;

-- name: remember_run
UPDATE schedules SET last_run = :now WHERE id = :id;

-- name: schedules_of_kind
SELECT * FROM schedules WHERE kind = :kind ORDER BY id LIMIT :limit;

-- name: list_schedules
SELECT * FROM schedules
WHERE id < :before
    AND (CAST(:kind AS TEXT) IS NULL OR kind = :kind)
    AND (CAST(:agent_id AS TEXT) IS NULL OR agent_id = :agent_id)
    AND (CAST(:created_by AS TEXT) IS NULL OR created_by = :created_by)
    AND (CAST(:enabled AS INTEGER) IS NULL OR enabled = :enabled)
ORDER BY id DESC LIMIT :limit;

-- name: add_occurrence
-- The time is part of the key, so that each time is handled once, even after a restart.
INSERT INTO schedule_runs (schedule_id, due, id, cause, status, execution_id, report, created_at, ended_at)
VALUES (:schedule_id, :due, :id, :cause, :status, :execution_id, :report, :created_at, :ended_at)
ON CONFLICT (schedule_id, due) DO NOTHING;

-- name: get_occurrence
SELECT * FROM schedule_runs WHERE id = :id;

-- name: orphaned_occurrences
-- Occurrences that have begun, although no job or execution is left that could end them.
SELECT * FROM schedule_runs
WHERE ended_at IS NULL
    AND NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.key = 'schedule:' || schedule_runs.schedule_id)
    AND NOT EXISTS (
        SELECT 1 FROM executions
        WHERE executions.id = schedule_runs.execution_id AND executions.status IN ('running', 'paused')
    )
LIMIT :limit;

-- name: occurrence_of_execution
SELECT * FROM schedule_runs WHERE execution_id = :execution_id;

-- name: save_occurrence
UPDATE schedule_runs
SET cause = :cause, status = :status, execution_id = :execution_id, report = :report, ended_at = :ended_at
WHERE id = :id;

-- name: running_occurrences
SELECT * FROM schedule_runs WHERE schedule_id = :schedule_id AND ended_at IS NULL ORDER BY id LIMIT 100;

-- name: newest_occurrences
SELECT * FROM schedule_runs WHERE schedule_id = :schedule_id ORDER BY id DESC LIMIT :limit;

-- name: list_occurrences
SELECT * FROM schedule_runs WHERE schedule_id = :schedule_id AND id < :before ORDER BY id DESC LIMIT :limit;

-- name: prune_occurrences
DELETE FROM schedule_runs WHERE id IN (
    SELECT id FROM schedule_runs WHERE created_at < :before AND ended_at IS NOT NULL ORDER BY created_at LIMIT :limit
);
