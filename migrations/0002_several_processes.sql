-- Roles that only one process may hold at a time: a bot account, the scheduler. `claim` counts take-overs and fences the
-- holder before; `beat` counts its signs of life, which others watch on their own clocks, so that none must agree.
CREATE TABLE role_leases (
    name TEXT PRIMARY KEY,
    owner TEXT,
    node TEXT NOT NULL,
    claim INTEGER NOT NULL,
    beat INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- On PostgreSQL, whose processes share no folder, the bytes of attachments lie here. Empty on SQLite.
CREATE TABLE blobs (
    sha256 TEXT PRIMARY KEY,
    data BLOB NOT NULL
) STRICT;
