-- Bots that people added while the daemon ran, and the status of each bot.

-- name: all_bots
-- Few rows. Python sorts them, because the databases sort letters differently.
SELECT * FROM bots;

-- name: bot_by_name
SELECT * FROM bots WHERE platform = :platform AND name = :name;

-- name: add_bot
-- If two transactions add the same name at the same time, the key lets only one succeed.
INSERT INTO bots (id, platform, name, settings, secrets, enabled, created_at, updated_at)
VALUES (:id, :platform, :name, :settings, :secrets, :enabled, :created_at, :updated_at)
ON CONFLICT (platform, name) DO NOTHING;

-- name: update_bot
UPDATE bots SET settings = :settings, secrets = :secrets, enabled = :enabled, updated_at = :updated_at WHERE id = :id;

-- name: remove_bot
DELETE FROM bots WHERE platform = :platform AND name = :name;

-- name: bot_statuses
-- One row for each bot that ever existed: few rows. Python sorts them.
SELECT * FROM bot_states;

-- name: put_bot_status
-- `since` is the time at which the bot entered this state; a repeated report of the same state does not change it.
INSERT INTO bot_states (platform, name, state, error, user_id, user_name, since, updated_at)
VALUES (:platform, :name, :state, :error, '', '', :now, :now)
ON CONFLICT (platform, name) DO UPDATE
SET state = excluded.state, error = excluded.error, updated_at = excluded.updated_at,
    since = CASE WHEN bot_states.state = excluded.state THEN bot_states.since ELSE excluded.since END;

-- name: put_bot_identity
INSERT INTO bot_states (platform, name, state, error, user_id, user_name, since, updated_at)
VALUES (:platform, :name, :state, '', :user_id, :user_name, :now, :now)
ON CONFLICT (platform, name) DO UPDATE
SET user_id = excluded.user_id, user_name = excluded.user_name, updated_at = excluded.updated_at;
