-- Erasures. `erasure_items` contains the rows that an erasure deletes, so that each step can continue after a crash.

-- name: add_erasure
INSERT INTO erasures (id, kind, phase, position, counts, mentions, by_id, created_at)
VALUES (:id, :kind, :phase, :position, :counts, :mentions, :by_id, :created_at);

-- name: get_erasure
SELECT * FROM erasures WHERE id = :id;

-- name: open_erasure
SELECT * FROM erasures WHERE ended_at IS NULL ORDER BY id LIMIT 1;

-- name: list_erasures
SELECT * FROM erasures WHERE id < :before ORDER BY id DESC LIMIT :limit;

-- name: open_erasure_of
SELECT erasures.* FROM erasures JOIN erasure_items ON erasure_items.erasure_id = erasures.id
WHERE erasures.ended_at IS NULL AND erasure_items.kind = :kind AND erasure_items.item = :item
ORDER BY erasures.id LIMIT 1;

-- name: save_erasure
UPDATE erasures SET phase = :phase, position = :position, counts = :counts, mentions = :mentions, ended_at = :ended_at
WHERE id = :id;

-- name: add_erasure_item
INSERT INTO erasure_items (erasure_id, kind, item) VALUES (:erasure_id, :kind, :item)
ON CONFLICT (erasure_id, kind, item) DO NOTHING;

-- name: erasure_items
SELECT item FROM erasure_items WHERE erasure_id = :erasure_id AND kind = :kind AND item > :after
ORDER BY item LIMIT :limit;

-- name: has_erasure_item
SELECT 1 AS found FROM erasure_items WHERE erasure_id = :erasure_id AND kind = :kind AND item = :item;

-- name: newest_erasure_items
SELECT item FROM erasure_items WHERE erasure_id = :erasure_id AND kind = :kind AND item < :before
ORDER BY item DESC LIMIT :limit;

-- name: drop_erasure_items
DELETE FROM erasure_items WHERE erasure_id = :erasure_id;

-- The items that name folders and files of other processes stay for them.
-- name: drop_other_erasure_items
DELETE FROM erasure_items WHERE erasure_id = :erasure_id AND kind NOT IN ('conversation', 'shared', 'file');

-- name: ended_erasures
SELECT id FROM erasures WHERE ended_at >= :since ORDER BY id;

-- name: prune_erasure_items
DELETE FROM erasure_items WHERE erasure_id IN (SELECT id FROM erasures WHERE ended_at < :before);

-- name: end_of_messages
-- The last id of the next slice of messages.
SELECT max(slice.id) AS id FROM (SELECT id FROM messages WHERE id > :after ORDER BY id LIMIT :limit) AS slice;

-- name: messages_of_person
-- The messages of the person, the replies to them, and messages of work for the person.
SELECT messages.id, messages.conversation_id, messages.execution_id FROM messages
LEFT JOIN messages AS asked ON asked.id = messages.reply_to
LEFT JOIN executions ON executions.id = messages.execution_id
WHERE messages.id > :after AND messages.id <= :upto AND (
    messages.principal_id IN (SELECT listed.value FROM json_each(:people) AS listed)
    OR asked.principal_id IN (SELECT listed.value FROM json_each(:people) AS listed)
    OR executions.principal_id IN (SELECT listed.value FROM json_each(:people) AS listed)
);

-- name: messages_of_channel
SELECT id, conversation_id, execution_id FROM messages
WHERE id > :after AND id <= :upto AND platform = :platform AND connector = :connector AND channel = :channel;

-- name: another_person_in
SELECT id FROM messages
WHERE conversation_id = :conversation_id AND role = 'user'
    AND (principal_id IS NULL OR principal_id NOT IN (SELECT listed.value FROM json_each(:people) AS listed))
LIMIT 1;

-- name: messages_in_conversation
SELECT id, execution_id FROM messages WHERE conversation_id = :conversation_id AND id > :after ORDER BY id LIMIT :limit;

-- name: end_of_executions
SELECT max(slice.id) AS id FROM (SELECT id FROM executions WHERE id > :after ORDER BY id LIMIT :limit) AS slice;

