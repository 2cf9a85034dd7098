-- Compaction of long conversations. A message is either part of prompts or has the id of the summary that replaces it.

-- name: size_of_prompts
SELECT CAST(count(*) AS BIGINT) AS messages, CAST(COALESCE(sum(tokens), 0) AS BIGINT) AS tokens FROM messages
WHERE conversation_id = :conversation_id AND turn IS NOT NULL AND compaction_id IS NULL;

-- name: oldest_messages
SELECT role, content, tokens, id, turn, position, taint, principal_id, user_name, created_at, files, rounds, quotations
FROM messages
WHERE conversation_id = :conversation_id AND turn IS NOT NULL AND compaction_id IS NULL
ORDER BY turn, position LIMIT :limit;

-- name: hold_range
-- The rows are locked, so that no message leaves its turn before the update, for example because a person retries it.
SELECT id FROM messages
WHERE conversation_id = :conversation_id AND turn IS NOT NULL AND compaction_id IS NULL
    AND turn >= :first_turn AND turn <= :last_turn
ORDER BY turn, position /*hold*/;

-- name: mark_range
UPDATE messages SET compaction_id = :compaction_id
WHERE conversation_id = :conversation_id AND turn IS NOT NULL AND compaction_id IS NULL
    AND turn >= :first_turn AND turn <= :last_turn;

-- name: add_compaction
INSERT INTO compactions (
    id, conversation_id, execution_id, first_turn, last_turn, summary, tokens, taint, messages_before, messages_after,
    tokens_saved, status, created_at, sources
) VALUES (
    :id, :conversation_id, :execution_id, :first_turn, :last_turn, :summary, :tokens, :taint, :messages_before,
    :messages_after, :tokens_saved, :status, :created_at, :sources
);

-- name: get_compaction
SELECT * FROM compactions WHERE id = :id;

-- name: newest_summaries
-- Sorting by turn is exact: the order of ended turns never changes, and no two summaries end with the same turn.
SELECT * FROM compactions WHERE conversation_id = :conversation_id AND status <> 'restored'
ORDER BY last_turn DESC LIMIT :limit;

-- name: end_compaction
UPDATE compactions SET status = :status, ended_at = :now WHERE id = :id AND status = 'active';

-- name: bring_back_messages
UPDATE messages SET compaction_id = NULL WHERE compaction_id = :compaction_id;

-- name: outlived_compactions
SELECT id FROM compactions WHERE status = 'active' AND created_at < :before ORDER BY created_at LIMIT :limit;

-- name: empty_messages
UPDATE messages SET content = '', rounds = '', quotations = '' WHERE compaction_id = :compaction_id;

-- name: rest_from_compaction
UPDATE conversations SET compact_after = turns + CAST(:turns AS BIGINT) WHERE id = :id;

-- name: rest_from_planned_compaction
UPDATE conversations SET plan_after = turns + CAST(:turns AS BIGINT) WHERE id = :id;

-- name: rest_of_conversation
SELECT turns, compact_after, plan_after FROM conversations WHERE id = :id;

-- name: list_compactions
SELECT * FROM compactions WHERE conversation_id = :conversation_id AND id < :before ORDER BY id DESC LIMIT :limit;

-- name: compacted_messages
SELECT role, content, tokens, id, turn, position, taint, principal_id, user_name, created_at, files, rounds, quotations
FROM messages
WHERE compaction_id = :compaction_id AND turn IS NOT NULL
ORDER BY turn, position LIMIT :limit;
