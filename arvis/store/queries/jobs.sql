-- name: lock_lane
-- The lane's row is its mutex on both databases; PostgreSQL needs the lock before any other row of the lane.
INSERT INTO lanes (lane, tail, live) VALUES (:lane, 0, 0)
ON CONFLICT (lane) DO UPDATE SET tail = lanes.tail;

-- name: open_lane
-- The common case, an empty lane, in a fifth of the time that SQLite needs for the next query.
INSERT INTO lanes (lane, tail, live) VALUES (:lane, 1, 1) ON CONFLICT (lane) DO NOTHING;

-- name: enter_lane
INSERT INTO lanes (lane, tail, live) VALUES (:lane, 1, 1)
ON CONFLICT (lane) DO UPDATE SET tail = lanes.tail + 1, live = lanes.live + 1
RETURNING tail, live;

-- name: leave_lane_empty
-- The common case of a chat in one statement: the lane has no other jobs.
DELETE FROM lanes WHERE lane = :lane AND live <= :count;

-- name: leave_lane
UPDATE lanes SET live = live - :count WHERE lane = :lane;

-- name: join_lane
UPDATE lanes SET live = live + :count WHERE lane = :lane;

-- name: requeue_head
-- Makes the former next job wait behind jobs that were added before it.
UPDATE jobs SET ready = 0 WHERE id = :id AND ready IN (1, 2) AND status = 'pending';

-- name: drop_lane
-- An empty lane restarts at 1: no job can be overtaken, because none waits.
DELETE FROM lanes WHERE lane = :lane AND live = 0;

-- name: job_by_key
SELECT id, position FROM jobs WHERE key = :key;

-- name: add_job
INSERT INTO jobs (
    id, kind, status, pool, priority, rank, lane, position, ready, run_at, key, key_live, attempts, crashes, claim,
    agent_id, principal_id, message_id, execution_id, delivery_id, tokens, payload, created_at
) VALUES (
    :id, :kind, 'pending', :pool, :priority, :rank, :lane, :position, :ready, :run_at, :key, :key_live, 0, 0, 0,
    :agent_id, :principal_id, :message_id, :execution_id, :delivery_id, :tokens, :payload, :now
);

-- name: get_job
SELECT * FROM jobs WHERE id = :id;

-- name: claim_jobs
-- Heads only, oldest rank first; interactive and background share the work slots, deliveries have their own. The
-- lock clause is in the innermost selects, where PostgreSQL allows it.
WITH picked AS MATERIALIZED (
    SELECT id FROM (
        SELECT id FROM (
            SELECT id, rank FROM (
                SELECT id, rank FROM jobs WHERE ready = 1 AND pool = 'interactive'
                ORDER BY rank, id LIMIT :work /*lock*/
            ) AS interactive
            UNION ALL
            SELECT id, rank FROM (
                SELECT id, rank FROM jobs WHERE ready = 1 AND pool = 'background'
                ORDER BY rank, id LIMIT :background /*lock*/
            ) AS background
        ) AS work
        ORDER BY rank, id LIMIT :work
    ) AS chosen
    UNION ALL
    SELECT id FROM (
        SELECT id FROM jobs WHERE ready = 1 AND pool = 'delivery' ORDER BY rank, id LIMIT :delivery /*lock*/
    ) AS deliveries
)
UPDATE jobs
SET status = 'running', ready = 3, owner = :owner, node = :node, claim = claim + 1, lease_until = :lease_until,
    started_at = :now
WHERE id IN (SELECT id FROM picked)
RETURNING *, (SELECT lanes.live - 1 FROM lanes WHERE lanes.lane = jobs.lane) AS followers;

-- name: extend_lease
UPDATE jobs SET lease_until = :lease_until WHERE id = :id AND ready = 3 AND owner = :owner;

-- name: hold_job
SELECT id FROM jobs WHERE id = :id AND ready = 3 AND owner = :owner AND claim = :claim /*hold*/;

-- name: end_job
-- Fenced by owner and claim: a worker that lost its lease changes nothing. A key that guards only live jobs is
-- freed. The number of changed rows is used instead of RETURNING, which doubles the time on SQLite.
UPDATE jobs
SET status = :status, ready = 0, owner = NULL, lease_until = NULL, error = :error, reason = :reason,
    finished_at = :now, key = CASE WHEN key_live = 1 THEN NULL ELSE key END
