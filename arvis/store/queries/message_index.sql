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

-- name: words_with_keys
SELECT message_vocabulary.key, message_vocabulary.word FROM json_each(:keys) AS listed
JOIN message_vocabulary ON message_vocabulary.key = listed.value
LIMIT 2000;

-- name: words_in_range
-- Words of these lengths with a key in this range.
SELECT DISTINCT word FROM message_vocabulary
WHERE key >= :first AND key < :last AND length(word) BETWEEN :shortest AND :longest
LIMIT :most;

-- name: known_words
SELECT listed.value AS word FROM json_each(:words) AS listed
WHERE EXISTS (SELECT 1 FROM message_vocabulary WHERE message_vocabulary.key = listed.value AND message_vocabulary.word = listed.value)
LIMIT 100000;

-- name: add_key
INSERT INTO message_vocabulary (key, word) VALUES (:key, :word) ON CONFLICT DO NOTHING;

-- name: next_words
SELECT word FROM message_vocabulary WHERE key > :after AND key = word ORDER BY key LIMIT :limit;

-- name: remove_key
DELETE FROM message_vocabulary WHERE key = :key AND word = :word;

-- name: clear_vocabulary
DELETE FROM message_vocabulary;
