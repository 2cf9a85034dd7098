-- The messages that a message answers, quotes or forwards (docs/adr/0078), as JSON; empty for most messages. The platform is the source of
-- truth, and reports them only once.
ALTER TABLE messages ADD COLUMN quotations TEXT NOT NULL DEFAULT '';

-- Finds the message to which a reply or a reaction refers.
CREATE INDEX delivery_parts_ref ON delivery_parts (platform_id) WHERE platform_id IS NOT NULL;

-- Reactions to messages of bots, which the next prompt of the conversation reports. The platform is the source of truth; a removed
-- reaction has no row. `text` is the line for the prompt, `reported_in` the execution whose prompt contained it.
CREATE TABLE reactions (
    id TEXT PRIMARY KEY,
    conversation_id TEXT NOT NULL,
    message_id TEXT NOT NULL REFERENCES messages (id),
    principal_id TEXT NOT NULL,
    emoji TEXT NOT NULL,
    text TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    reported_in TEXT
) STRICT;
CREATE UNIQUE INDEX reactions_person ON reactions (message_id, principal_id, emoji);
CREATE INDEX reactions_open ON reactions (conversation_id, id) WHERE reported_in IS NULL;

-- The ratings of answers by people: the newest of each person. `rating` is up or down. They are kept as long as the answer.
CREATE TABLE feedback (
    message_id TEXT NOT NULL REFERENCES messages (id),
    principal_id TEXT NOT NULL,
    rating TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (message_id, principal_id)
) STRICT, WITHOUT ROWID;