-- name: executions_to_erase
SELECT id FROM executions
WHERE id > :after AND id <= :upto AND (
    principal_id IN (SELECT listed.value FROM json_each(:people) AS listed)
    OR lane IN (
        SELECT 'conversation:' || item FROM erasure_items WHERE erasure_id = :erasure_id AND kind = 'conversation'
    )
);

-- name: live_executions_to_erase
SELECT executions.id FROM erasure_items JOIN executions ON executions.id = erasure_items.item
WHERE erasure_items.erasure_id = :erasure_id AND erasure_items.kind = 'execution'
    AND executions.status IN ('running', 'paused')
ORDER BY executions.id LIMIT :limit;

-- The scopes of memory of a channel and its threads, which begin with `room`. Names of channels may contain colons, so
-- scopes of other channels may have the same beginning. Those that belong to a conversation of another channel are left
-- out.
-- name: scopes_of_room
SELECT used.scope FROM (SELECT scope FROM facts UNION SELECT scope FROM agent_state) AS used
WHERE substr(used.scope, 1, length(CAST(:room AS TEXT))) = CAST(:room AS TEXT)
    AND used.scope NOT IN (
        SELECT 'room:' || platform || ':' || connector || ':' || channel || ':' || thread FROM conversations
        WHERE substr('room:' || platform || ':' || connector || ':' || channel, 1, length(CAST(:room AS TEXT)))
            = CAST(:room AS TEXT)
    )
ORDER BY used.scope;

-- name: facts_to_erase
SELECT id, number FROM facts
WHERE scope IN (SELECT listed.value FROM json_each(:scopes) AS listed)
    OR author_id IN (SELECT listed.value FROM json_each(:people) AS listed)
    OR message_id IN (SELECT item FROM erasure_items WHERE erasure_id = :erasure_id AND kind = 'message')
    OR execution_id IN (SELECT item FROM erasure_items WHERE erasure_id = :erasure_id AND kind = 'execution')
ORDER BY number LIMIT :limit;

-- name: erase_fact_changes
DELETE FROM fact_changes WHERE fact_id = :id;

-- name: erase_fact
DELETE FROM facts WHERE id = :id;

-- name: facts_that_mention
SELECT id FROM facts WHERE status <> 'deleted' AND lower(content) LIKE lower(CAST(:pattern AS TEXT)) ESCAPE '!'
ORDER BY id DESC LIMIT :limit;

-- name: erase_values
DELETE FROM agent_state
WHERE scope IN (SELECT listed.value FROM json_each(:scopes) AS listed)
    OR author_id IN (SELECT listed.value FROM json_each(:people) AS listed)
    OR message_id IN (SELECT item FROM erasure_items WHERE erasure_id = :erasure_id AND kind = 'message');

-- name: end_of_jobs
SELECT max(slice.id) AS id FROM (SELECT id FROM jobs WHERE id > :after ORDER BY id LIMIT :limit) AS slice;

-- name: jobs_to_erase
SELECT jobs.id, jobs.lane FROM jobs LEFT JOIN deliveries ON deliveries.id = jobs.delivery_id
WHERE jobs.id > :after AND jobs.id <= :upto AND (
    jobs.principal_id IN (SELECT listed.value FROM json_each(:people) AS listed)
    OR jobs.message_id IN (SELECT item FROM erasure_items WHERE erasure_id = :erasure_id AND kind = 'message')
    OR jobs.execution_id IN (SELECT item FROM erasure_items WHERE erasure_id = :erasure_id AND kind = 'execution')
    OR deliveries.message_id IN (SELECT item FROM erasure_items WHERE erasure_id = :erasure_id AND kind = 'message')
);

-- name: erase_job
DELETE FROM jobs WHERE id = :id AND status NOT IN ('pending', 'running');

-- name: erase_notifications
-- Notifications about this job, execution or conversation, because their texts quote errors.
DELETE FROM notifications WHERE subject = :id;

-- name: erase_idle_lane
DELETE FROM lanes WHERE lane = :lane AND live = 0 AND NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.lane = lanes.lane);

