-- Knowledge bases: collections, documents, chunks and their search index. `queries/sqlite` and `queries/postgres` contain the queries that
-- use the index itself.

-- name: all_collections
SELECT * FROM knowledge_collections WHERE removed = 0 ORDER BY slug LIMIT 1000;

-- name: any_collection
SELECT 1 AS found FROM knowledge_collections LIMIT 1;

-- name: collection_by_slug
SELECT * FROM knowledge_collections WHERE slug = :slug AND removed = 0;

-- name: collections_named
SELECT knowledge_collections.* FROM json_each(:slugs) AS listed
JOIN knowledge_collections ON knowledge_collections.slug = listed.value
WHERE knowledge_collections.removed = 0
LIMIT 1000;

-- name: removed_collection
SELECT id FROM knowledge_collections WHERE removed = 1 LIMIT 1;

-- name: add_collection
INSERT INTO knowledge_collections (id, slug, name, description, trusted, removed, created_at, updated_at)
VALUES (:id, :slug, :name, :description, :trusted, 0, :now, :now);

-- name: update_collection
UPDATE knowledge_collections SET name = :name, description = :description, trusted = :trusted, updated_at = :now
WHERE id = :id;

-- name: remove_collection
UPDATE knowledge_collections SET removed = 1, slug = id, updated_at = :now WHERE id = :id;

-- name: drop_collection
DELETE FROM knowledge_collections WHERE id = :id;

-- name: count_documents
SELECT CAST(count(*) AS BIGINT) AS number FROM knowledge_documents
WHERE collection_id = :collection_id AND status <> 'removed';

-- name: collection_counts
SELECT collection_id, status, CAST(count(*) AS BIGINT) AS number, CAST(sum(chunks) AS BIGINT) AS chunks
FROM knowledge_documents WHERE status <> 'removed'
GROUP BY collection_id, status;

-- name: get_document
SELECT * FROM knowledge_documents WHERE id = :id AND status <> 'removed';

-- name: document_at
SELECT * FROM knowledge_documents
WHERE collection_id = :collection_id AND location = :location AND status <> 'removed';

-- name: documents_of_folder
SELECT * FROM knowledge_documents
WHERE collection_id = :collection_id AND kind = 'folder' AND status <> 'removed' AND id > :after
ORDER BY id LIMIT :limit;

-- name: list_documents
SELECT * FROM knowledge_documents
WHERE collection_id = :collection_id AND id < :before AND status <> 'removed'
    AND (CAST(:status AS TEXT) IS NULL OR status = :status)
    AND (CAST(:pattern AS TEXT) IS NULL OR lower(location || ' ' || title) LIKE lower(CAST(:pattern AS TEXT)) ESCAPE '!')
ORDER BY id DESC LIMIT :limit;

-- name: add_document
INSERT INTO knowledge_documents (
    id, collection_id, kind, location, title, named, content_type, sha256, blob, stamp, size, status, problem, version, chunks,
    revision, refresh, due_at, failures, checked_at, indexed_at, created_at, updated_at
) VALUES (
    :id, :collection_id, :kind, :location, :title, :named, :content_type, :sha256, :blob, :stamp, :size, :status, :problem, :version,
    :chunks, :revision, :refresh, :due_at, :failures, :checked_at, :indexed_at, :created_at, :updated_at
);

-- name: update_document
-- A person may have changed the document since it was read; then `revision` differs, and nothing is written.
UPDATE knowledge_documents
SET title = :title, named = :named, content_type = :content_type, sha256 = :sha256, blob = :blob, stamp = :stamp, size = :size, status = :status,
    problem = :problem, version = :version, chunks = :chunks, revision = :revision, refresh = :refresh,
    due_at = :due_at, failures = :failures, checked_at = :checked_at, indexed_at = :indexed_at,
    updated_at = :updated_at
WHERE id = :id AND revision = :seen AND status <> 'removed';

-- name: due_document
SELECT * FROM knowledge_documents WHERE due_at IS NOT NULL AND kind <> 'page' ORDER BY due_at, id LIMIT 1;

-- name: due_page
SELECT * FROM knowledge_documents WHERE due_at IS NOT NULL AND kind = 'page' ORDER BY due_at, id LIMIT 1;

-- name: refresh_documents
UPDATE knowledge_documents SET due_at = :now, failures = 0
WHERE collection_id = :collection_id AND (kind = 'page' OR status = 'failed') AND status <> 'removed';

-- name: remove_document
UPDATE knowledge_documents SET status = 'removed', due_at = :now, revision = revision + 1, updated_at = :now
WHERE id = :id AND status <> 'removed';

-- name: remove_documents_of_collection
UPDATE knowledge_documents SET status = 'removed', due_at = :now, revision = revision + 1, updated_at = :now
WHERE id IN (
    SELECT listed.id FROM knowledge_documents AS listed
    WHERE listed.collection_id = :collection_id AND listed.status <> 'removed' LIMIT :limit
);

-- name: any_document_of_collection
SELECT 1 AS found FROM knowledge_documents WHERE collection_id = :collection_id LIMIT 1;

-- name: drop_document
DELETE FROM knowledge_documents WHERE id = :id;

-- name: file_is_document
SELECT 1 AS found FROM knowledge_documents WHERE blob = :sha256 AND blob <> '' LIMIT 1;

-- name: file_is_other_document
SELECT 1 AS found FROM knowledge_documents WHERE blob = :sha256 AND blob <> '' AND id <> :id LIMIT 1;

