-- Pages of the dashboard: rows with related data. Each query has a limit; cursors are descending.

-- name: list_queue
SELECT found.*, agents.slug AS agent_slug, principals.name AS person, messages.user_name,
    substr(messages.content, 1, 400) AS text, messages.platform, messages.connector, messages.channel, messages.thread,
    schedules.name AS schedule, executions.graph,
    CASE WHEN found.message_id IS NULL THEN executions.state END AS state
FROM (
    SELECT * FROM jobs
    WHERE id < :before
        AND (CAST(:kind AS TEXT) IS NULL OR kind = :kind)
        AND (CAST(:any_status AS INTEGER) = 1 OR status IN (:status1, :status2, :status3, :status4, :status5))
        AND (CAST(:agent_id AS TEXT) IS NULL OR agent_id = :agent_id)
        AND (CAST(:lane AS TEXT) IS NULL OR lane = :lane)
    ORDER BY id DESC LIMIT :limit
) AS found
LEFT JOIN agents ON agents.id = found.agent_id
LEFT JOIN messages ON messages.id = found.message_id
LEFT JOIN principals ON principals.id = found.principal_id
LEFT JOIN executions ON executions.id = found.execution_id
LEFT JOIN schedule_runs ON schedule_runs.execution_id = found.execution_id AND schedule_runs.execution_id IS NOT NULL
LEFT JOIN schedules ON schedules.id = schedule_runs.schedule_id
ORDER BY found.id DESC;

-- name: list_troubled
-- Live and failed jobs. The query uses the indexes of these jobs, so its time does not depend on the size of the table.
-- It is used while fewer than a thousand jobs are live (see `live_jobs`).
SELECT found.*, agents.slug AS agent_slug, principals.name AS person, messages.user_name,
    substr(messages.content, 1, 400) AS text, messages.platform, messages.connector, messages.channel, messages.thread,
    schedules.name AS schedule, executions.graph,
    CASE WHEN found.message_id IS NULL THEN executions.state END AS state
FROM (
    SELECT chosen.* FROM (
        SELECT * FROM (SELECT * FROM jobs WHERE ready > 0 AND lane > '' ORDER BY lane LIMIT 1000) AS heads
        UNION ALL
        SELECT * FROM (
            SELECT * FROM jobs WHERE ready = 0 AND status = 'pending' AND lane > '' ORDER BY lane, position LIMIT 1000
        ) AS followers
        UNION ALL
        SELECT * FROM (
            SELECT * FROM jobs
            WHERE status = 'failed' AND id < :before
                AND (CAST(:kind AS TEXT) IS NULL OR kind = :kind)
                AND (CAST(:agent_id AS TEXT) IS NULL OR agent_id = :agent_id)
                AND (CAST(:lane AS TEXT) IS NULL OR lane = :lane)
            ORDER BY id DESC LIMIT :failed
        ) AS failures
    ) AS chosen
    WHERE chosen.id < :before
        AND (CAST(:kind AS TEXT) IS NULL OR chosen.kind = :kind)
        AND chosen.status IN (:status1, :status2, :status3, :status4, :status5)
        AND (CAST(:agent_id AS TEXT) IS NULL OR chosen.agent_id = :agent_id)
        AND (CAST(:lane AS TEXT) IS NULL OR chosen.lane = :lane)
    ORDER BY chosen.id DESC LIMIT :limit
) AS found
LEFT JOIN agents ON agents.id = found.agent_id
LEFT JOIN messages ON messages.id = found.message_id
LEFT JOIN principals ON principals.id = found.principal_id
LEFT JOIN executions ON executions.id = found.execution_id
LEFT JOIN schedule_runs ON schedule_runs.execution_id = found.execution_id AND schedule_runs.execution_id IS NOT NULL
LEFT JOIN schedules ON schedules.id = schedule_runs.schedule_id
ORDER BY found.id DESC;

-- name: live_jobs
SELECT CAST(count(*) AS BIGINT) AS number FROM (
    SELECT * FROM (SELECT lane FROM jobs WHERE ready > 0 AND lane > '' ORDER BY lane LIMIT 1000) AS heads
    UNION ALL
    SELECT * FROM (
        SELECT lane FROM jobs WHERE ready = 0 AND status = 'pending' AND lane > '' ORDER BY lane, position LIMIT 1000
    ) AS followers
) AS living;