-- name: files_of_messages
-- The last part lists the pictures that tools have shown.
SELECT sha256 AS files FROM attachments WHERE message_id IN (SELECT listed.value FROM json_each(:ids) AS listed)
UNION ALL
SELECT files FROM deliveries WHERE message_id IN (SELECT listed.value FROM json_each(:ids) AS listed) AND files <> '[]'
UNION ALL
SELECT delivery_parts.files FROM deliveries JOIN delivery_parts ON delivery_parts.delivery_id = deliveries.id
WHERE deliveries.message_id IN (SELECT listed.value FROM json_each(:ids) AS listed) AND delivery_parts.files <> '[]'
UNION ALL
SELECT rounds FROM messages
WHERE id IN (SELECT listed.value FROM json_each(:ids) AS listed) AND replace(rounds, '"pictures"', '') <> rounds;

-- name: erase_events
DELETE FROM inbox_events
WHERE message_id IN (SELECT item FROM erasure_items WHERE erasure_id = :erasure_id AND kind = 'message');

-- name: erase_summaries_of_turns
-- Later summaries may repeat earlier ones.
UPDATE compactions SET summary = CAST(:summary AS TEXT), tokens = CAST(:tokens AS BIGINT), sources = ''
WHERE id IN (
    SELECT compactions.id FROM messages
    JOIN compactions ON compactions.conversation_id = messages.conversation_id
        AND compactions.last_turn >= COALESCE(messages.turn, messages.version_turn)
    WHERE messages.id IN (SELECT listed.value FROM json_each(:ids) AS listed)
);

-- name: erase_notes
DELETE FROM timeline WHERE message_id IN (SELECT listed.value FROM json_each(:ids) AS listed);

-- name: erase_parts
DELETE FROM delivery_parts WHERE delivery_id IN (
    SELECT id FROM deliveries WHERE message_id IN (SELECT listed.value FROM json_each(:ids) AS listed)
);

-- name: erase_deliveries
DELETE FROM deliveries WHERE message_id IN (SELECT listed.value FROM json_each(:ids) AS listed);

-- name: erase_additions
DELETE FROM plugin_additions WHERE message_id IN (SELECT listed.value FROM json_each(:ids) AS listed);

-- name: erase_attachments
DELETE FROM attachments WHERE message_id IN (SELECT listed.value FROM json_each(:ids) AS listed);

-- name: erase_reactions
DELETE FROM reactions WHERE message_id IN (SELECT listed.value FROM json_each(:ids) AS listed);

-- name: erase_feedback
DELETE FROM feedback WHERE message_id IN (SELECT listed.value FROM json_each(:ids) AS listed);

-- name: erase_reactions_of_person
DELETE FROM reactions WHERE principal_id = :id;

-- name: erase_link_requests
DELETE FROM link_requests WHERE identity_id = :id OR claimed_by = :id;

-- name: erase_feedback_of_person
DELETE FROM feedback WHERE principal_id = :id;

-- name: messages_with_quotations
SELECT id, platform, quotations FROM messages WHERE id > :after AND id <= :upto AND quotations <> '';

-- name: is_erasure_item
SELECT 1 AS found FROM erasure_items WHERE erasure_id = :erasure_id AND kind = :kind AND item = :item;

-- name: put_quotations
UPDATE messages SET quotations = :quotations WHERE id = :id;

-- name: erase_messages
DELETE FROM messages WHERE id IN (SELECT listed.value FROM json_each(:ids) AS listed);

-- name: children_to_erase
SELECT id FROM executions WHERE begun_by = :execution_id ORDER BY id LIMIT 1000;

-- name: erase_drafts
DELETE FROM drafts WHERE execution_id = :execution_id;

-- name: erase_reservations
DELETE FROM budget_reservations WHERE execution_id = :execution_id;

-- name: erase_audit_of_execution
DELETE FROM audit WHERE execution_id = :execution_id;

-- name: erase_notes_of_execution
DELETE FROM timeline WHERE message_id = :execution_id;

-- name: anonymise_usage_of_execution
UPDATE usage SET principal_id = NULL, detail = NULL WHERE execution_id = :execution_id;

-- name: anonymise_open_calls
UPDATE open_calls SET principal_id = NULL WHERE execution_id = :execution_id;

