-- name: all_rests
-- A row for each account and model that ever refused: a handful.
SELECT * FROM rests ORDER BY account, model;

-- name: put_rest
-- The later word counts, whichever process commits it last.
INSERT INTO rests (account, model, until, refusals, kind, at)
VALUES (:account, :model, :until, :refusals, :kind, :at)
ON CONFLICT (account, model) DO UPDATE
SET until = excluded.until, refusals = excluded.refusals, kind = excluded.kind, at = excluded.at
WHERE excluded.at >= rests.at;
