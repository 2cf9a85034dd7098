-- Marks of commits: a connection writes its mark with each commit, so that the outcome can be found out if the
-- connection breaks.

-- name: add_commit_mark
-- Waits until the server has ended the transaction of the broken connection.
INSERT INTO commit_marks (id, number, at) VALUES (:id, -1, 0) ON CONFLICT (id) DO NOTHING;

-- name: commit_mark
SELECT number FROM commit_marks WHERE id = :id FOR UPDATE;

-- name: prune_commit_marks
-- No process needs the outcome of a commit that is older than a week.
DELETE FROM commit_marks WHERE at < CAST(extract(epoch FROM now()) * 1000 AS bigint) - 604800000;
