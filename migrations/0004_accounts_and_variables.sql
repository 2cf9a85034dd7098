-- Accounts of models that were entered in the product; those of the configuration have no row. `models` is a JSON list,
-- `sealed_key` opens only with the key of docs/adr/0015. `status` is active or disabled.
CREATE TABLE accounts (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    models TEXT NOT NULL,
    sealed_key TEXT,
    base_url TEXT,
    priority INTEGER NOT NULL,
    status TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;

-- What tools may ask for by name. The value of a secret one is sealed.
CREATE TABLE variables (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL,
    secret INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
