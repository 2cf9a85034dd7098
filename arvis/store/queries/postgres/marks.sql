-- Marks of commits: what a connection writes with each commit, so that its outcome can be asked for after it broke.

-- name: add_commit_mark
-- Waits for the connection that broke, should the server still work for it.
INSERT INTO commit_marks (id, number, at) VALUES (:id, -1, 0) ON CONFLICT (id) DO NOTHING;

-- name: commit_mark
SELECT number FROM commit_marks WHERE id = :id FOR UPDATE;

-- name: prune_commit_marks
-- Nobody asks for a commit of last week.
DELETE FROM commit_marks WHERE at < CAST(extract(epoch FROM now()) * 1000 AS bigint) - 604800000;