-- name: queue_item
SELECT found.*, agents.slug AS agent_slug, principals.name AS person, messages.user_name,
    substr(messages.content, 1, 400) AS text, messages.platform, messages.connector, messages.channel, messages.thread,
    schedules.name AS schedule, executions.graph,
    CASE WHEN found.message_id IS NULL THEN executions.state END AS state
FROM jobs AS found
LEFT JOIN agents ON agents.id = found.agent_id
LEFT JOIN messages ON messages.id = found.message_id
LEFT JOIN principals ON principals.id = found.principal_id
LEFT JOIN executions ON executions.id = found.execution_id
LEFT JOIN schedule_runs ON schedule_runs.execution_id = found.execution_id AND schedule_runs.execution_id IS NOT NULL
LEFT JOIN schedules ON schedules.id = schedule_runs.schedule_id
WHERE found.id = :id;

-- name: jobs_behind
SELECT CAST(count(*) AS BIGINT) AS number FROM (
    SELECT id FROM jobs
    WHERE id < :before
        AND (CAST(:kind AS TEXT) IS NULL OR kind = :kind)
        AND (CAST(:any_status AS INTEGER) = 1 OR status IN (:status1, :status2, :status3, :status4, :status5))
        AND (CAST(:agent_id AS TEXT) IS NULL OR agent_id = :agent_id)
        AND (CAST(:lane AS TEXT) IS NULL OR lane = :lane)
    LIMIT :limit
) AS counted;

-- name: list_talks
-- Uses the index of the last use, and reads details only for the rows of the page.
SELECT page.*, agents.slug,
    (SELECT substr(messages.content, 1, 200) FROM messages
        WHERE messages.conversation_id = page.id AND messages.role = 'user' AND messages.superseded = 0
        ORDER BY messages.id LIMIT 1) AS title,
    (SELECT substr(messages.content, 1, 200) FROM messages
        WHERE messages.conversation_id = page.id AND messages.superseded = 0
        ORDER BY messages.id DESC LIMIT 1) AS preview,
    (SELECT CAST(count(DISTINCT newest.principal_id) AS BIGINT) FROM (
        SELECT messages.principal_id FROM messages WHERE messages.conversation_id = page.id AND messages.role = 'user'
        ORDER BY messages.id DESC LIMIT 100
    ) AS newest) AS people
FROM (
    SELECT * FROM conversations
    WHERE (last_message_at, id) < (CAST(:at AS BIGINT), CAST(:before AS TEXT))
        AND (CAST(:agent_id AS TEXT) IS NULL OR agent_id = :agent_id)
        AND (CAST(:platform AS TEXT) IS NULL OR platform = :platform)
        AND (CAST(:channel AS TEXT) IS NULL OR channel = :channel)
        AND (CAST(:thread AS TEXT) IS NULL OR thread = :thread)
    ORDER BY last_message_at DESC, id DESC LIMIT :limit
) AS page
LEFT JOIN agents ON agents.id = page.agent_id
ORDER BY page.last_message_at DESC, page.id DESC;

-- name: own_talks
-- The conversations of one user of the dashboard: those in the user's own channels in which the user wrote.
SELECT page.*, agents.slug,
    (SELECT substr(messages.content, 1, 200) FROM messages
        WHERE messages.conversation_id = page.id AND messages.principal_id = :principal_id AND messages.superseded = 0
        ORDER BY messages.id LIMIT 1) AS title,
    (SELECT substr(messages.content, 1, 200) FROM messages
        WHERE messages.conversation_id = page.id AND messages.principal_id = :principal_id AND messages.superseded = 0
        ORDER BY messages.id DESC LIMIT 1) AS preview,
    CAST(1 AS BIGINT) AS people
FROM (
    SELECT * FROM conversations
    WHERE (last_message_at, id) < (CAST(:at AS BIGINT), CAST(:before AS TEXT))
        AND platform = 'web' AND connector = 'web'
        AND (thread = :user_id OR channel = 'web-' || :user_id OR channel = 'cli-' || :user_id
            OR substr(channel, 1, length(:user_id) + 5) IN ('web-' || :user_id || '-', 'cli-' || :user_id || '-'))
        AND (CAST(:agent_id AS TEXT) IS NULL OR agent_id = :agent_id)
        AND (CAST(:platform AS TEXT) IS NULL OR platform = :platform)
        AND (CAST(:channel AS TEXT) IS NULL OR channel = :channel)
        AND (CAST(:thread AS TEXT) IS NULL OR thread = :thread)
        AND EXISTS (
            SELECT 1 FROM messages
            WHERE messages.conversation_id = conversations.id AND messages.principal_id = :principal_id
        )
    ORDER BY last_message_at DESC, id DESC LIMIT :limit
) AS page
LEFT JOIN agents ON agents.id = page.agent_id
ORDER BY page.last_message_at DESC, page.id DESC;