WHERE id = :id AND ready = 3 AND owner = :owner AND claim = :claim;

-- name: postpone_job
-- The job stays the head of its lane: the order of a chat matters more than speed.
UPDATE jobs
SET status = 'pending', ready = :ready, owner = NULL, lease_until = NULL, run_at = :run_at,
    attempts = attempts + :attempts, error = COALESCE(:error, error), reason = :reason
WHERE id = :id AND ready = 3 AND owner = :owner AND claim = :claim;

-- name: call_back
UPDATE jobs SET run_at = :now, ready = 1 WHERE id = :id AND ready = 2 AND reason = :reason;

-- name: hasten_jobs
-- Jobs that wait for a model, once one answers again. The failure before had this cause, and counts as no attempt.
UPDATE jobs
SET run_at = :now, ready = 1, attempts = attempts - CASE WHEN reason = 'retry' AND attempts > 0 THEN 1 ELSE 0 END
WHERE ready = 2 AND run_at > :now AND reason IN ('retry', 'rate_limit') AND kind IN ('message', 'advance', 'compact');

-- name: step_aside
UPDATE jobs
SET status = 'done', ready = 0, finished_at = :now, key = CASE WHEN key_live = 1 THEN NULL ELSE key END
WHERE id = :id AND ready = 2 AND reason = :reason;

-- name: promote_next
UPDATE jobs SET ready = CASE WHEN run_at <= :now THEN 1 ELSE 2 END
WHERE id = (
    SELECT id FROM jobs WHERE lane = :lane AND ready = 0 AND status = 'pending' ORDER BY position LIMIT 1
)
RETURNING run_at;

-- name: shorten_leases
-- The clock was set back after these leases were granted. They are not void immediately: their owners may be alive
-- and renew them.
UPDATE jobs SET lease_until = :longest WHERE ready = 3 AND lease_until > :longest;

-- name: clear_suspects
-- A process died while no suspect ran: its running jobs include no suspect, or (`died`) it had no running jobs.
-- Runs before `note_progress` and `rescue_jobs` change the rows that this reads.
UPDATE jobs SET crashes = crashes - 1
WHERE ready = 2 AND crashes > :suspect AND crashes < :poison AND (
    EXISTS (
        SELECT 1 FROM jobs AS dead
        WHERE dead.ready = 3 AND dead.owner <> :boot AND (dead.lease_until < :expired_before OR dead.node = :node)
        AND NOT EXISTS (
            SELECT 1 FROM jobs AS beside WHERE beside.ready = 3 AND beside.owner = dead.owner AND beside.crashes >= :suspect
        )
    )
    OR (:died <> '' AND NOT EXISTS (SELECT 1 FROM jobs AS kept WHERE kept.ready = 3 AND kept.owner = :died))
);

-- name: forget_dead_processes
-- Another process now judges the deaths of these processes, by the jobs that they held: at their next start this
-- could not be found out.
UPDATE kv SET value = ''
WHERE key IN (
    SELECT 'process:' || jobs.node FROM jobs
    WHERE jobs.ready = 3 AND jobs.lease_until < :expired_before AND jobs.node <> :node
);

-- name: note_progress
-- For the jobs that `rescue_jobs` takes next: a job whose execution progressed since its last crash restarts its
-- count.
UPDATE jobs
SET crashes = CASE WHEN progress < (
        SELECT COALESCE(MAX(steps), 0) FROM executions WHERE executions.id = jobs.execution_id
    ) + (
        SELECT count(*) FROM effects WHERE effects.execution_id = jobs.execution_id AND effects.state = 'finished'
    ) THEN -1 ELSE crashes END,
    progress = (
        SELECT COALESCE(MAX(steps), 0) FROM executions WHERE executions.id = jobs.execution_id
    ) + (
        SELECT count(*) FROM effects WHERE effects.execution_id = jobs.execution_id AND effects.state = 'finished'
    )
WHERE ready = 3 AND (lease_until < :expired_before OR (node = :node AND owner <> :boot));

-- name: rescue_jobs
-- Jobs that run under an older boot of this node, or under an expired lease. Jobs of this boot are among them only
-- if this process does not know of them (the answer to their claim or end was lost). The delays are the domain's
-- CRASH_DELAYS.
UPDATE jobs
SET status = 'pending', owner = NULL, lease_until = NULL, crashes = crashes + 1, reason = NULL,
    run_at = :now + CASE crashes WHEN 1 THEN 1000 WHEN 2 THEN 5000 WHEN 3 THEN 30000 ELSE 0 END,
    ready = CASE WHEN crashes BETWEEN 1 AND 3 THEN 2 ELSE 1 END
