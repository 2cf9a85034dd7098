-- name: lock_lane
-- The row of a lane is the lock of the lane. On PostgreSQL, a script locks it before any other row of the lane.
INSERT INTO lanes (lane, tail, live) VALUES (:lane, 0, 0)
ON CONFLICT (lane) DO UPDATE SET tail = lanes.tail;

-- name: open_lane
-- For an empty lane, the most frequent case. On SQLite this takes a fifth of the time of the next query.
INSERT INTO lanes (lane, tail, live) VALUES (:lane, 1, 1) ON CONFLICT (lane) DO NOTHING;

-- name: enter_lane
INSERT INTO lanes (lane, tail, live) VALUES (:lane, 1, 1)
ON CONFLICT (lane) DO UPDATE SET tail = lanes.tail + 1, live = lanes.live + 1
RETURNING tail, live;

-- name: leave_lane_empty
-- For a lane without other jobs, the most frequent case in chats: one statement is enough.
DELETE FROM lanes WHERE lane = :lane AND live <= :count;

-- name: leave_lane
UPDATE lanes SET live = live - :count WHERE lane = :lane;

-- name: join_lane
UPDATE lanes SET live = live + :count WHERE lane = :lane;

-- name: requeue_head
-- Makes the former head wait behind jobs that were inserted before it.
UPDATE jobs SET ready = 0 WHERE id = :id AND ready IN (1, 2) AND status = 'pending';

-- name: drop_lane
-- The positions of an empty lane restart at 1, which overtakes no job, because none waits.
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
-- Claims only heads of lanes, lowest rank first. Interactive and background jobs share the work slots; deliveries have
-- their own slots. The lock clause is in the innermost selects, because PostgreSQL allows it only there.
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

-- name: ready_jobs
-- For SQLite, which needs half of the time for this query and `claim_job` that it needs for `claim_jobs`.
SELECT *, (SELECT lanes.live - 1 FROM lanes WHERE lanes.lane = jobs.lane) AS followers FROM jobs
WHERE ready = 1 AND pool = :pool
ORDER BY rank, id LIMIT :limit;

-- name: claim_job
UPDATE jobs
SET status = 'running', ready = 3, owner = :owner, node = :node, claim = claim + 1, lease_until = :lease_until,
    started_at = :now
WHERE id = :id;

-- name: extend_lease
UPDATE jobs SET lease_until = :lease_until WHERE id = :id AND ready = 3 AND owner = :owner;

-- name: hold_job
SELECT id FROM jobs WHERE id = :id AND ready = 3 AND owner = :owner AND claim = :claim /*hold*/;

-- name: end_job
-- The conditions on owner and claim ensure that a worker that has lost its lease changes nothing. A key that applies
-- only to live jobs is freed. The caller uses the number of changed rows, because RETURNING doubles the time on SQLite.
UPDATE jobs
SET status = :status, ready = 0, owner = NULL, lease_until = NULL, error = :error, reason = :reason,
    finished_at = :now, key = CASE WHEN key_live = 1 THEN NULL ELSE key END
WHERE id = :id AND ready = 3 AND owner = :owner AND claim = :claim;

-- name: postpone_job
-- The job stays the head of its lane, because the order of a chat is more important than speed.
UPDATE jobs
SET status = 'pending', ready = :ready, owner = NULL, lease_until = NULL, run_at = :run_at,
    attempts = attempts + :attempts, error = COALESCE(:error, error), reason = :reason
WHERE id = :id AND ready = 3 AND owner = :owner AND claim = :claim;

-- name: call_back
UPDATE jobs SET run_at = :now, ready = 1 WHERE id = :id AND ready = 2 AND reason = :reason;

-- name: hasten_jobs
-- Jobs that wait for another model call, when a model answers again. The last failed attempt is no longer counted. Jobs
-- that failed for another reason (`retry`) keep their time and their attempts.
UPDATE jobs
SET run_at = :now, ready = 1, attempts = attempts - CASE WHEN reason = 'model_retry' AND attempts > 0 THEN 1 ELSE 0 END
WHERE ready = 2 AND run_at > :now AND reason IN ('model_retry', 'rate_limit') AND kind IN ('message', 'advance', 'compact');

