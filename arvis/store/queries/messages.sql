-- name: message_by_event
-- The inbox key ensures that an event of a platform creates at most one message.
SELECT * FROM messages
WHERE platform = :platform AND connector = :connector AND channel = :channel AND event_id = :event_id;

-- name: get_message
SELECT * FROM messages WHERE id = :id;

-- name: add_message
INSERT INTO messages (
    id, conversation_id, role, content, tokens, status, reason, route, platform, connector, channel, thread, event_id,
    principal_id, user_name, agent_id, execution_id, position, turn, reply_to, superseded, created_at, taint,
    platform_ref, album, source, wait_id, rounds, quotations
) VALUES (
    :id, :conversation_id, :role, :content, :tokens, :status, :reason, :route, :platform, :connector, :channel, :thread,
    :event_id, :principal_id, :user_name, :agent_id, :execution_id, :position, :turn, :reply_to, 0, :created_at,
    :taint, :platform_ref, :album, :source, :wait_id, :rounds, :quotations
);

-- name: messages_of_turn
SELECT messages.*, CASE WHEN EXISTS (SELECT 1 FROM attachments WHERE message_id = messages.id) THEN 1 ELSE 0 END AS with_files
FROM messages WHERE execution_id = :execution_id AND role = 'user' ORDER BY position;

-- name: join_turn
UPDATE messages
SET execution_id = :execution_id, position = position + :behind
WHERE execution_id = :joining AND role = 'user';

-- name: move_message
UPDATE messages
SET execution_id = :execution_id, position = :position, status = 'accepted', reason = NULL, turn = NULL, answered_by = NULL
WHERE id = :id AND role = 'user';

-- name: settle_turn
UPDATE messages SET status = :status, reason = :reason, turn = :turn, answered_by = :reply_id
WHERE execution_id = :execution_id AND role = 'user';

-- name: answered_by
UPDATE messages SET answered_by = :reply_id WHERE id = :id;

-- name: mark_turn
UPDATE messages SET status = :status, reason = :reason WHERE execution_id = :execution_id AND role = 'user';

-- name: progress_of_turn
-- The progress messages of a turn. The query also serves to find the last position of a turn.
SELECT * FROM messages WHERE execution_id = :execution_id AND role = 'progress' ORDER BY position LIMIT 200;

-- name: settle_progress
UPDATE messages SET turn = :turn WHERE execution_id = :execution_id AND role = 'progress';

-- name: reopen_progress
UPDATE messages SET turn = NULL, compaction_id = NULL WHERE execution_id = :execution_id AND role = 'progress';

-- name: reopen_turn
-- If a summary already contains the failed turn, the messages of the turn return to the prompts.
UPDATE messages SET status = 'accepted', reason = NULL, turn = NULL, answered_by = NULL, compaction_id = NULL
WHERE execution_id = :execution_id AND role = 'user';

-- name: supersede_notice
-- The conditions on other roles are redundant: they let the query use the index of replies.
UPDATE messages SET superseded = 1, turn = NULL
WHERE execution_id = :execution_id AND role <> 'user' AND role <> 'progress' AND role = 'notice' AND superseded = 0;

-- name: history
-- Only turns that ended after the turn `after`, in the order in which they ended (docs/adr/0009). The newest is first;
-- the caller reverses the rows.
SELECT role, content, tokens, id, turn, position, taint, principal_id, user_name, created_at, files, rounds, quotations
FROM messages
WHERE conversation_id = :conversation_id AND turn IS NOT NULL AND compaction_id IS NULL AND turn > :after
ORDER BY turn DESC, position DESC LIMIT :limit;

-- name: past_turn
-- The messages of one ended turn, which may be a part of a summary. Each part uses an index.
SELECT messages.* FROM messages
WHERE messages.conversation_id = :conversation_id AND messages.turn = :turn AND messages.turn IS NOT NULL
    AND messages.compaction_id IS NULL
UNION ALL
SELECT messages.* FROM compactions JOIN messages ON messages.compaction_id = compactions.id
WHERE compactions.conversation_id = :conversation_id AND compactions.first_turn <= :turn
    AND compactions.last_turn >= :turn AND messages.turn = :turn;

-- name: recent_messages
-- The newest messages by id, which is exact enough to detect a burst.
SELECT created_at FROM (
    SELECT created_at, principal_id FROM messages
    WHERE conversation_id = :conversation_id AND role = 'user' AND id > :after
    ORDER BY id DESC LIMIT 30
) AS newest
WHERE principal_id = :principal_id
ORDER BY created_at DESC LIMIT :limit;

