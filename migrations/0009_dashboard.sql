-- The dashboard: people with logins of their own, keys that are made in the product, writes that may be sent twice.

-- `id` is the user id of platform "web" and the name at the login; the first one is "owner". A user without a password logs in
-- by a link.
CREATE TABLE users (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    password_hash TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;

-- Whom a link lets in.
ALTER TABLE login_codes ADD COLUMN user_id TEXT NOT NULL DEFAULT 'owner';

-- What the browser said of itself, for the list of logins.
ALTER TABLE sessions ADD COLUMN device TEXT NOT NULL DEFAULT '';

-- Only the hash of a key is kept; it is shown once. `agents` is a JSON list of slugs, which limits a key of role chat.
CREATE TABLE api_keys (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    agents TEXT NOT NULL,
    key_hash TEXT NOT NULL UNIQUE,
    created_by TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    used_at INTEGER
) STRICT;

-- The answer to a write that named an `Idempotency-Key`; without a status it is still being done, or was cut short.
CREATE TABLE idempotency_keys (
    asker TEXT NOT NULL,
    key TEXT NOT NULL,
    request_hash TEXT NOT NULL,
    status INTEGER,
    content TEXT,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (asker, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at);

-- The list of conversations, the last used first.
CREATE INDEX conversations_used ON conversations (last_message_at, id);
