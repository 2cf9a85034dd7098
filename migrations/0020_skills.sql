-- The names of the skills that an agent's prompt lists, as JSON; `*` means all. Empty: the triggers of skills decide alone.
ALTER TABLE agents ADD COLUMN skills TEXT NOT NULL DEFAULT '[]';

-- The files of an imported skill. `files`: the size and SHA-256 of each file by its path, as JSON; `{}` for a skill that is only a text.
-- `bundle`: the files as a zip archive; the source of truth for their contents, which are checked against `files` at each use.
-- `trusted`: the hash of text and files that an owner has trusted; NULL: no owner has, so the skill is not used. `imported` marks skills that were
-- imported before contents had hashes.
ALTER TABLE skills ADD COLUMN files TEXT NOT NULL DEFAULT '{}';
ALTER TABLE skills ADD COLUMN bundle BLOB;
ALTER TABLE skills ADD COLUMN trusted TEXT;
UPDATE skills SET trusted = 'imported';

-- The credentials that the daemon inserts into requests of agents. `variable`: the key of the secret variable with the value. `hosts`: JSON list of
-- hosts, `host:port` or `*.host`. `template`: the value of the header, in which `{value}` or `{base64}` is the place of the secret.
CREATE TABLE credentials (
    name TEXT PRIMARY KEY,
    variable TEXT NOT NULL,
    hosts TEXT NOT NULL,
    header TEXT NOT NULL,
    template TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;

-- The names of the credentials that an agent may use, as JSON.
ALTER TABLE agents ADD COLUMN credentials TEXT NOT NULL DEFAULT '[]';
