-- What chat platforms bring along: events that are no messages, files still to be fetched, people to be paired, replies that
-- leave in parts, and the bots themselves.

-- The platform's own id of a message: what replies, edits and deletions name. An album is several events and one message.
ALTER TABLE messages ADD COLUMN platform_ref TEXT;
ALTER TABLE messages ADD COLUMN album TEXT;
CREATE INDEX messages_ref ON messages (platform, connector, channel, platform_ref) WHERE platform_ref IS NOT NULL;
CREATE INDEX messages_album ON messages (platform, connector, channel, album) WHERE album IS NOT NULL;

-- Events that made no row of `messages`: further parts of an album, edits, deletions, clicks. `outcome` is what was answered,
-- so that an event that comes again is answered the same.
CREATE TABLE inbox_events (
    platform TEXT NOT NULL,
    connector TEXT NOT NULL,
    event_id TEXT NOT NULL,
    message_id TEXT,
    outcome TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (platform, connector, event_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX inbox_events_age ON inbox_events (at);

-- How far a bot has read what its platform keeps for it: every event up to here is committed. Only ever grows.
CREATE TABLE feed_positions (
    platform TEXT NOT NULL,
    connector TEXT NOT NULL,
    feed TEXT NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (platform, connector, feed)
) STRICT, WITHOUT ROWID;

-- What people said to one another where a bot reads along: never answered, read by the model as data.
CREATE TABLE observed (
    id TEXT PRIMARY KEY,
    platform TEXT NOT NULL,
    connector TEXT NOT NULL,
    channel TEXT NOT NULL,
    thread TEXT NOT NULL,
    event_id TEXT NOT NULL,
    platform_ref TEXT,
    user_id TEXT NOT NULL,
    user_name TEXT NOT NULL,
    content TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (platform, connector, channel, event_id)
) STRICT;
CREATE INDEX observed_place ON observed (platform, connector, channel, thread, id);
CREATE INDEX observed_age ON observed (created_at);

-- Which messages of a channel are for its agent (NULL: as its bot is set), and how many others it may read along.
ALTER TABLE bindings ADD COLUMN respond TEXT;
ALTER TABLE bindings ADD COLUMN observe INTEGER;

-- A file is `waiting` until its bytes are fetched by what `source` says; `content` is the text that was read or heard in
-- it, `problem` why there is none. Until then `sha256` is empty.
ALTER TABLE attachments ADD COLUMN state TEXT NOT NULL DEFAULT 'stored';
ALTER TABLE attachments ADD COLUMN source TEXT NOT NULL DEFAULT '';
ALTER TABLE attachments ADD COLUMN kind TEXT NOT NULL DEFAULT '';
ALTER TABLE attachments ADD COLUMN content TEXT NOT NULL DEFAULT '';
ALTER TABLE attachments ADD COLUMN problem TEXT NOT NULL DEFAULT '';

-- The names of a message's files on one line, for whoever reads it later as part of a conversation.
ALTER TABLE messages ADD COLUMN files TEXT NOT NULL DEFAULT '';

-- Since when an owner vouches for this person (NULL: nobody does).
ALTER TABLE principals ADD COLUMN paired_at INTEGER;

-- What one person asked for (`/usage`), and what nobody was asked with in a place (`/why`).
CREATE INDEX usage_principal ON usage (principal_id, id);
CREATE INDEX messages_unasked ON messages (platform, connector, channel, thread, id) WHERE status IN ('dropped', 'expired');

-- Strangers who asked in a direct message; the code is kept as a hash. Status: pending, approved, rejected.
CREATE TABLE pairings (
    id TEXT PRIMARY KEY,
    code_hash TEXT NOT NULL UNIQUE,
    platform TEXT NOT NULL,
    connector TEXT NOT NULL,
    channel TEXT NOT NULL,
    user_id TEXT NOT NULL,
    user_name TEXT NOT NULL,
    status TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    settled_at INTEGER,
    by_id TEXT
) STRICT;
CREATE INDEX pairings_person ON pairings (platform, user_id, id);
CREATE INDEX pairings_pending ON pairings (platform, connector, expires_at) WHERE status = 'pending';

-- `buttons` and `files` are JSON lists. `reply_ref` is the platform's id of the message that is answered; the draft of
-- `execution_id` gives way to the answer.
ALTER TABLE deliveries ADD COLUMN reply_ref TEXT;
ALTER TABLE deliveries ADD COLUMN execution_id TEXT;
ALTER TABLE deliveries ADD COLUMN buttons TEXT NOT NULL DEFAULT '[]';
ALTER TABLE deliveries ADD COLUMN files TEXT NOT NULL DEFAULT '[]';

-- A delivery as it leaves, in as many pieces as its platform needs; planned once, when it is first sent.
CREATE TABLE delivery_parts (
    delivery_id TEXT NOT NULL REFERENCES deliveries (id),
    part INTEGER NOT NULL,
    content TEXT NOT NULL,
    buttons TEXT NOT NULL,
    files TEXT NOT NULL,
    state TEXT NOT NULL,
    platform_id TEXT,
    tried_at INTEGER,
    error TEXT,
    PRIMARY KEY (delivery_id, part)
) STRICT;

-- What is shown in a chat while a turn runs: text as it is written, or what the agent is doing. One a turn.
CREATE TABLE drafts (
    execution_id TEXT PRIMARY KEY,
    id TEXT NOT NULL,
    platform TEXT NOT NULL,
    connector TEXT NOT NULL,
    channel TEXT NOT NULL,
    thread TEXT NOT NULL,
    state TEXT NOT NULL,
    platform_id TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX drafts_open ON drafts (created_at) WHERE state <> 'gone';

-- Channels that a platform no longer lets a bot write to, until they are back.
CREATE TABLE places (
    platform TEXT NOT NULL,
    connector TEXT NOT NULL,
    channel TEXT NOT NULL,
    state TEXT NOT NULL,
    reason TEXT NOT NULL,
    moved_to TEXT,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (platform, connector, channel)
) STRICT, WITHOUT ROWID;

-- What went wrong in a conversation and its agent is to hear of in its next turn; `told_in` is that turn.
CREATE TABLE incidents (
    id TEXT PRIMARY KEY,
    conversation_id TEXT NOT NULL REFERENCES conversations (id),
    text TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    told_in TEXT
) STRICT;
CREATE INDEX incidents_untold ON incidents (conversation_id, id) WHERE told_in IS NULL;

-- Bots that were entered in the product (those of the configuration have no row); `secrets` is JSON of sealed tokens.
CREATE TABLE bots (
    id TEXT PRIMARY KEY,
    platform TEXT NOT NULL,
    name TEXT NOT NULL,
    settings TEXT NOT NULL,
    secrets TEXT NOT NULL,
    enabled INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (platform, name)
) STRICT;

-- How each bot is, whoever entered it.
CREATE TABLE bot_states (
    platform TEXT NOT NULL,
    name TEXT NOT NULL,
    state TEXT NOT NULL,
    error TEXT NOT NULL,
    user_id TEXT NOT NULL,
    user_name TEXT NOT NULL,
    since INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (platform, name)
) STRICT, WITHOUT ROWID;
