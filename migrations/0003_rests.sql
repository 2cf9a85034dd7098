-- Accounts that rest from a model because the vendor refused (behaviour.md 1.11): known to every process, over restarts.
CREATE TABLE rests (
    account TEXT NOT NULL,
    model TEXT NOT NULL,
    until INTEGER NOT NULL,
    refusals INTEGER NOT NULL,
    kind TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (account, model)
) STRICT, WITHOUT ROWID;

-- Of the input, what the vendor read from its cache, at a lower price.
ALTER TABLE usage ADD COLUMN cached_tokens INTEGER NOT NULL DEFAULT 0;