-- name: step_aside
UPDATE jobs
SET status = 'done', ready = 0, finished_at = :now, key = CASE WHEN key_live = 1 THEN NULL ELSE key END
WHERE id = :id AND ready = 2 AND reason = :reason;

-- name: promote_next
UPDATE jobs SET ready = CASE WHEN run_at <= :now THEN 1 ELSE 2 END
WHERE id = (
    SELECT id FROM jobs WHERE lane = :lane AND ready = 0 AND status = 'pending' ORDER BY position LIMIT 1
)
RETURNING run_at, pool;

-- name: shorten_leases
-- The clock was set back after these leases were granted. They stay valid for a while, because their owners may be
-- alive and renew them.
UPDATE jobs SET lease_until = :longest WHERE ready = 3 AND lease_until > :longest;

-- name: clear_suspects
-- For a process that died while it ran no suspect: none of its running jobs is a suspect, or (`died`) it had no running
-- jobs. Runs before `note_progress` and `rescue_jobs`, which change the rows that this query reads.
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
-- This process now handles the crashes of these processes, by means of the jobs that they ran. The jobs are then
-- rescued, so the next start of those nodes must not handle the same crashes again.
UPDATE kv SET value = ''
WHERE key IN (
    SELECT 'process:' || jobs.node FROM jobs
    WHERE jobs.ready = 3 AND jobs.lease_until < :expired_before AND jobs.node <> :node
);

-- name: note_progress
-- For the jobs that `rescue_jobs` rescues next: if the execution of a job has progressed since the last crash of the
-- job, its count of crashes restarts.
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
-- Jobs that run under an older boot of this node, or under an expired lease. They include a job of this boot only if
-- this process does not know that it runs, because the answer to the claim or to the end of the job was lost. After
-- its first four crashes, a job runs again after `delay_1` to `delay_4` (ms).
UPDATE jobs
SET status = 'pending', owner = NULL, lease_until = NULL, crashes = crashes + 1, reason = NULL,
    run_at = :now
        + CASE crashes WHEN 0 THEN :delay_1 WHEN 1 THEN :delay_2 WHEN 2 THEN :delay_3 WHEN 3 THEN :delay_4 ELSE 0 END,
    ready = CASE WHEN
        CASE crashes WHEN 0 THEN :delay_1 WHEN 1 THEN :delay_2 WHEN 2 THEN :delay_3 WHEN 3 THEN :delay_4 ELSE 0 END > 0
        THEN 2 ELSE 1 END
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
-- Messages that joined this turn before their own turn began. A turn that was taken over had begun (its claim is not
-- 0), so its messages are not among them.
SELECT merged.message_id FROM jobs AS own JOIN jobs AS merged ON merged.merged_into = own.id
WHERE own.execution_id = :execution_id AND merged.claim = 0 LIMIT 1000;

-- name: live_of_execution
-- The rows are locked until the commit, because a job that began before it would miss the rows that this script writes
-- for the job.
SELECT * FROM jobs WHERE execution_id = :execution_id AND status IN ('pending', 'running')
ORDER BY position LIMIT 100 /*hold*/;

-- name: running_work
-- Running jobs. Only a valid lease proves that a job runs.
SELECT * FROM jobs WHERE ready = 3 AND lease_until >= :now AND pool <> 'delivery' ORDER BY started_at, id LIMIT :limit;

-- name: head_of_lane
SELECT * FROM jobs WHERE lane = :lane AND ready > 0;

-- name: hold_suspects
-- Postpones all due suspects except the first one, and also the first one if another suspect began recently.
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
-- Ids begin with their creation time, and jobs that ended before a time were created before it, so the rows are at the
-- front of the primary key. Without the condition on the id, the query would read the whole table to find nothing.
DELETE FROM jobs WHERE id IN (
    SELECT id FROM jobs WHERE id < :oldest AND finished_at IS NOT NULL AND finished_at < :before
    ORDER BY id LIMIT :limit
);
