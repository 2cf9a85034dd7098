-- The search index of messages (docs/adr/0061). The source of truth is `messages`: a role of the daemon indexes new
-- messages in the background, so an existing database is indexed after the start.

-- On SQLite the index holds no texts. `rowid` is that of the message, and the words are computed again to delete a row. Small
-- merges are made after each batch instead of large ones at a time that SQLite chooses.
-- only: sqlite
CREATE VIRTUAL TABLE message_index USING fts5(words, content = '', tokenize = "unicode61 remove_diacritics 0");
-- only: sqlite
INSERT INTO message_index (message_index, rank) VALUES ('automerge', 0);
-- only: sqlite
INSERT INTO message_index (message_index, rank) VALUES ('crisismerge', 1000);
-- only: postgres
CREATE TABLE message_index (message_id TEXT PRIMARY KEY, words TSVECTOR NOT NULL);
-- only: postgres
CREATE INDEX message_index_words ON message_index USING gin (words) WITH (fastupdate = off);

-- All messages up to this one are in the index: `position` is its rowid on SQLite. `rules` is the version of the rules by
-- which texts are split. `erasures` counts the removals of words, and `purged` is its value before the last complete merge,
-- which removed these words from the file.
CREATE TABLE message_index_state (
    id INTEGER PRIMARY KEY,
    rules INTEGER NOT NULL,
    position INTEGER NOT NULL,
    message_id TEXT NOT NULL,
    erasures INTEGER NOT NULL,
    purged INTEGER NOT NULL
) STRICT;
INSERT INTO message_index_state (id, rules, position, message_id, erasures, purged) VALUES (1, 0, 0, '', 0, 0);
