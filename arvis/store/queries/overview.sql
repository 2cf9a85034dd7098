-- Data of the page Now. No query reads completed work: waiting, running and failed jobs are in partial indexes.

-- name: count_queue
-- Each count reads one small index. Lanes of deliveries begin with `to:`, which the index of followers contains, so
-- the row is not read.
SELECT
    CAST((SELECT count(*) FROM jobs WHERE ready = 3 AND pool <> 'delivery') AS BIGINT) AS running,
    CAST((SELECT count(*) FROM jobs WHERE ready = 1 AND pool <> 'delivery')
        + (SELECT count(*) FROM jobs WHERE ready = 2 AND pool <> 'delivery')
        + (SELECT count(*) FROM jobs WHERE ready = 0 AND status = 'pending' AND substr(lane, 1, 3) <> 'to:') AS BIGINT
    ) AS pending,
    CAST((SELECT count(*) FROM jobs WHERE ready = 1 AND pool = 'delivery')
        + (SELECT count(*) FROM jobs WHERE ready = 2 AND pool = 'delivery')
        + (SELECT count(*) FROM jobs WHERE ready = 3 AND pool = 'delivery')
        + (SELECT count(*) FROM jobs WHERE ready = 0 AND status = 'pending' AND substr(lane, 1, 3) = 'to:') AS BIGINT
    ) AS undelivered,
    CAST((SELECT count(*) FROM jobs WHERE status = 'failed') AS BIGINT) AS failed,
    CAST((SELECT count(*) FROM waits WHERE answered_at IS NULL AND kind IN ('approval', 'review', 'user', 'input')) AS BIGINT)
        AS waiting;

-- name: oldest_head
-- Ids begin with the time, so the index alone gives the oldest job. COALESCE keeps SQLite from reading all completed
-- jobs in search of the first ready job.
SELECT created_at FROM jobs WHERE id = (SELECT min(COALESCE(id, '')) FROM jobs WHERE ready = 1);

-- name: work_now
-- A large state is not read, because the page shows only a few words of it.
SELECT work.*, messages.conversation_id, messages.platform, messages.connector, messages.channel, messages.thread,
    messages.id AS asked, executions.graph,
    CASE WHEN length(executions.state) <= 20000 THEN executions.state END AS state,
    (
        SELECT cursors.node FROM cursors WHERE cursors.execution_id = work.execution_id ORDER BY cursors.id DESC LIMIT 1
    ) AS node_now,
    (
        SELECT effects.name FROM effects
        WHERE effects.execution_id = work.execution_id AND effects.state = 'started'
        ORDER BY effects.at DESC LIMIT 1
    ) AS effect_now
FROM (
    SELECT id, kind, agent_id, message_id, execution_id, started_at FROM jobs
    WHERE ready = 3 AND pool <> 'delivery' ORDER BY started_at, id LIMIT :limit
) AS work
LEFT JOIN executions ON executions.id = work.execution_id
LEFT JOIN messages ON messages.id = COALESCE(work.message_id, (
    SELECT first.id FROM messages AS first
    WHERE first.execution_id = work.execution_id AND first.role = 'user' ORDER BY first.position LIMIT 1
))
ORDER BY work.started_at, work.id;

-- name: newest_open_waits
SELECT * FROM waits WHERE answered_at IS NULL AND id > '' AND kind IN ('approval', 'review', 'user', 'input')
ORDER BY id DESC LIMIT :limit;

-- name: newest_failures
SELECT * FROM jobs WHERE status = 'failed' AND id > '' ORDER BY id DESC LIMIT :limit;

-- name: answers_by_minute
-- Reads a range of the primary key: the id of an answer begins with its creation time. Answers with about the same
-- latency are one row, so a busy minute (or group of minutes) has at most a few hundred rows.
SELECT minute, failed, latency, CAST(count(*) AS BIGINT) AS number FROM (
    SELECT minute, failed,
        CASE
            WHEN took < 100 THEN took
            WHEN took < 1000 THEN took / 10 * 10
            WHEN took < 10000 THEN took / 100 * 100
            WHEN took < 100000 THEN took / 1000 * 1000
            WHEN took < 1000000 THEN took / 10000 * 10000
            ELSE took / 100000 * 100000
        END AS latency
    FROM (
        SELECT reply.created_at / 60000 / CAST(:minutes AS BIGINT) * CAST(:minutes AS BIGINT) AS minute,
            reply.created_at - asked.created_at AS took,
            CASE WHEN asked.status = 'failed' THEN 1 ELSE 0 END AS failed
        FROM messages AS reply
        JOIN messages AS asked ON asked.id = reply.reply_to
        WHERE reply.id >= :first AND reply.id < :before AND reply.role IN ('assistant', 'notice')
            AND reply.superseded = 0 AND asked.status IN ('answered', 'failed')
    ) AS answered
) AS answered
GROUP BY minute, failed, latency;
