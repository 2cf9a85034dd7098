-- Searches of vectors. PostgreSQL stores signs as bits.

-- name: put_vector
INSERT INTO embeddings (kind, subject, model, area, signs, vector)
VALUES (
    :kind, :subject, :model, :area, CAST('x' || encode(CAST(:signs AS BYTEA), 'hex') AS BIT VARYING), CAST(:vector AS BYTEA)
)
ON CONFLICT (kind, subject) DO UPDATE
SET model = excluded.model, area = excluded.area, signs = excluded.signs, vector = excluded.vector;

-- name: nearest_vectors
SELECT embeddings.subject, embeddings.vector FROM (
    SELECT scanned.subject FROM (
        SELECT subject, signs FROM embeddings
        WHERE model = :model AND kind = :kind ORDER BY subject DESC LIMIT :most
    ) AS scanned, (SELECT CAST('x' || encode(CAST(:signs AS BYTEA), 'hex') AS BIT VARYING) AS signs) AS asked
    WHERE length(scanned.signs) = length(asked.signs)
    ORDER BY bit_count(CASE WHEN length(scanned.signs) = length(asked.signs) THEN scanned.signs # asked.signs END)
    LIMIT :limit
) AS picked
JOIN embeddings ON embeddings.kind = :kind AND embeddings.subject = picked.subject;

-- name: nearest_vectors_in_areas
SELECT embeddings.subject, embeddings.vector FROM (
    SELECT scanned.subject FROM (
        SELECT subject, signs FROM embeddings
        WHERE model = :model AND kind = :kind AND area IN (SELECT listed.value FROM json_each(:areas) AS listed)
        LIMIT :most
    ) AS scanned, (SELECT CAST('x' || encode(CAST(:signs AS BYTEA), 'hex') AS BIT VARYING) AS signs) AS asked
    WHERE length(scanned.signs) = length(asked.signs)
    ORDER BY bit_count(CASE WHEN length(scanned.signs) = length(asked.signs) THEN scanned.signs # asked.signs END)
    LIMIT :limit
) AS picked
JOIN embeddings ON embeddings.kind = :kind AND embeddings.subject = picked.subject;
