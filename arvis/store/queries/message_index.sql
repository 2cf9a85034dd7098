-- The search index of messages. `queries/sqlite` and `queries/postgres` contain the queries that use the index itself.

-- name: message_index_state
SELECT rules, position, message_id, erasures, purged FROM message_index_state WHERE id = 1;

-- name: move_message_index
UPDATE message_index_state SET rules = :rules, position = :position, message_id = :message_id WHERE id = 1;

-- name: note_erased_words
UPDATE message_index_state SET erasures = erasures + 1 WHERE id = 1;

-- name: note_purged_words
UPDATE message_index_state SET purged = :erasures WHERE id = 1;

-- name: readable_messages
SELECT messages.* FROM json_each(:ids) AS listed
JOIN messages ON messages.id = listed.value
LEFT JOIN messages AS asked ON asked.id = messages.reply_to
WHERE messages.conversation_id IS NOT NULL AND messages.superseded = 0
    AND (CAST(:principal_id AS TEXT) IS NULL OR messages.principal_id = :principal_id
        OR asked.principal_id = :principal_id)
LIMIT 5000;

-- name: conversations_of_messages
-- Only the messages that this person may see count.
SELECT DISTINCT messages.conversation_id AS id FROM json_each(:ids) AS listed
JOIN messages ON messages.id = listed.value
LEFT JOIN messages AS asked ON asked.id = messages.reply_to
WHERE messages.conversation_id IS NOT NULL AND messages.superseded = 0
    AND (messages.principal_id = :principal_id OR asked.principal_id = :principal_id)
LIMIT 5000;
