-- name: all_calibrations
-- A row for each model that ever answered: a handful, but for whoever tries every model there is.
SELECT model, weights, samples, most FROM calibrations ORDER BY updated_at DESC, model LIMIT 500;

-- name: get_calibration
SELECT model, weights, samples, most FROM calibrations WHERE model = :model;

-- name: put_calibration
INSERT INTO calibrations (model, weights, samples, most, updated_at)
VALUES (:model, :weights, :samples, :most, :now)
ON CONFLICT (model) DO UPDATE
SET weights = excluded.weights, samples = excluded.samples, most = excluded.most, updated_at = excluded.updated_at;
