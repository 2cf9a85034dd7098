-- The vectors of messages and facts (docs/adr/0081), each in the form of `domain.embeddings.Vector`. The source of truth is the
-- text: the role `scheduler` embeds texts that have no vector of the present model, so an empty table is filled again.
-- `area` is the id of the person who may read a message (the one who wrote it, or to whom it replies), or the key of the agent and
-- the scope of a fact. Without an embedding model the table is empty.
-- only: sqlite
CREATE TABLE embeddings (
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    model TEXT NOT NULL,
    area TEXT NOT NULL,
    signs BLOB NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (kind, subject)
) STRICT;
-- Both indexes contain the signs, so that a search reads no vector except those of its candidates.
-- only: sqlite
CREATE INDEX embeddings_newest ON embeddings (model, kind, subject, signs);
-- only: sqlite
CREATE INDEX embeddings_area ON embeddings (model, kind, area, subject, signs);

-- PostgreSQL compares signs as bits. The vectors are stored apart from the rows that a search reads.
-- only: postgres
CREATE TABLE embeddings (
    kind TEXT COLLATE "C" NOT NULL,
    subject TEXT COLLATE "C" NOT NULL,
    model TEXT COLLATE "C" NOT NULL,
    area TEXT COLLATE "C" NOT NULL,
    signs BIT VARYING NOT NULL,
    vector BYTEA NOT NULL,
    PRIMARY KEY (kind, subject)
) WITH (toast_tuple_target = 128);
-- only: postgres
ALTER TABLE embeddings ALTER COLUMN signs SET STORAGE PLAIN, ALTER COLUMN vector SET STORAGE EXTERNAL;
-- only: postgres
CREATE INDEX embeddings_newest ON embeddings (model, kind, subject);
-- only: postgres
CREATE INDEX embeddings_area ON embeddings (model, kind, area, subject);

-- 0 if the agent neither stores facts from this conversation nor uses facts in it (`/memory off`). It is the same for all
-- conversations of an agent in a channel, and a new conversation takes it over from the newest one.
ALTER TABLE conversations ADD COLUMN remembers INTEGER NOT NULL DEFAULT 1;
CREATE INDEX conversations_channel ON conversations (channel, agent_id, platform, connector, id);
