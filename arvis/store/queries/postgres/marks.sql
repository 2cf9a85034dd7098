-- Marks of commits: a connection writes one with each commit, so that the outcome can be looked up after the
-- connection broke.

-- name: add_commit_mark
-- Waits for the broken connection, if the server still works for it.
INSERT INTO commit_marks (id, number, at) VALUES (:id, -1, 0) ON CONFLICT (id) DO NOTHING;

-- name: commit_mark
SELECT number FROM commit_marks WHERE id = :id FOR UPDATE;

-- name: prune_commit_marks
-- No process looks up a commit of last week.
DELETE FROM commit_marks WHERE at < CAST(extract(epoch FROM now()) * 1000 AS bigint) - 604800000;
