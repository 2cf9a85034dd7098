-- name: search_facts
-- The parameters contain words and scope keys joined by OR, the operator of SQLite's FTS5. `*` marks beginnings of words.
SELECT facts.* FROM fact_index
JOIN facts ON facts.number = fact_index.rowid
WHERE fact_index.scope_key = ANY(string_to_array(CAST(:scope_keys AS TEXT), ' OR '))
    AND to_tsvector('simple', fact_index.words) @@ to_tsquery('simple', replace(replace(CAST(:words AS TEXT), ' OR ', ' | '), '*', ':*'))
ORDER BY
    ts_rank(
        to_tsvector('simple', fact_index.words), to_tsquery('simple', replace(replace(CAST(:words AS TEXT), ' OR ', ' | '), '*', ':*'))
    ) DESC,
    facts.number
LIMIT :limit;

-- name: find_facts
SELECT facts.* FROM fact_index
JOIN facts ON facts.number = fact_index.rowid
WHERE to_tsvector('simple', fact_index.words) @@ to_tsquery('simple', replace(replace(CAST(:words AS TEXT), ' OR ', ' | '), '*', ':*'))
    AND (CAST(:agent_id AS TEXT) IS NULL OR facts.agent_id = :agent_id)
    AND (CAST(:scope AS TEXT) IS NULL OR facts.scope = :scope)
    AND (CAST(:category AS TEXT) IS NULL OR facts.category = :category)
    AND (CAST(:status AS TEXT) IS NULL OR facts.status = :status)
ORDER BY
    ts_rank(
        to_tsvector('simple', fact_index.words), to_tsquery('simple', replace(replace(CAST(:words AS TEXT), ' OR ', ' | '), '*', ':*'))
    ) DESC,
    facts.number
LIMIT :limit;