-- name: last_asked
-- This person's newest message that became a turn, by id, which is exact enough for an explanation.
SELECT * FROM messages
WHERE conversation_id = :conversation_id AND role = 'user' AND execution_id IS NOT NULL
    AND principal_id = :principal_id AND superseded = 0
ORDER BY id DESC LIMIT 1;

-- name: last_unasked
-- The newest message of a channel that no agent was asked to answer.
SELECT * FROM messages
WHERE platform = :platform AND connector = :connector AND channel = :channel AND thread = :thread
    AND status IN ('dropped', 'expired') AND role = 'user'
    AND (CAST(:principal_id AS TEXT) IS NULL OR principal_id = :principal_id)
ORDER BY id DESC LIMIT 1;

-- name: question_shown_as
-- Finds the question by the platform's id of the message that shows it, by that of a part, or by the stored id.
SELECT messages.wait_id FROM messages
LEFT JOIN deliveries ON deliveries.message_id = messages.id
LEFT JOIN delivery_parts ON delivery_parts.delivery_id = deliveries.id
WHERE messages.platform = :platform AND messages.connector = :connector AND messages.channel = :channel
    AND messages.wait_id IS NOT NULL
    AND (messages.id = :ref OR deliveries.platform_id = :ref OR delivery_parts.platform_id = :ref)
ORDER BY messages.id DESC LIMIT 1;

-- name: message_sent_as
-- Finds the message by the platform's id of one of the parts in which it was sent.
SELECT messages.* FROM delivery_parts
JOIN deliveries ON deliveries.id = delivery_parts.delivery_id
JOIN messages ON messages.id = deliveries.message_id
WHERE delivery_parts.platform_id = :ref AND deliveries.platform = :platform AND deliveries.connector = :connector
    AND deliveries.channel = :channel
ORDER BY messages.id DESC LIMIT 1;

-- name: said_since_question
-- An agent's messages to this person (or to everyone) after the delivery that last showed the question.
SELECT said.id FROM deliveries
JOIN messages AS said ON said.id = deliveries.message_id
LEFT JOIN messages AS asked ON asked.id = said.reply_to
WHERE deliveries.platform = :platform AND deliveries.connector = :connector AND deliveries.channel = :channel
    AND deliveries.seq > (
        SELECT COALESCE(max(shown.seq), 0) FROM messages AS questions
        JOIN deliveries AS shown ON shown.message_id = questions.id
        WHERE questions.wait_id = :wait_id
    )
    AND said.conversation_id = :conversation_id AND said.role IN ('assistant', 'progress')
    AND (asked.id IS NULL OR asked.principal_id = :principal_id)
LIMIT 1;

-- name: label_message
UPDATE messages SET taint = :taint WHERE id = :id;

-- name: add_note
INSERT INTO timeline (id, message_id, at, step, data) VALUES (:id, :message_id, :at, :step, :data);

-- name: prune_notes
DELETE FROM timeline WHERE id IN (SELECT id FROM timeline WHERE id < :oldest ORDER BY id LIMIT :limit);

-- name: open_conversation
SELECT id, agent_id, platform, connector, channel, thread, created_at, direct, room, remembers, effort FROM conversations
WHERE platform = :platform AND connector = :connector AND channel = :channel AND thread = :thread
    AND agent_id = :agent_id AND status = 'active';

-- name: conversations_in_place
SELECT * FROM conversations
WHERE platform = :platform AND connector = :connector AND channel = :channel AND thread = :thread
    AND status = 'active'
ORDER BY id LIMIT 100;

-- name: last_messages
SELECT agent_id, MAX(last_message_at) AS at FROM conversations GROUP BY agent_id LIMIT 1000;

-- name: get_conversation
SELECT id, agent_id, platform, connector, channel, thread, created_at, direct, room, remembers, effort FROM conversations
WHERE id = :id;

-- name: add_conversation
INSERT INTO conversations (
    id, agent_id, platform, connector, channel, thread, status, turns, created_at, last_message_at, direct, room, remembers
) VALUES (:id, :agent_id, :platform, :connector, :channel, :thread, 'active', 0, :now, :now, :direct, :room, :remembers);

-- name: newest_conversation
SELECT remembers FROM conversations
WHERE platform = :platform AND connector = :connector AND channel = :channel AND agent_id = :agent_id
ORDER BY id DESC LIMIT 1;

