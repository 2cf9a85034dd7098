-- Knowledge bases (docs/adr/0084). The source of truth of a collection and of its list of documents is what people and the configuration
-- have set; that of a chunk is the file, page or folder of its document. `removed`: 1 while the documents of a deleted collection are being
-- deleted; its slug is then its id.
CREATE TABLE knowledge_collections (
    id TEXT PRIMARY KEY,
    slug TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    trusted INTEGER NOT NULL,
    removed INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;

-- `kind`: file, page or folder. `sha256`: the hash of the bytes that are or will be indexed. `blob`: the hash of the stored file, which is
-- compressed; '' for pages and folders. `stamp`: the size and time of a file in a folder when it was last read. `version`: the version whose chunks are found. `revision`: the number of the last change by a
-- person. `named`: 1 if a person has given the title. `due_at`: the next work on the document, in ms; a fetch may take long, so pages come
-- after other documents.
CREATE TABLE knowledge_documents (
    id TEXT PRIMARY KEY,
    collection_id TEXT NOT NULL REFERENCES knowledge_collections (id),
    kind TEXT NOT NULL,
    location TEXT NOT NULL,
    title TEXT NOT NULL,
    named INTEGER NOT NULL,
    content_type TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    blob TEXT NOT NULL,
    stamp TEXT NOT NULL,
    size INTEGER NOT NULL,
    status TEXT NOT NULL,
    problem TEXT NOT NULL,
    version INTEGER NOT NULL,
    chunks INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    refresh INTEGER,
    due_at INTEGER,
    failures INTEGER NOT NULL,
    checked_at INTEGER,
    indexed_at INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX knowledge_documents_location ON knowledge_documents (collection_id, location) WHERE status <> 'removed';
CREATE INDEX knowledge_documents_listed ON knowledge_documents (collection_id, id);
CREATE INDEX knowledge_documents_due ON knowledge_documents (due_at, id) WHERE due_at IS NOT NULL AND kind <> 'page';
CREATE INDEX knowledge_documents_due_pages ON knowledge_documents (due_at, id) WHERE due_at IS NOT NULL AND kind = 'page';
CREATE INDEX knowledge_documents_blob ON knowledge_documents (blob) WHERE blob <> '';

-- The parts of documents. A chunk is never changed. Its `number` is the one that replies cite. Chunks of another version than that of their
-- document are being written or deleted.
CREATE TABLE knowledge_chunks (
    id TEXT PRIMARY KEY,
    number INTEGER NOT NULL UNIQUE,
    collection_id TEXT NOT NULL,
    document_id TEXT NOT NULL REFERENCES knowledge_documents (id),
    version INTEGER NOT NULL,
    position INTEGER NOT NULL,
    page INTEGER,
    heading TEXT NOT NULL,
    content TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX knowledge_chunks_document ON knowledge_chunks (document_id, version, position);

-- The search index of chunks and its vocabulary, as those of messages (docs/adr/0061, docs/adr/0066). All chunks up to `position` are in
-- it. `erasures` counts the removals of words, and `purged` is its value before the last complete merge.
-- only: sqlite
CREATE VIRTUAL TABLE knowledge_index USING fts5(words, content = '', tokenize = "unicode61 remove_diacritics 0");
-- only: sqlite
INSERT INTO knowledge_index (knowledge_index, rank) VALUES ('automerge', 0);
-- only: sqlite
INSERT INTO knowledge_index (knowledge_index, rank) VALUES ('crisismerge', 1000);
-- only: postgres
CREATE TABLE knowledge_index (number BIGINT PRIMARY KEY, words TSVECTOR NOT NULL);
-- only: postgres
CREATE INDEX knowledge_index_words ON knowledge_index USING gin (words) WITH (fastupdate = off);

-- only: sqlite
CREATE TABLE knowledge_vocabulary (key TEXT NOT NULL, word TEXT NOT NULL, PRIMARY KEY (key, word)) STRICT, WITHOUT ROWID;
-- only: postgres
CREATE TABLE knowledge_vocabulary (
    key TEXT COLLATE "C" NOT NULL,
    word TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (key, word)
);

CREATE TABLE knowledge_index_state (
    id INTEGER PRIMARY KEY,
    rules INTEGER NOT NULL,
    position INTEGER NOT NULL,
    erasures INTEGER NOT NULL,
    purged INTEGER NOT NULL
) STRICT;
INSERT INTO knowledge_index_state (id, rules, position, erasures, purged) VALUES (1, 0, 0, 0, 0);

-- The slugs of the knowledge bases that an agent may search, as JSON. The source of truth, like the other columns of agents.
ALTER TABLE agents ADD COLUMN knowledge TEXT NOT NULL DEFAULT '[]';
