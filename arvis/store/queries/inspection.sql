-- Counts for `arvis doctor`. Each query is limited by an index or a limit, because the daemon may be running and the
-- database may have millions of rows.

-- name: schema_ages
-- The times of the first and the last migration: the age of the installation, and a lower bound for the clock.
SELECT min(applied_at) AS oldest, max(applied_at) AS newest FROM migrations;

-- name: newest_rows
-- Ids begin with their creation time, so the rows with the highest ids have the latest times.
SELECT created_at FROM (SELECT created_at FROM messages ORDER BY id DESC LIMIT 1) AS message
UNION ALL
SELECT created_at FROM (SELECT created_at FROM jobs ORDER BY id DESC LIMIT 1) AS job;

-- name: dead_letters
SELECT CAST(count(*) AS BIGINT) AS number,
    CAST(COALESCE(sum(CASE WHEN reason = 'poison' THEN 1 ELSE 0 END), 0) AS BIGINT) AS poisoned
FROM (SELECT reason FROM jobs WHERE status = 'failed' ORDER BY id DESC LIMIT :limit) AS newest;

-- name: next_of_pools
-- The next job of each pool has waited for the longest time, except for less urgent jobs.
SELECT run_at FROM (
    SELECT run_at FROM jobs WHERE ready = 1 AND pool = 'interactive' ORDER BY rank, id LIMIT 1
) AS interactive
UNION ALL
SELECT run_at FROM (
    SELECT run_at FROM jobs WHERE ready = 1 AND pool = 'background' ORDER BY rank, id LIMIT 1
) AS background
UNION ALL
SELECT run_at FROM (
    SELECT run_at FROM jobs WHERE ready = 1 AND pool = 'delivery' ORDER BY rank, id LIMIT 1
) AS delivery;

-- name: running_jobs
SELECT CAST(count(*) AS BIGINT) AS number,
    CAST(COALESCE(sum(CASE WHEN lease_until < :expired THEN 1 ELSE 0 END), 0) AS BIGINT) AS expired
FROM jobs WHERE ready = 3;

-- name: crashing_jobs
-- Jobs during which the process died more than once. Such a job runs, or waits at most 30 seconds for its next attempt,
-- so it is among the first due jobs.
SELECT id FROM jobs WHERE ready = 3 AND crashes > 1
UNION ALL
SELECT id FROM (SELECT id, crashes FROM jobs WHERE ready = 2 ORDER BY run_at LIMIT :limit) AS due WHERE crashes > 1;

-- name: troubled_deliveries
SELECT state, CAST(count(*) AS BIGINT) AS number
FROM (SELECT state, created_at FROM deliveries ORDER BY id DESC LIMIT :limit) AS newest
WHERE state IN ('unknown', 'failed') AND created_at >= :since
GROUP BY state;

-- name: recent_calls
SELECT account, error, detail FROM usage WHERE id >= :first_id ORDER BY id DESC LIMIT :limit;
