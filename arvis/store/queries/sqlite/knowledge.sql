-- The search index of chunks, an FTS5 table without texts. Its rows have the numbers of the chunks.

-- name: add_knowledge_words
INSERT INTO knowledge_index (rowid, words) VALUES (:number, :words);

-- name: remove_knowledge_words
-- `words` must be the words with which the row was added, because the index does not contain them.
INSERT INTO knowledge_index (knowledge_index, rowid, words) VALUES ('delete', :number, :words);

-- name: clear_knowledge_index
INSERT INTO knowledge_index (knowledge_index) VALUES ('delete-all');

-- name: merge_knowledge_index
-- A negative number of pages begins to merge the whole index, which removes the words of deleted rows.
INSERT INTO knowledge_index (knowledge_index, rank) VALUES ('merge', :pages);

-- name: knowledge_postings
-- The newest chunks with these words, as one value, because a common word has thousands.
SELECT json_group_array(picked.number) AS numbers FROM (
    SELECT knowledge_index.rowid AS number FROM knowledge_index WHERE knowledge_index MATCH :words
    ORDER BY knowledge_index.rowid DESC LIMIT :most
) AS picked;

-- name: count_knowledge_postings
SELECT count(*) AS number
FROM (SELECT 1 FROM knowledge_index WHERE knowledge_index MATCH :words LIMIT :most) AS counted;