-- name: files_of_documents
SELECT DISTINCT blob AS sha256 FROM knowledge_documents WHERE blob <> '';

-- name: take_numbers
-- Reserves numbers, and returns the last of them.
INSERT INTO counters (name, value) VALUES (:name, :count)
ON CONFLICT (name) DO UPDATE SET value = counters.value + :count
RETURNING value;

-- name: add_chunk
INSERT INTO knowledge_chunks (id, number, collection_id, document_id, version, position, page, heading, content)
VALUES (:id, :number, :collection_id, :document_id, :version, :position, :page, :heading, :content);

-- name: other_chunks
-- Chunks of a document that do not belong to this version.
SELECT id, number, collection_id, heading, content FROM knowledge_chunks
WHERE document_id = :document_id AND version <> :version LIMIT :limit;

-- name: any_other_chunk
SELECT 1 AS found FROM knowledge_chunks WHERE document_id = :document_id AND version <> :version LIMIT 1;

-- name: drop_chunks
DELETE FROM knowledge_chunks WHERE id IN (SELECT listed.value FROM json_each(:ids) AS listed);

-- name: unindexed_chunks
SELECT id, number, collection_id, heading, content FROM knowledge_chunks
WHERE number > :position ORDER BY number LIMIT :limit;

-- name: found_chunks
-- The chunks with these numbers, in collections with these slugs.
SELECT knowledge_chunks.number, knowledge_chunks.id, knowledge_chunks.position, knowledge_chunks.page, knowledge_chunks.heading,
    knowledge_chunks.content, documents.id AS document_id, documents.kind, documents.location,
    collections.slug, collections.trusted
FROM json_each(:numbers) AS listed
JOIN knowledge_chunks ON knowledge_chunks.number = CAST(listed.value AS BIGINT)
JOIN knowledge_documents AS documents ON documents.id = knowledge_chunks.document_id
JOIN knowledge_collections AS collections ON collections.id = documents.collection_id
WHERE documents.version = knowledge_chunks.version AND documents.status <> 'removed' AND collections.removed = 0
    AND collections.slug IN (SELECT listed_slugs.value FROM json_each(:slugs) AS listed_slugs)
LIMIT 1000;

-- name: similar_chunks
-- The same as `found_chunks` for the ids of chunks.
SELECT knowledge_chunks.number, knowledge_chunks.id, knowledge_chunks.position, knowledge_chunks.page, knowledge_chunks.heading,
    knowledge_chunks.content, documents.id AS document_id, documents.kind, documents.location,
    collections.slug, collections.trusted
FROM json_each(:ids) AS listed
JOIN knowledge_chunks ON knowledge_chunks.id = listed.value
JOIN knowledge_documents AS documents ON documents.id = knowledge_chunks.document_id
JOIN knowledge_collections AS collections ON collections.id = documents.collection_id
WHERE documents.version = knowledge_chunks.version AND documents.status <> 'removed' AND collections.removed = 0
    AND collections.slug IN (SELECT listed_slugs.value FROM json_each(:slugs) AS listed_slugs)
LIMIT 1000;

-- name: chunks_of_document
SELECT number FROM knowledge_chunks
WHERE document_id = :document_id AND version = :version AND position >= :position
ORDER BY position LIMIT :limit;

-- name: chunks_around
-- The numbers of the chunks from `before` positions before this chunk to `after` positions after it.
SELECT around.number FROM knowledge_chunks AS picked
JOIN knowledge_chunks AS around ON around.document_id = picked.document_id AND around.version = picked.version
    AND around.position BETWEEN picked.position - :before AND picked.position + :after
WHERE picked.number = :number
ORDER BY around.position LIMIT 100;

-- name: knowledge_index_state
SELECT rules, position, erasures, purged FROM knowledge_index_state WHERE id = 1;

-- name: move_knowledge_index
UPDATE knowledge_index_state SET rules = :rules, position = :position WHERE id = 1;

-- name: note_erased_knowledge
UPDATE knowledge_index_state SET erasures = erasures + 1 WHERE id = 1;

-- name: note_purged_knowledge
UPDATE knowledge_index_state SET purged = :erasures WHERE id = 1;

-- name: knowledge_words_with_keys
SELECT knowledge_vocabulary.key, knowledge_vocabulary.word FROM json_each(:keys) AS listed
JOIN knowledge_vocabulary ON knowledge_vocabulary.key = listed.value
LIMIT 2000;

-- name: knowledge_words_in_range
SELECT DISTINCT word FROM knowledge_vocabulary
WHERE key >= :first AND key < :last AND length(word) BETWEEN :shortest AND :longest
LIMIT :most;

-- name: known_knowledge_words
SELECT listed.value AS word FROM json_each(:words) AS listed
WHERE EXISTS (
    SELECT 1 FROM knowledge_vocabulary WHERE knowledge_vocabulary.key = listed.value AND knowledge_vocabulary.word = listed.value
)
LIMIT 100000;

-- name: add_knowledge_key
INSERT INTO knowledge_vocabulary (key, word) VALUES (:key, :word) ON CONFLICT DO NOTHING;

-- name: next_knowledge_words
SELECT word FROM knowledge_vocabulary WHERE key > :after AND key = word ORDER BY key LIMIT :limit;

-- name: remove_knowledge_key
DELETE FROM knowledge_vocabulary WHERE key = :key AND word = :word;

-- name: clear_knowledge_vocabulary
DELETE FROM knowledge_vocabulary;
