-- Searches of vectors. The function `differing_signs` of the connection compares the signs of two vectors.

-- name: put_vector
INSERT INTO embeddings (kind, subject, model, area, signs, vector)
VALUES (:kind, :subject, :model, :area, :signs, :vector)
ON CONFLICT (kind, subject) DO UPDATE
SET model = excluded.model, area = excluded.area, signs = excluded.signs, vector = excluded.vector;

-- name: nearest_vectors
-- The newest rows with the fewest differing signs.
SELECT embeddings.subject, embeddings.vector FROM (
    SELECT scanned.subject FROM (
        SELECT subject, signs FROM embeddings
        WHERE model = :model AND kind = :kind ORDER BY subject DESC LIMIT :most
    ) AS scanned
    WHERE length(scanned.signs) = length(:signs)
    ORDER BY differing_signs(scanned.signs, :signs) LIMIT :limit
) AS picked
JOIN embeddings ON embeddings.kind = :kind AND embeddings.subject = picked.subject;

-- name: nearest_vectors_in_areas
SELECT embeddings.subject, embeddings.vector FROM (
    SELECT scanned.subject FROM (
        SELECT subject, signs FROM embeddings
        WHERE model = :model AND kind = :kind AND area IN (SELECT listed.value FROM json_each(:areas) AS listed)
        LIMIT :most
    ) AS scanned
    WHERE length(scanned.signs) = length(:signs)
    ORDER BY differing_signs(scanned.signs, :signs) LIMIT :limit
) AS picked
JOIN embeddings ON embeddings.kind = :kind AND embeddings.subject = picked.subject;
