-- Bots that were entered in the product, and how each bot is.

-- name: all_bots
-- A handful. Python sorts them, for databases disagree about letters.
SELECT * FROM bots;

-- name: bot_by_name
SELECT * FROM bots WHERE platform = :platform AND name = :name;

-- name: add_bot
-- One of two that give the same name at the same moment is refused by the key.
INSERT INTO bots (id, platform, name, settings, secrets, enabled, created_at, updated_at)
VALUES (:id, :platform, :name, :settings, :secrets, :enabled, :created_at, :updated_at)
ON CONFLICT (platform, name) DO NOTHING;

-- name: update_bot
UPDATE bots SET settings = :settings, secrets = :secrets, enabled = :enabled, updated_at = :updated_at WHERE id = :id;

-- name: remove_bot
DELETE FROM bots WHERE platform = :platform AND name = :name;

-- name: bot_statuses
-- One for each bot that there ever was: a handful. Python sorts them.
SELECT * FROM bot_states;

-- name: put_bot_status
-- `since` is when the bot came into this state; what is told again of the same state keeps it.
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