-- name: erase_report
UPDATE schedule_runs SET report = '' WHERE execution_id = :execution_id;

-- name: erase_conversation_versions
DELETE FROM conversation_versions WHERE conversation_id = :conversation_id;

-- name: erase_compactions
DELETE FROM compactions WHERE conversation_id = :conversation_id;

-- name: erase_threads
DELETE FROM handover_threads WHERE conversation_id = :conversation_id;

-- name: erase_incidents
DELETE FROM delivery_incidents WHERE conversation_id = :conversation_id;

-- name: erase_additions_of_conversation
DELETE FROM plugin_additions WHERE conversation_id = :conversation_id;

-- name: conversation_to_erase
SELECT * FROM conversations WHERE id = :conversation_id;

-- name: erase_completions
DELETE FROM completion_requests WHERE thread = :thread;

-- name: erase_conversation
DELETE FROM conversations WHERE id = :conversation_id
    AND NOT EXISTS (SELECT 1 FROM messages WHERE messages.conversation_id = conversations.id);

-- name: erase_idle_channel
DELETE FROM channels
WHERE platform = :platform AND connector = :connector AND channel = :channel
    AND NOT EXISTS (
        SELECT 1 FROM deliveries WHERE deliveries.platform = channels.platform
            AND deliveries.connector = channels.connector AND deliveries.channel = channels.channel
    );

-- name: erase_channel_status
DELETE FROM channel_status WHERE platform = :platform AND connector = :connector AND channel = :channel;

-- name: erase_channel_counters
-- The names of these values contain the channel.
DELETE FROM kv
WHERE substr(key, 1, length(CAST(:in_channel AS TEXT))) = CAST(:in_channel AS TEXT)
    OR substr(key, 1, length(CAST(:in_thread AS TEXT))) = CAST(:in_thread AS TEXT);

-- name: conversations_in_channel
SELECT id FROM conversations WHERE platform = :platform AND connector = :connector AND channel = :channel
ORDER BY id LIMIT 1;

-- name: overheard_of_person
DELETE FROM overheard_messages WHERE id IN (
    SELECT id FROM overheard_messages WHERE platform = :platform AND user_id = :user_id ORDER BY id LIMIT :limit
);

-- name: overheard_in_channel
DELETE FROM overheard_messages WHERE id IN (
    SELECT id FROM overheard_messages WHERE platform = :platform AND connector = :connector AND channel = :channel
    ORDER BY id LIMIT :limit
);

-- name: schedules_to_erase
-- Schedules of the person, and schedules that post in the channel or in a deleted direct conversation.
SELECT id FROM schedules
WHERE principal_id IN (SELECT listed.value FROM json_each(:people) AS listed)
    OR author_id IN (SELECT listed.value FROM json_each(:people) AS listed)
    OR (platform = :platform AND connector IN ('', :connector) AND channel = :channel)
    OR EXISTS (
        SELECT 1 FROM erasure_items JOIN conversations ON conversations.id = erasure_items.item
        WHERE erasure_items.erasure_id = :erasure_id AND erasure_items.kind = 'conversation'
            AND conversations.direct = 1 AND conversations.platform = schedules.platform
            AND schedules.connector IN ('', conversations.connector) AND conversations.channel = schedules.channel
    )
ORDER BY id LIMIT 1000;

-- name: webhooks_to_erase
-- Webhooks of the person, and webhooks that post in the channel or in a deleted direct conversation.
SELECT id FROM webhooks
WHERE principal_id IN (SELECT listed.value FROM json_each(:people) AS listed)
    OR author_id IN (SELECT listed.value FROM json_each(:people) AS listed)
    OR (platform = :platform AND connector IN ('', :connector) AND channel = :channel)
    OR EXISTS (
        SELECT 1 FROM erasure_items JOIN conversations ON conversations.id = erasure_items.item
        WHERE erasure_items.erasure_id = :erasure_id AND erasure_items.kind = 'conversation'
            AND conversations.direct = 1 AND conversations.platform = webhooks.platform
            AND webhooks.connector IN ('', conversations.connector) AND conversations.channel = webhooks.channel
    )