-- name: search_own_talks
-- As `search_talks`, for one user of the dashboard. The messages in `ids` are those that the user may see.
SELECT page.*, agents.slug,
    (SELECT substr(messages.content, 1, 200) FROM messages
        WHERE messages.conversation_id = page.id AND messages.principal_id = :principal_id AND messages.superseded = 0
        ORDER BY messages.id LIMIT 1) AS title,
    (SELECT substr(messages.content, 1, 200) FROM messages
        WHERE messages.conversation_id = page.id AND messages.principal_id = :principal_id AND messages.superseded = 0
        ORDER BY messages.id DESC LIMIT 1) AS preview,
    CAST(1 AS BIGINT) AS people
FROM (
    SELECT matching.* FROM (
        SELECT listed.value AS id FROM json_each(:ids) AS listed
        UNION
        SELECT named.id FROM (
            SELECT id FROM conversations
            WHERE CAST(:any_agent AS INTEGER) = 1
                AND (last_message_at, id) < (CAST(:at AS BIGINT), CAST(:before AS TEXT))
                AND agent_id IN (SELECT value FROM json_each(:agents) AS listed_agents)
                AND conversations.platform = 'web' AND conversations.connector = 'web'
                AND (conversations.thread = :user_id OR conversations.channel = 'web-' || :user_id OR conversations.channel = 'cli-' || :user_id
                    OR substr(conversations.channel, 1, length(:user_id) + 5) IN ('web-' || :user_id || '-', 'cli-' || :user_id || '-'))
                AND EXISTS (
                    SELECT 1 FROM messages WHERE messages.conversation_id = conversations.id AND messages.principal_id = :principal_id
                )
                AND (CAST(:agent_id AS TEXT) IS NULL OR conversations.agent_id = :agent_id)
                AND (CAST(:platform AS TEXT) IS NULL OR conversations.platform = :platform)
                AND (CAST(:channel AS TEXT) IS NULL OR conversations.channel = :channel)
                AND (CAST(:thread AS TEXT) IS NULL OR conversations.thread = :thread)
            ORDER BY last_message_at DESC, id DESC LIMIT :limit
        ) AS named
    ) AS chosen
    JOIN conversations AS matching ON matching.id = chosen.id
    WHERE (matching.last_message_at, matching.id) < (CAST(:at AS BIGINT), CAST(:before AS TEXT))
        AND matching.platform = 'web' AND matching.connector = 'web'
        AND (matching.thread = :user_id OR matching.channel = 'web-' || :user_id OR matching.channel = 'cli-' || :user_id
            OR substr(matching.channel, 1, length(:user_id) + 5) IN ('web-' || :user_id || '-', 'cli-' || :user_id || '-'))
        AND EXISTS (
            SELECT 1 FROM messages WHERE messages.conversation_id = matching.id AND messages.principal_id = :principal_id
        )
        AND (CAST(:agent_id AS TEXT) IS NULL OR matching.agent_id = :agent_id)
        AND (CAST(:platform AS TEXT) IS NULL OR matching.platform = :platform)
        AND (CAST(:channel AS TEXT) IS NULL OR matching.channel = :channel)
        AND (CAST(:thread AS TEXT) IS NULL OR matching.thread = :thread)
    ORDER BY matching.last_message_at DESC, matching.id DESC LIMIT :limit
) AS page
LEFT JOIN agents ON agents.id = page.agent_id
ORDER BY page.last_message_at DESC, page.id DESC;

-- name: search_talks
-- Conversations with a matching message (`ids`), and those whose agent has the text in its name (`agents`). The two parts
-- are separate, so that neither reads the conversations that only the other one needs.
SELECT page.*, agents.slug,
    (SELECT substr(messages.content, 1, 200) FROM messages
        WHERE messages.conversation_id = page.id AND messages.role = 'user' AND messages.superseded = 0
        ORDER BY messages.id LIMIT 1) AS title,
    (SELECT substr(messages.content, 1, 200) FROM messages
        WHERE messages.conversation_id = page.id AND messages.superseded = 0
        ORDER BY messages.id DESC LIMIT 1) AS preview,
    (SELECT CAST(count(DISTINCT newest.principal_id) AS BIGINT) FROM (
        SELECT messages.principal_id FROM messages WHERE messages.conversation_id = page.id AND messages.role = 'user'
        ORDER BY messages.id DESC LIMIT 100
    ) AS newest) AS people
