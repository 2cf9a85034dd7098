-- Exports and imports. Exports read slices in the order of ids. `people` are the ids of a person's identities;
-- `platform`, `connector` and `channel` name a channel, and `scopes` are its scopes of memory. All of them are NULL if
-- everything is exported.

-- name: people_to_export
SELECT principals.id AS identity_id, principals.* FROM principals
WHERE id > :after
    AND (CAST(:people AS TEXT) IS NULL OR id IN (SELECT listed.value FROM json_each(:people) AS listed))
    AND (CAST(:channel AS TEXT) IS NULL OR id IN (
        SELECT messages.principal_id FROM messages
        JOIN conversations ON conversations.id = messages.conversation_id
        WHERE conversations.platform = :platform AND conversations.connector = :connector
            AND conversations.channel = :channel
    ))
ORDER BY id LIMIT :limit;

-- name: facts_to_export
SELECT * FROM facts
WHERE id > :after AND (status = 'active' OR (status IN ('superseded', 'ended') AND valid_until IS NOT NULL))
    AND (CAST(:people AS TEXT) IS NULL
        OR scope IN (SELECT 'principal:' || listed.value FROM json_each(:people) AS listed)
        OR author_id IN (SELECT listed.value FROM json_each(:people) AS listed))
    AND (CAST(:scopes AS TEXT) IS NULL OR scope IN (SELECT listed.value FROM json_each(:scopes) AS listed))
ORDER BY id LIMIT :limit;

-- name: values_to_export
-- The position of a row is its primary key as one text.
SELECT agent_id || ' ' || scope || ' ' || key AS position, agent_state.* FROM agent_state
WHERE agent_id || ' ' || scope || ' ' || key > :after
    AND (CAST(:people AS TEXT) IS NULL
        OR scope IN (SELECT 'principal:' || listed.value FROM json_each(:people) AS listed)
        OR author_id IN (SELECT listed.value FROM json_each(:people) AS listed))
    AND (CAST(:scopes AS TEXT) IS NULL OR scope IN (SELECT listed.value FROM json_each(:scopes) AS listed))
ORDER BY position LIMIT :limit;

-- name: conversations_to_export
SELECT * FROM conversations
WHERE id > :after AND (CAST(:people AS TEXT) IS NULL OR EXISTS (
    SELECT 1 FROM messages WHERE messages.conversation_id = conversations.id
        AND messages.principal_id IN (SELECT listed.value FROM json_each(:people) AS listed)
)) AND (CAST(:channel AS TEXT) IS NULL
    OR (platform = :platform AND connector = :connector AND channel = :channel))
ORDER BY id LIMIT :limit;

-- name: all_conversations_in_place
SELECT * FROM conversations
WHERE platform = :platform AND connector = :connector AND channel = :channel AND thread = :thread
    AND agent_id = :agent_id
ORDER BY id LIMIT 10000;

-- name: messages_to_export
-- For a person: their messages and the replies to them.
SELECT messages.* FROM messages
LEFT JOIN messages AS asked ON asked.id = messages.reply_to
WHERE messages.conversation_id = :conversation_id AND messages.id > :after AND messages.superseded = :superseded
    AND (CAST(:people AS TEXT) IS NULL
        OR messages.principal_id IN (SELECT listed.value FROM json_each(:people) AS listed)
        OR asked.principal_id IN (SELECT listed.value FROM json_each(:people) AS listed))
ORDER BY messages.id LIMIT :limit;

-- name: overheard_to_export
SELECT * FROM overheard_messages
WHERE id > :after
    AND (CAST(:people AS TEXT) IS NULL OR EXISTS (
        SELECT 1 FROM principals
        WHERE principals.platform = overheard_messages.platform AND principals.user_id = overheard_messages.user_id
            AND principals.id IN (SELECT listed.value FROM json_each(:people) AS listed)
    ))
    AND (CAST(:channel AS TEXT) IS NULL
        OR (platform = :platform AND connector = :connector AND channel = :channel))
ORDER BY id LIMIT :limit;

-- name: summaries_to_export
SELECT * FROM compactions WHERE conversation_id = :conversation_id AND status <> 'restored'
ORDER BY last_turn LIMIT 10000;

-- name: documents_to_export
SELECT * FROM knowledge_documents
WHERE collection_id = :collection_id AND kind <> 'folder' AND status <> 'removed' AND id > :after
ORDER BY id LIMIT :limit;

-- name: import_conversation
INSERT INTO conversations (
    id, agent_id, platform, connector, channel, thread, status, turns, created_at, last_message_at, direct
) VALUES (
    :id, :agent_id, :platform, :connector, :channel, :thread, :status, :turns, :created_at, :last_message_at, :direct
);

-- name: import_summary
INSERT INTO compactions (
    id, conversation_id, execution_id, first_turn, last_turn, summary, tokens, taint, messages_before, messages_after,
    tokens_saved, status, created_at
) VALUES (
    :id, :conversation_id, '', :first_turn, :last_turn, :summary, :tokens, :taint, 0, 0, 0, 'active', :created_at
);
