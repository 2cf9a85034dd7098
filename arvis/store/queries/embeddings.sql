-- The vectors of messages, facts and chunks of documents. `queries/sqlite` and `queries/postgres` contain the queries that compare signs.

-- name: slice_of_messages
-- The first id of the slice: the newest `limit` messages before this one.
SELECT min(slice.id) AS first FROM (SELECT id FROM messages WHERE id < :before ORDER BY id DESC LIMIT :limit) AS slice;

-- name: messages_to_embed
SELECT messages.id, substr(messages.content, 1, :most) AS content,
    COALESCE(messages.principal_id, asked.principal_id, '') AS area
FROM messages LEFT JOIN messages AS asked ON asked.id = messages.reply_to
WHERE messages.id >= :first AND messages.id < :before AND messages.role IN ('user', 'assistant')
    AND messages.superseded = 0 AND messages.conversation_id IS NOT NULL AND length(messages.content) >= :shortest
    AND NOT EXISTS (
        SELECT 1 FROM embeddings
        WHERE embeddings.kind = 'message' AND embeddings.subject = messages.id AND embeddings.model = :model
    )
ORDER BY messages.id DESC;

-- name: slice_of_facts
SELECT min(slice.number) AS first
FROM (SELECT number FROM facts WHERE number < :before ORDER BY number DESC LIMIT :limit) AS slice;

-- name: facts_to_embed
SELECT id, number, agent_id, scope, content FROM facts
WHERE number >= :first AND number < :before AND status = 'active'
    AND NOT EXISTS (
        SELECT 1 FROM embeddings
        WHERE embeddings.kind = 'fact' AND embeddings.subject = facts.id AND embeddings.model = :model
    )
ORDER BY number DESC;

-- name: embedded_message
-- The row of a message whose text is still the same; it is locked until the vector is stored.
SELECT id, COALESCE(
    principal_id, (SELECT asked.principal_id FROM messages AS asked WHERE asked.id = messages.reply_to), ''
) AS area
FROM messages WHERE id = :id AND substr(content, 1, :most) = CAST(:text AS TEXT) AND superseded = 0 /*hold*/;

-- name: embedded_fact
SELECT id, number, agent_id, scope, content FROM facts WHERE id = :id AND content = CAST(:text AS TEXT) AND status = 'active' /*hold*/;

-- name: slice_of_chunks
SELECT min(slice.number) AS first
FROM (SELECT number FROM knowledge_chunks WHERE number < :before ORDER BY number DESC LIMIT :limit) AS slice;

-- name: chunks_to_embed
-- Chunks of a version that is still being written are embedded after its end.
SELECT chunks.id, chunks.collection_id AS area, chunks.heading, chunks.content
FROM knowledge_chunks AS chunks
JOIN knowledge_documents AS documents ON documents.id = chunks.document_id AND documents.version = chunks.version
WHERE chunks.number >= :first AND chunks.number < :before
    AND NOT EXISTS (
        SELECT 1 FROM embeddings
        WHERE embeddings.kind = 'chunk' AND embeddings.subject = chunks.id AND embeddings.model = :model
    )
ORDER BY chunks.number DESC;

-- name: embedded_chunk
-- A chunk never changes; it is locked until the vector is stored.
SELECT id, collection_id AS area FROM knowledge_chunks WHERE id = :id /*hold*/;

-- name: drop_vectors
DELETE FROM embeddings WHERE kind = :kind AND subject IN (SELECT listed.value FROM json_each(:ids) AS listed);

-- name: drop_vectors_of_summary
DELETE FROM embeddings
WHERE kind = 'message' AND subject IN (SELECT id FROM messages WHERE compaction_id = :compaction_id);

-- name: drop_vectors_of_version
DELETE FROM embeddings
WHERE kind = 'message' AND subject IN (SELECT id FROM messages WHERE version_id = :version_id);

-- name: move_vector
UPDATE embeddings SET area = :area WHERE kind = 'fact' AND subject = :id;

-- name: slice_of_vectors
SELECT subject FROM embeddings WHERE kind = :kind AND subject > :after ORDER BY subject LIMIT 1 OFFSET :limit;

-- name: prune_vectors
-- Vectors of other models, and vectors whose text was deleted.
DELETE FROM embeddings
WHERE kind = :kind AND subject > :after AND subject <= :upto AND (
    model <> :model
    OR (kind = 'message' AND NOT EXISTS (
        SELECT 1 FROM messages WHERE messages.id = embeddings.subject AND messages.superseded <> 1
    ))
    OR (kind = 'fact' AND NOT EXISTS (
        SELECT 1 FROM facts WHERE facts.id = embeddings.subject AND facts.status = 'active'
    ))
    OR (kind = 'chunk' AND NOT EXISTS (
        SELECT 1 FROM knowledge_chunks WHERE knowledge_chunks.id = embeddings.subject
    ))
);

-- name: any_vector
SELECT 1 AS found FROM embeddings LIMIT 1;
