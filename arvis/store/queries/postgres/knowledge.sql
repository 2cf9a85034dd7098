-- The search index of chunks, a table with a GIN index.

-- name: add_knowledge_words
INSERT INTO knowledge_index (number, words) VALUES (:number, CAST(:words AS tsvector)) ON CONFLICT (number) DO NOTHING;

-- name: remove_knowledge_words
DELETE FROM knowledge_index WHERE number = :number AND CAST(:words AS TEXT) IS NOT NULL;

-- name: clear_knowledge_index
DELETE FROM knowledge_index;

-- name: knowledge_postings
-- Without an order, so that PostgreSQL stops at the limit.
SELECT CAST(json_agg(picked.number) AS TEXT) AS numbers FROM (
    SELECT knowledge_index.number FROM knowledge_index WHERE knowledge_index.words @@ CAST(:words AS tsquery) LIMIT :most
) AS picked;

-- name: count_knowledge_postings
SELECT CAST(count(*) AS BIGINT) AS number FROM (
    SELECT 1 FROM knowledge_index WHERE knowledge_index.words @@ CAST(:words AS tsquery) LIMIT :most
) AS counted;
