-- Erasures of the content of a person or a channel. The source of truth for what is left to do: an erasure continues at its `phase`
-- and `position` after a crash. `counts` are numbers by name, as JSON. No column contains erased content.
CREATE TABLE erasures (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    phase TEXT NOT NULL,
    position TEXT NOT NULL,
    counts TEXT NOT NULL,
    mentions TEXT NOT NULL,
    by_id TEXT,
    created_at INTEGER NOT NULL,
    ended_at INTEGER
) STRICT;
CREATE INDEX erasures_open ON erasures (id) WHERE ended_at IS NULL;

-- The rows that an erasure will delete, by kind. Its last step deletes these rows.
CREATE TABLE erasure_items (
    erasure_id TEXT NOT NULL REFERENCES erasures (id),
    kind TEXT NOT NULL,
    item TEXT NOT NULL,
    PRIMARY KEY (erasure_id, kind, item)
) STRICT, WITHOUT ROWID;
