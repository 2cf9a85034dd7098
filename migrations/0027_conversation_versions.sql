-- The versions of a conversation (docs/adr/0086). `version_id` is the inactive version that contains a message; null for the messages of the
-- active versions. The message then has the number of its turn in `version_turn`, no `turn`, and `superseded` is 2. These columns are the source
-- of truth.
ALTER TABLE messages ADD COLUMN version_id TEXT;
ALTER TABLE messages ADD COLUMN version_turn INTEGER;
CREATE INDEX messages_version ON messages (version_id) WHERE version_id IS NOT NULL;

-- Each row is one continuation of a conversation from a point on. `point_id` is the id of the first version of the point, `first_turn` the first turn
-- of that version, and `message_id` the first message of this version. One version of each point is active. Rows are kept as long as their
-- conversation, and contain no text. The source of truth.
CREATE TABLE conversation_versions (
    id TEXT PRIMARY KEY,
    conversation_id TEXT NOT NULL,
    point_id TEXT NOT NULL,
    first_turn INTEGER NOT NULL,
    message_id TEXT NOT NULL,
    active INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX conversation_versions_place ON conversation_versions (conversation_id, id);
CREATE UNIQUE INDEX conversation_versions_message ON conversation_versions (message_id);
CREATE UNIQUE INDEX conversation_versions_active ON conversation_versions (point_id) WHERE active = 1;