WHERE ready = 3 AND (lease_until < :expired_before OR (node = :node AND owner <> :boot))
RETURNING *;

-- name: cancel_job
UPDATE jobs
SET status = 'cancelled', ready = 0, owner = NULL, lease_until = NULL, reason = 'cancelled', finished_at = :now,
    key = CASE WHEN key_live = 1 THEN NULL ELSE key END
WHERE id = :id AND status IN ('pending', 'running');

-- name: take_up_failed
UPDATE jobs SET status = 'cancelled', reason = 'handled_by_caller', finished_at = :now
WHERE execution_id = :execution_id AND status = 'failed';

-- name: requeue_job
UPDATE jobs
SET status = 'pending', position = :position, ready = :ready, rank = :rank, run_at = :now, attempts = 0,
    crashes = 0, error = NULL, reason = NULL, started_at = NULL, finished_at = NULL
WHERE id = :id AND status = 'failed';

-- name: take_over_job
UPDATE jobs SET status = 'done', merged_into = :by, finished_at = :now
WHERE id = :id AND status IN ('failed', 'cancelled');

-- name: delete_job
DELETE FROM jobs WHERE id = :id AND status IN ('done', 'failed', 'cancelled');

-- name: followers
SELECT id, kind, principal_id, tokens, claim, created_at, run_at, position FROM jobs
WHERE lane = :lane AND ready = 0 AND status = 'pending'
ORDER BY position LIMIT :limit;

-- name: merge_job
UPDATE jobs
SET status = 'done', merged_into = :head, finished_at = :now, key = CASE WHEN key_live = 1 THEN NULL ELSE key END
WHERE id = :id;

-- name: joined_messages
-- Messages that joined a turn before their own began. A job that was taken over had begun.
SELECT merged.message_id FROM jobs AS own JOIN jobs AS merged ON merged.merged_into = own.id
WHERE own.execution_id = :execution_id AND merged.claim = 0 LIMIT 1000;

-- name: live_of_execution
-- Locked until the commit: a waiting job must not begin meanwhile, or it would miss the rows that this script
-- writes for it.
SELECT * FROM jobs WHERE execution_id = :execution_id AND status IN ('pending', 'running')
ORDER BY position LIMIT 100 /*hold*/;

-- name: running_work
-- Running jobs: only a valid lease proves that a job runs.
SELECT * FROM jobs WHERE ready = 3 AND lease_until >= :now AND pool <> 'delivery' ORDER BY started_at, id LIMIT :limit;

-- name: head_of_lane
SELECT * FROM jobs WHERE lane = :lane AND ready > 0;

-- name: hold_suspects
-- All due suspects except the first, and the first as well while another has just begun to run.
UPDATE jobs SET run_at = :until
WHERE ready = 2 AND run_at <= :now AND crashes >= :crashes AND id <> COALESCE((
    SELECT first.id FROM jobs AS first
    WHERE first.ready = 2 AND first.run_at <= :now AND first.crashes >= :crashes
    AND NOT EXISTS (SELECT 1 FROM jobs WHERE ready = 3 AND crashes >= :crashes AND started_at > :alone_since)
    ORDER BY first.run_at, first.id LIMIT 1
), '');

-- name: wake_jobs
UPDATE jobs SET ready = 1 WHERE ready = 2 AND run_at <= :now;

-- name: defer_job
UPDATE jobs SET run_at = :run_at, ready = CASE WHEN ready = 0 THEN 0 ELSE 2 END
WHERE id = :id AND status = 'pending' AND claim = 0;

-- name: next_due_job
SELECT run_at FROM jobs WHERE ready = 2 ORDER BY run_at LIMIT 1;

-- name: prune_jobs
-- Ids begin with their creation time: jobs that ended before a time were created before it, at the front of the
-- primary key. Without that bound, a table of recent rows would be read completely to find nothing.
DELETE FROM jobs WHERE id IN (
    SELECT id FROM jobs WHERE id < :oldest AND finished_at IS NOT NULL AND finished_at < :before
    ORDER BY id LIMIT :limit
);
