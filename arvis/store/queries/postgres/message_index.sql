-- The search index of messages, a table with a GIN index. Messages have no numbers here, so `number` is 0.

-- name: unindexed_messages
-- Both tables have the lower bound, because otherwise PostgreSQL reads the whole index for each batch.
SELECT 0 AS number, messages.id, substr(messages.content, 1, 100000) AS content, messages.user_name, messages.channel,
    messages.conversation_id, messages.principal_id, asked.principal_id AS asked_by
FROM messages
LEFT JOIN messages AS asked ON asked.id = messages.reply_to
WHERE messages.id > :after AND NOT EXISTS (
    SELECT 1 FROM message_index WHERE message_index.message_id = messages.id AND message_index.message_id > :after
)
ORDER BY messages.id LIMIT :limit;

-- name: newest_unindexed
SELECT 0 AS number, messages.id, substr(messages.content, 1, 100000) AS content, messages.user_name, messages.channel,
    messages.conversation_id, messages.principal_id, asked.principal_id AS asked_by
FROM messages
LEFT JOIN messages AS asked ON asked.id = messages.reply_to
WHERE messages.id > :after AND (CAST(:before AS TEXT) IS NULL OR messages.id < :before)
    AND NOT EXISTS (
        SELECT 1 FROM message_index WHERE message_index.message_id = messages.id AND message_index.message_id > :after
    )
ORDER BY messages.id DESC LIMIT :limit;

-- name: indexed_message
-- A message that is not in the index yet is added by the transaction that changes it.
SELECT 0 AS number, messages.id, substr(messages.content, 1, 100000) AS content, messages.user_name, messages.channel,
    messages.conversation_id, messages.principal_id, asked.principal_id AS asked_by
FROM messages
LEFT JOIN messages AS asked ON asked.id = messages.reply_to
WHERE messages.id = :id;

-- name: indexed_messages_of_summary
-- Sorted, so that two transactions lock the rows of the index in the same order.
SELECT 0 AS number, messages.id, substr(messages.content, 1, 100000) AS content, messages.user_name, messages.channel,
    messages.conversation_id, messages.principal_id, asked.principal_id AS asked_by
FROM messages
LEFT JOIN messages AS asked ON asked.id = messages.reply_to
WHERE messages.compaction_id = :compaction_id AND messages.content <> ''
ORDER BY messages.id;

-- name: indexed_messages_of_version
-- Sorted, as above.
SELECT 0 AS number, messages.id, substr(messages.content, 1, 100000) AS content, messages.user_name, messages.channel,
    messages.conversation_id, messages.principal_id, asked.principal_id AS asked_by
FROM messages
LEFT JOIN messages AS asked ON asked.id = messages.reply_to
WHERE messages.version_id = :version_id AND messages.content <> ''
ORDER BY messages.id;

-- name: indexed_messages_of
-- Sorted, as above.
SELECT 0 AS number, messages.id, substr(messages.content, 1, 100000) AS content, messages.user_name, messages.channel,
    messages.conversation_id, messages.principal_id, asked.principal_id AS asked_by
FROM messages
JOIN message_index ON message_index.message_id = messages.id
LEFT JOIN messages AS asked ON asked.id = messages.reply_to
WHERE messages.id IN (SELECT listed.value FROM json_each(:ids) AS listed)
ORDER BY messages.id;

-- name: add_message_words
-- A message that another transaction has changed meanwhile is already in the index, with its new words.
INSERT INTO message_index (message_id, words) VALUES (:id, CAST(:words AS tsvector)) ON CONFLICT (message_id) DO NOTHING;

-- name: put_message_words
INSERT INTO message_index (message_id, words) VALUES (:id, CAST(:words AS tsvector))
ON CONFLICT (message_id) DO UPDATE SET words = excluded.words;

-- name: erase_message_words
DELETE FROM message_index WHERE message_id IN (SELECT listed.value FROM json_each(:ids) AS listed);

