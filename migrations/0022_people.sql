-- The time zone and the language that a person has chosen; NULL: the default. The person is the source of truth.
ALTER TABLE principals ADD COLUMN timezone TEXT;
ALTER TABLE principals ADD COLUMN language TEXT;

-- The name of the channel of a conversation, as the platform last reported it with a message; empty if it reports none.
ALTER TABLE conversations ADD COLUMN room TEXT NOT NULL DEFAULT '';

-- Identities of one person (docs/adr/0080): the row of another identity, to which this one is linked; NULL: it is a person of its own.
-- The rights of a linked row follow those of its person; it has no preferences, memory and budget of its own.
ALTER TABLE principals ADD COLUMN person_id TEXT;
CREATE INDEX principals_person ON principals (person_id) WHERE person_id IS NOT NULL;

-- Requests of people to link another identity: the code is kept as a hash. Status: open, claimed, done, refused. `identity_id` is the
-- identity that asked, at this address; `claimed_by` the identity that sent the code.
CREATE TABLE link_requests (
    id TEXT PRIMARY KEY,
    code_hash TEXT NOT NULL UNIQUE,
    identity_id TEXT NOT NULL,
    address TEXT NOT NULL,
    status TEXT NOT NULL,
    claimed_by TEXT,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX link_requests_identity ON link_requests (identity_id, id);