FROM (
    SELECT matching.* FROM (
        SELECT listed.value AS id FROM json_each(:ids) AS listed
        UNION
        SELECT named.id FROM (
            SELECT id FROM conversations
            WHERE CAST(:any_agent AS INTEGER) = 1
                AND (last_message_at, id) < (CAST(:at AS BIGINT), CAST(:before AS TEXT))
                AND agent_id IN (SELECT value FROM json_each(:agents) AS listed_agents)
                AND (CAST(:agent_id AS TEXT) IS NULL OR agent_id = :agent_id)
                AND (CAST(:platform AS TEXT) IS NULL OR platform = :platform)
                AND (CAST(:channel AS TEXT) IS NULL OR channel = :channel)
                AND (CAST(:thread AS TEXT) IS NULL OR thread = :thread)
            ORDER BY last_message_at DESC, id DESC LIMIT :limit
        ) AS named
    ) AS chosen
    JOIN conversations AS matching ON matching.id = chosen.id
    WHERE (matching.last_message_at, matching.id) < (CAST(:at AS BIGINT), CAST(:before AS TEXT))
        AND (CAST(:agent_id AS TEXT) IS NULL OR matching.agent_id = :agent_id)
        AND (CAST(:platform AS TEXT) IS NULL OR matching.platform = :platform)
        AND (CAST(:channel AS TEXT) IS NULL OR matching.channel = :channel)
        AND (CAST(:thread AS TEXT) IS NULL OR matching.thread = :thread)
    ORDER BY matching.last_message_at DESC, matching.id DESC LIMIT :limit
) AS page
LEFT JOIN agents ON agents.id = page.agent_id
ORDER BY page.last_message_at DESC, page.id DESC;

-- name: agents_with_text
SELECT id FROM agents
WHERE lower(slug) LIKE lower(CAST(:pattern AS TEXT)) ESCAPE '!'
    OR lower(name) LIKE lower(CAST(:pattern AS TEXT)) ESCAPE '!'
LIMIT 1000;

-- name: one_talk
SELECT page.*, agents.slug,
    (SELECT substr(messages.content, 1, 200) FROM messages
        WHERE messages.conversation_id = page.id AND messages.role = 'user' AND messages.superseded = 0
        ORDER BY messages.id LIMIT 1) AS title,
    (SELECT substr(messages.content, 1, 200) FROM messages
        WHERE messages.conversation_id = page.id AND messages.superseded = 0
        ORDER BY messages.id DESC LIMIT 1) AS preview,
    (SELECT CAST(count(DISTINCT newest.principal_id) AS BIGINT) FROM (
        SELECT messages.principal_id FROM messages WHERE messages.conversation_id = page.id AND messages.role = 'user'
        ORDER BY messages.id DESC LIMIT 100
    ) AS newest) AS people
FROM conversations AS page
LEFT JOIN agents ON agents.id = page.agent_id
WHERE page.id = :id;

-- name: count_compactions
SELECT CAST(count(*) AS BIGINT) AS number FROM compactions WHERE conversation_id = :conversation_id;

-- name: shown_messages
SELECT messages.*, agents.slug,
    (SELECT max(jobs.status) FROM jobs WHERE jobs.execution_id = messages.execution_id
        AND jobs.status IN ('pending', 'running')) AS job_status,
    waits.answer AS wait_answer, waits.answered_at AS wait_answered_at
FROM messages
LEFT JOIN agents ON agents.id = messages.agent_id
LEFT JOIN waits ON waits.id = messages.wait_id
WHERE messages.conversation_id = :conversation_id AND messages.id < :before AND messages.superseded = 0
ORDER BY messages.id DESC LIMIT :limit;

-- name: own_messages
SELECT messages.*, agents.slug,
    (SELECT max(jobs.status) FROM jobs WHERE jobs.execution_id = messages.execution_id
        AND jobs.status IN ('pending', 'running')) AS job_status,
    waits.answer AS wait_answer, waits.answered_at AS wait_answered_at
