-- name: all_calibrations
-- One row for each model that ever answered: few rows in most installations.
SELECT model, weights, samples, context_window FROM token_calibrations ORDER BY updated_at DESC, model LIMIT 500;

-- name: get_calibration
SELECT model, weights, samples, context_window FROM token_calibrations WHERE model = :model;

-- name: put_calibration
INSERT INTO token_calibrations (model, weights, samples, context_window, updated_at)
VALUES (:model, :weights, :samples, :context_window, :now)
ON CONFLICT (model) DO UPDATE
SET weights = excluded.weights, samples = excluded.samples, context_window = excluded.context_window, updated_at = excluded.updated_at;
