-- The search index of messages, a table of FTS5. Its rows have the rowids of the messages (`number`).

-- name: message_at_position
SELECT id FROM messages WHERE rowid = :position;

-- name: unindexed_messages
SELECT messages.rowid AS number, messages.id, substr(messages.content, 1, 100000) AS content, messages.user_name,
    messages.channel, messages.conversation_id, messages.principal_id, asked.principal_id AS asked_by
FROM messages
LEFT JOIN messages AS asked ON asked.id = messages.reply_to
WHERE messages.rowid > :position
ORDER BY messages.rowid LIMIT :limit;

-- name: newest_unindexed
-- The messages that are newer than the index, newest first.
SELECT messages.rowid AS number, messages.id, substr(messages.content, 1, 100000) AS content, messages.user_name,
    messages.channel, messages.conversation_id, messages.principal_id, asked.principal_id AS asked_by
FROM messages
LEFT JOIN messages AS asked ON asked.id = messages.reply_to
WHERE messages.rowid > (SELECT position FROM message_index_state WHERE id = 1)
    AND messages.rowid < CASE WHEN :before IS NULL THEN 9223372036854775807 ELSE (
        SELECT COALESCE(max(bound.rowid), 0) FROM messages AS bound WHERE bound.id = :before
    ) END
ORDER BY messages.rowid DESC LIMIT :limit;

-- name: indexed_message
SELECT messages.rowid AS number, messages.id, substr(messages.content, 1, 100000) AS content, messages.user_name,
    messages.channel, messages.conversation_id, messages.principal_id, asked.principal_id AS asked_by
FROM messages
LEFT JOIN messages AS asked ON asked.id = messages.reply_to
WHERE messages.id = :id AND messages.rowid <= (SELECT position FROM message_index_state WHERE id = 1);

-- name: indexed_messages_of_summary
SELECT messages.rowid AS number, messages.id, substr(messages.content, 1, 100000) AS content, messages.user_name,
    messages.channel, messages.conversation_id, messages.principal_id, asked.principal_id AS asked_by
FROM messages
LEFT JOIN messages AS asked ON asked.id = messages.reply_to
WHERE messages.compaction_id = :compaction_id AND messages.content <> ''
    AND messages.rowid <= (SELECT position FROM message_index_state WHERE id = 1);

-- name: indexed_messages_of_version
SELECT messages.rowid AS number, messages.id, substr(messages.content, 1, 100000) AS content, messages.user_name,
    messages.channel, messages.conversation_id, messages.principal_id, asked.principal_id AS asked_by
FROM messages
LEFT JOIN messages AS asked ON asked.id = messages.reply_to
WHERE messages.version_id = :version_id AND messages.content <> ''
    AND messages.rowid <= (SELECT position FROM message_index_state WHERE id = 1);

-- name: indexed_messages_of
SELECT messages.rowid AS number, messages.id, substr(messages.content, 1, 100000) AS content, messages.user_name,
    messages.channel, messages.conversation_id, messages.principal_id, asked.principal_id AS asked_by
FROM messages
LEFT JOIN messages AS asked ON asked.id = messages.reply_to
WHERE messages.id IN (SELECT listed.value FROM json_each(:ids) AS listed)
    AND messages.rowid <= (SELECT position FROM message_index_state WHERE id = 1);

-- name: newest_at_position
SELECT rowid AS number, id FROM messages WHERE rowid <= :position ORDER BY rowid DESC LIMIT 1;

-- name: add_message_words
INSERT INTO message_index (rowid, words) VALUES (:number, :words);

-- name: remove_message_words
-- `words` must be the words with which the row was added, because the index does not contain them.
INSERT INTO message_index (message_index, rowid, words) VALUES ('delete', :number, :words);

-- name: clear_message_index
INSERT INTO message_index (message_index) VALUES ('delete-all');

-- name: merge_message_index
-- A negative number of pages begins to merge the whole index, which removes the words of deleted rows.
INSERT INTO message_index (message_index, rank) VALUES ('merge', :pages);

-- name: count_changes
SELECT total_changes() AS number;

-- name: find_messages
-- Messages with these words, newest first.
SELECT picked.rowid AS number, messages.id, messages.conversation_id FROM (
    SELECT message_index.rowid FROM message_index
    WHERE message_index MATCH :words
        AND message_index.rowid < CASE WHEN :before IS NULL THEN 9223372036854775807 ELSE (
            SELECT COALESCE(max(bound.rowid), 0) FROM messages AS bound WHERE bound.id = :before
        ) END
    ORDER BY message_index.rowid DESC LIMIT :limit
) AS picked
JOIN messages ON messages.rowid = picked.rowid
ORDER BY picked.rowid DESC;

-- name: common_words
-- A row if more messages than `most` have these words.
SELECT 1 AS common FROM message_index WHERE message_index MATCH :words LIMIT 1 OFFSET :most;

-- name: merge_fact_index
-- Does the same as `merge_message_index` for the index of facts.
INSERT INTO fact_index (fact_index, rank) VALUES ('merge', :pages);

-- name: postings
-- The newest messages with these words, as one value, because a common word has thousands.
SELECT json_group_array(picked.number) AS numbers FROM (
    SELECT message_index.rowid AS number FROM message_index WHERE message_index MATCH :words
    ORDER BY message_index.rowid DESC LIMIT :most
) AS picked;

-- name: count_postings
SELECT count(*) AS number FROM (SELECT 1 FROM message_index WHERE message_index MATCH :words LIMIT :most) AS counted;

-- name: count_indexed
SELECT position AS number FROM message_index_state WHERE id = 1;

-- name: newest_postings
-- Returns nothing, because `postings` already returns the newest messages with a common word.
SELECT 0 AS place, '[]' AS numbers WHERE :most < 0 AND :queries = '';

-- name: ranked_messages
-- The messages with these numbers, and the two messages before and after each of them in its conversation, nearest first.
SELECT messages.id,
    (SELECT json_group_array(near.id) FROM (
        SELECT other.id FROM messages AS other
        WHERE other.conversation_id = messages.conversation_id AND other.id < messages.id AND other.superseded = 0
        ORDER BY other.id DESC LIMIT 2
    ) AS near) AS before,
    (SELECT json_group_array(near.id) FROM (
        SELECT other.id FROM messages AS other
        WHERE other.conversation_id = messages.conversation_id AND other.id > messages.id AND other.superseded = 0
        ORDER BY other.id LIMIT 2
    ) AS near) AS after
FROM json_each(:numbers) AS listed
JOIN messages ON messages.rowid = listed.value
LIMIT 3000;