-- name: clear_message_index
DELETE FROM message_index;

-- name: find_messages
-- The newest rows are read first. A rare word is not in them often enough, and the second part finds it in the index.
-- PostgreSQL does not start the second part if the first one has filled the limit.
SELECT 0 AS number, messages.id, messages.conversation_id FROM (
    (
        SELECT newest.message_id FROM (
            SELECT message_index.message_id, message_index.words FROM message_index
            WHERE CAST(:before AS TEXT) IS NULL OR message_index.message_id < :before
            ORDER BY message_index.message_id DESC LIMIT 10000
        ) AS newest
        WHERE newest.words @@ CAST(:words AS tsquery)
        LIMIT :limit
    )
    UNION ALL
    (
        WITH matching AS MATERIALIZED (
            SELECT message_index.message_id FROM message_index WHERE message_index.words @@ CAST(:words AS tsquery)
        )
        SELECT matching.message_id FROM matching
        WHERE matching.message_id < (
            SELECT COALESCE(min(first.message_id), '') FROM (
                SELECT message_index.message_id FROM message_index
                WHERE CAST(:before AS TEXT) IS NULL OR message_index.message_id < :before
                ORDER BY message_index.message_id DESC LIMIT 10000
            ) AS first
        )
        ORDER BY matching.message_id DESC LIMIT :limit
    )
    LIMIT :limit
) AS picked
JOIN messages ON messages.id = picked.message_id
ORDER BY messages.id DESC;

-- name: common_words
-- The newest rows are searched first here, and contain enough messages with a common beginning.
SELECT 1 AS common WHERE FALSE;

-- name: postings
-- Without an order, so that PostgreSQL stops at the limit: it would read all messages with a common word to sort them.
SELECT CAST(json_agg(picked.message_id) AS TEXT) AS numbers FROM (
    SELECT message_index.message_id FROM message_index WHERE message_index.words @@ CAST(:words AS tsquery) LIMIT :most
) AS picked;

-- name: newest_postings
-- For each query, the newest messages that match it. `place` is the index of the query in the list, from 0 on.
SELECT CAST(queries.number AS BIGINT) - 1 AS place, CAST(json_agg(newest.message_id) AS TEXT) AS numbers FROM (
    SELECT message_index.message_id, message_index.words FROM message_index
    ORDER BY message_index.message_id DESC LIMIT :most
) AS newest
JOIN json_array_elements_text(CAST(:queries AS json)) WITH ORDINALITY AS queries (words, number)
    ON newest.words @@ CAST(queries.words AS tsquery)
GROUP BY queries.number;

-- name: count_postings
SELECT CAST(count(*) AS BIGINT) AS number FROM (
    SELECT 1 FROM message_index WHERE message_index.words @@ CAST(:words AS tsquery) LIMIT :most
) AS counted;

-- name: count_indexed
-- An estimate, because PostgreSQL would read the whole index to count its rows.
SELECT CAST(reltuples AS BIGINT) AS number FROM pg_class WHERE oid = CAST('message_index' AS regclass);

-- name: ranked_messages
-- The messages with these ids, and the two messages before and after each of them in its conversation, nearest first.
SELECT messages.id,
    (SELECT CAST(json_agg(near.id) AS TEXT) FROM (
        SELECT other.id FROM messages AS other
        WHERE other.conversation_id = messages.conversation_id AND other.id < messages.id AND other.superseded = 0
        ORDER BY other.id DESC LIMIT 2
    ) AS near) AS before,
    (SELECT CAST(json_agg(near.id) AS TEXT) FROM (
        SELECT other.id FROM messages AS other
        WHERE other.conversation_id = messages.conversation_id AND other.id > messages.id AND other.superseded = 0
        ORDER BY other.id LIMIT 2
    ) AS near) AS after
FROM json_each(:numbers) AS listed
JOIN messages ON messages.id = listed.value
LIMIT 3000;
