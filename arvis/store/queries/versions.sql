-- name: add_version
INSERT INTO versions (kind, row_id, version, data, by_id, at) VALUES (
    :kind, :row_id,
    (SELECT COALESCE(MAX(version), 0) + 1 FROM versions WHERE kind = :kind AND row_id = :row_id),
    :data, :by_id, :at
);

-- name: newest_versions
SELECT * FROM versions WHERE kind = :kind AND row_id = :row_id ORDER BY version DESC LIMIT :limit;

-- name: forget_old_versions
-- Keeps the newest two versions, which an undo needs.
DELETE FROM versions WHERE kind = :kind AND row_id = :row_id AND version < (
    SELECT MAX(newest.version) - 1 FROM versions AS newest WHERE newest.kind = :kind AND newest.row_id = :row_id
);
