-- name: all_cooldowns
-- One row for each account and model that ever refused a call: few rows.
SELECT * FROM account_cooldowns ORDER BY account, model;

-- name: put_cooldown
-- The latest observation wins, whichever process commits last.
INSERT INTO account_cooldowns (account, model, until, refusals, kind, at)
VALUES (:account, :model, :until, :refusals, :kind, :at)
ON CONFLICT (account, model) DO UPDATE
SET until = excluded.until, refusals = excluded.refusals, kind = excluded.kind, at = excluded.at
WHERE excluded.at >= account_cooldowns.at;

-- name: all_accounts
-- Accounts that people added while the daemon ran: few rows. Python sorts them, because the databases sort letters
-- differently.
SELECT * FROM accounts;

-- name: account_by_name
SELECT * FROM accounts WHERE name = :name;

-- name: add_account
-- If two transactions add the same name at the same time, the key lets only one succeed.
INSERT INTO accounts (
    id, name, provider, model, models, sealed_key, base_url, priority, status, api, created_at, updated_at
) VALUES (
    :id, :name, :provider, :model, :models, :sealed_key, :base_url, :priority, :status, :api, :now, :now
)
ON CONFLICT (name) DO NOTHING;

-- name: update_account
UPDATE accounts
SET provider = :provider, model = :model, models = :models, sealed_key = :sealed_key, base_url = :base_url,
    priority = :priority, status = :status, api = :api, updated_at = :now
WHERE id = :id;

-- name: remove_account
DELETE FROM accounts WHERE name = :name;
