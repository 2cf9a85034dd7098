-- The different words of the search index (docs/adr/0066), by keys with which a search finds words that are spelled
-- differently: the word itself, its stems, and `<` with the word backwards. The source of truth is `messages`: the role that
-- indexes messages adds new words, and removes those that are in no message any more. An index without it is made again.
-- only: sqlite
CREATE TABLE message_vocabulary (key TEXT NOT NULL, word TEXT NOT NULL, PRIMARY KEY (key, word)) STRICT, WITHOUT ROWID;
-- only: postgres
CREATE TABLE message_vocabulary (
    key TEXT COLLATE "C" NOT NULL,
    word TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (key, word)
);