FROM messages
LEFT JOIN agents ON agents.id = messages.agent_id
LEFT JOIN waits ON waits.id = messages.wait_id
LEFT JOIN messages AS asked ON asked.id = messages.reply_to
WHERE messages.conversation_id = :conversation_id AND messages.id < :before AND messages.superseded = 0
    AND (messages.principal_id = :principal_id OR asked.principal_id = :principal_id)
ORDER BY messages.id DESC LIMIT :limit;

-- name: files_of_page
SELECT attachments.* FROM messages
JOIN attachments ON attachments.message_id = messages.id
WHERE messages.conversation_id = :conversation_id AND messages.id >= :first AND messages.id <= :last
ORDER BY attachments.message_id, attachments.ordinal;

-- name: deliveries_of_page
SELECT deliveries.* FROM messages
JOIN deliveries ON deliveries.message_id = messages.id
WHERE messages.conversation_id = :conversation_id AND messages.id >= :first AND messages.id <= :last
ORDER BY deliveries.message_id, deliveries.part;

-- name: costs_of_page
-- The costs include all executions that were started for the turn.
WITH RECURSIVE tree (message_id, id) AS (
    SELECT messages.id, messages.execution_id FROM messages
    WHERE messages.conversation_id = :conversation_id AND messages.id >= :first AND messages.id <= :last
        AND messages.role IN ('assistant', 'notice') AND messages.execution_id IS NOT NULL
    UNION
    SELECT tree.message_id, executions.id FROM tree JOIN executions ON executions.begun_by = tree.id
)
SELECT tree.message_id AS id, CAST(sum(usage.cost_micros) AS BIGINT) AS micros FROM tree
JOIN usage ON usage.execution_id = tree.id
GROUP BY tree.message_id;

-- name: whole_talk
SELECT * FROM messages WHERE conversation_id = :conversation_id AND id > :after AND superseded = 0
ORDER BY id LIMIT :limit;

-- name: asked_messages
SELECT messages.*, agents.slug,
    (SELECT max(jobs.status) FROM jobs WHERE jobs.execution_id = messages.execution_id
        AND jobs.status IN ('pending', 'running')) AS job_status
FROM messages
LEFT JOIN agents ON agents.id = messages.agent_id
WHERE messages.id < :before AND messages.role = 'user'
    AND (CAST(:stored AS TEXT) IS NULL OR messages.status = :stored)
    AND (CAST(:job_status AS TEXT) IS NULL OR EXISTS (
        SELECT 1 FROM jobs WHERE jobs.execution_id = messages.execution_id AND jobs.status = :job_status))
    AND (CAST(:agent_id AS TEXT) IS NULL OR messages.agent_id = :agent_id)
    AND (CAST(:platform AS TEXT) IS NULL OR messages.platform = :platform)
    AND (CAST(:conversation_id AS TEXT) IS NULL OR messages.conversation_id = :conversation_id)
ORDER BY messages.id DESC LIMIT :limit;

-- name: search_asked
-- Of the messages in `ids`, those of people that pass the filters, in any order.
SELECT found.*, agents.slug,
    (SELECT max(jobs.status) FROM jobs WHERE jobs.execution_id = found.execution_id
        AND jobs.status IN ('pending', 'running')) AS job_status
FROM json_each(:ids) AS listed
JOIN messages AS found ON found.id = listed.value
LEFT JOIN agents ON agents.id = found.agent_id
WHERE found.role = 'user'
    AND (CAST(:stored AS TEXT) IS NULL OR found.status = :stored)
    AND (CAST(:job_status AS TEXT) IS NULL OR EXISTS (
        SELECT 1 FROM jobs WHERE jobs.execution_id = found.execution_id AND jobs.status = :job_status))
    AND (CAST(:agent_id AS TEXT) IS NULL OR found.agent_id = :agent_id)
    AND (CAST(:platform AS TEXT) IS NULL OR found.platform = :platform)
    AND (CAST(:conversation_id AS TEXT) IS NULL OR found.conversation_id = :conversation_id)
LIMIT 5000;

-- name: list_questions
SELECT * FROM waits
WHERE id < :before AND kind IN ('approval', 'review', 'user', 'input')
    AND (CAST(:kind AS TEXT) IS NULL OR kind = :kind)
    AND (answered_at IS NULL OR CAST(:open_only AS INTEGER) = 0)
ORDER BY id DESC LIMIT :limit;