-- name: set_remembers
UPDATE conversations SET remembers = :remembers
WHERE platform = :platform AND connector = :connector AND channel = :channel AND agent_id = :agent_id;

-- name: set_effort
UPDATE conversations SET effort = :effort WHERE id = :id;

-- name: note_direct
UPDATE conversations SET direct = 1 WHERE id = :id;

-- name: note_room
UPDATE conversations SET room = :room WHERE id = :id;

-- name: close_conversation
UPDATE conversations SET status = 'closed' WHERE id = :id AND status = 'active';

-- name: next_turn
-- A counter row, because neither ids nor clocks follow the order of commits.
UPDATE conversations SET turns = turns + 1, last_message_at = :now WHERE id = :id RETURNING turns;

-- name: next_seq
-- A new channel begins above the numbers that it may have had before a restore (see `raise_seqs`).
INSERT INTO channels (platform, connector, channel, seq) VALUES (
    :platform, :connector, :channel,
    COALESCE((SELECT CAST(value AS BIGINT) FROM kv WHERE key = 'restored_at'), 0) + 1
)
ON CONFLICT (platform, connector, channel) DO UPDATE SET seq = channels.seq + 1
RETURNING seq;

-- name: add_delivery
INSERT INTO deliveries (
    id, message_id, part, platform, connector, channel, thread, seq, content, reply_to, answers, agent, state,
    created_at, reply_ref, execution_id, buttons, files, settled_at, platform_id
) VALUES (
    :id, :message_id, :part, :platform, :connector, :channel, :thread, :seq, :content, :reply_to, :answers, :agent,
    :state, :created_at, :reply_ref, :execution_id, :buttons, :files, :settled_at, :platform_id
);

-- name: get_delivery
SELECT * FROM deliveries WHERE id = :id;

-- name: set_delivery_state
UPDATE deliveries
SET state = :state, settled_at = :now, platform_id = COALESCE(:platform_id, platform_id), error = :error
WHERE id = :id;

-- name: add_usage
INSERT INTO usage (
    id, execution_id, job_id, agent_id, account, provider, model, input_tokens, output_tokens, cached_tokens,
    cost_micros, started_at, duration_ms, error, detail, principal_id, client_id, written_tokens, priced
) VALUES (
    :id, :execution_id, :job_id, :agent_id, :account, :provider, :model, :input_tokens, :output_tokens,
    :cached_tokens, :cost_micros, :started_at, :duration_ms, :error, :detail, :principal_id, :client_id,
    :written_tokens, :priced
)
ON CONFLICT (id) DO NOTHING;

-- name: take_back_usage
-- Deletes an estimate, because the call has ended after all.
DELETE FROM usage WHERE id = :id AND error = :error RETURNING cost_micros, started_at;

-- name: cost_of_execution
-- The cost includes child executions; delegated tasks are charged separately.
WITH RECURSIVE tree (id) AS (
    SELECT executions.id FROM executions WHERE executions.id = :execution_id
    UNION
    SELECT executions.id FROM tree
    JOIN executions ON executions.begun_by = tree.id AND executions.parent_wait IS NOT NULL
)
SELECT CAST(COALESCE(sum(usage.cost_micros), 0) AS BIGINT) AS micros FROM tree
CROSS JOIN usage
WHERE usage.execution_id = tree.id;

-- name: cost_of_executions
SELECT CAST(COALESCE(sum(usage.cost_micros), 0) AS BIGINT) AS micros FROM json_each(:ids) AS listed
CROSS JOIN usage
WHERE usage.execution_id = listed.value;

-- name: usage_of_person
SELECT
    CAST(count(*) AS BIGINT) AS calls,
    CAST(COALESCE(sum(input_tokens), 0) AS BIGINT) AS input_tokens,
    CAST(COALESCE(sum(output_tokens), 0) AS BIGINT) AS output_tokens,
    CAST(COALESCE(sum(cost_micros), 0) AS BIGINT) AS cost_micros
FROM usage WHERE principal_id = :principal_id AND id >= :first;

-- name: put_blob
-- Only on PostgreSQL, whose processes share no folder. The same bytes are stored only once.
INSERT INTO blobs (sha256, data) VALUES (:sha256, :data) ON CONFLICT (sha256) DO NOTHING;

-- name: get_blob
-- Only on PostgreSQL.
SELECT data FROM blobs WHERE sha256 = :sha256;