ORDER BY id LIMIT 1000;

-- name: executions_of_schedule
SELECT execution_id AS id FROM schedule_runs WHERE schedule_id = :id AND execution_id IS NOT NULL LIMIT 10000;

-- name: executions_of_webhook
SELECT execution_id AS id FROM webhook_calls WHERE webhook_id = :id AND execution_id IS NOT NULL LIMIT 10000;

-- name: erase_schedule_runs
DELETE FROM schedule_runs WHERE schedule_id = :id;

-- name: erase_schedule
DELETE FROM schedules WHERE id = :id;

-- name: erase_webhook_calls
DELETE FROM webhook_calls WHERE webhook_id = :id;

-- name: erase_calls_of_executions
DELETE FROM webhook_calls
WHERE execution_id IN (SELECT item FROM erasure_items WHERE erasure_id = :erasure_id AND kind = 'execution');

-- name: erase_webhook
DELETE FROM webhooks WHERE id = :id;

-- name: erase_versions
DELETE FROM versions WHERE row_id = :id;

-- name: erase_projects
DELETE FROM projects
WHERE principal_id IN (SELECT listed.value FROM json_each(:people) AS listed)
    OR author_id IN (SELECT listed.value FROM json_each(:people) AS listed);

-- name: erase_audit_of_person
DELETE FROM audit WHERE principal_id = :id;

-- name: erase_pairings
DELETE FROM pairings WHERE platform = :platform AND user_id = :user_id;

-- name: erase_allowances
DELETE FROM allowances WHERE principal_id = :id;

-- name: erase_spending
DELETE FROM spending WHERE scope = 'principal' AND key = :id;

-- name: erase_personal_reservations
DELETE FROM budget_reservations WHERE scope = 'principal' AND key = :id;

-- name: erase_idempotency_keys
DELETE FROM idempotency_keys WHERE asker = :user_id;

-- name: erase_name_in_notes
-- Notes about other people's messages may name the person who stopped them.
UPDATE timeline SET data = replace(data, CAST(:named AS TEXT), '"by":"(erased)"')
WHERE replace(data, CAST(:named AS TEXT), '') <> data;

-- name: has_access
-- The person can still log in, has an API key, or was given rights. The block of a blocked person must last.
SELECT 1 AS found FROM principals
WHERE id = :id AND (
    role <> 'member'
    OR (platform = 'web' AND user_id IN (SELECT users.id FROM users))
    OR (platform = 'web' AND user_id IN (SELECT 'key-' || api_keys.id FROM api_keys))
);

-- name: has_new_content
-- The person has written since the erasure began.
SELECT 1 AS found FROM messages WHERE id > :after AND principal_id = :id LIMIT 1;

-- name: erase_sessions
DELETE FROM sessions WHERE principal_id = :id;

-- name: erase_person
DELETE FROM principals WHERE id = :id;

-- name: erase_name
UPDATE principals SET name = '(erased)', timezone = NULL, language = NULL WHERE id = :id;

-- name: end_of_usage
SELECT max(slice.id) AS id FROM (SELECT id FROM usage WHERE id > :after ORDER BY id LIMIT :limit) AS slice;

-- name: anonymise_usage
UPDATE usage SET principal_id = NULL, detail = NULL
WHERE id > :after AND id <= :upto
    AND principal_id IN (SELECT listed.value FROM json_each(:people) AS listed);

-- name: file_is_attached
SELECT 1 AS found FROM attachments WHERE sha256 = :sha256 LIMIT 1;

-- name: file_is_sent
SELECT 1 AS found FROM deliveries WHERE files <> '[]' AND replace(files, CAST(:sha256 AS TEXT), '') <> files
UNION ALL
SELECT 1 AS found FROM executions
WHERE status IN ('running', 'paused') AND replace(state, CAST(:sha256 AS TEXT), '') <> state
UNION ALL
SELECT 1 AS found FROM messages WHERE rounds <> '' AND replace(rounds, CAST(:sha256 AS TEXT), '') <> rounds
LIMIT 1;

-- name: erase_blob
DELETE FROM blobs WHERE sha256 = :sha256;
