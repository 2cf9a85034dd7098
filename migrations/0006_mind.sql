-- What agents keep in mind, what they changed at somebody's word, and what they are to do later.
-- A statement behind a line `-- only: sqlite` or `-- only: postgres` belongs to that database alone.

-- Labels of what an answer was written from; empty: nothing but the person's own words (docs/adr/0017).
ALTER TABLE messages ADD COLUMN taint TEXT NOT NULL DEFAULT '';
-- The summary that stands for this message; such a message is in no prompt any more.
ALTER TABLE messages ADD COLUMN compaction_id TEXT;
DROP INDEX messages_history;
CREATE INDEX messages_history ON messages (conversation_id, turn, position)
WHERE turn IS NOT NULL AND compaction_id IS NULL;
CREATE INDEX messages_compacted ON messages (compaction_id) WHERE compaction_id IS NOT NULL;

-- Whether only one person and the agent talk here.
ALTER TABLE conversations ADD COLUMN direct INTEGER NOT NULL DEFAULT 0;

-- How many turns must have ended before the conversation is compacted again, and before it is without need.
ALTER TABLE conversations ADD COLUMN compact_after INTEGER NOT NULL DEFAULT 0;
ALTER TABLE conversations ADD COLUMN plan_after INTEGER NOT NULL DEFAULT 0;

-- Numbers that follow the order of commits.
CREATE TABLE counters (
    name TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- `scope` says whom a fact is about: principal:ID, room:PLATFORM:CONNECTOR:CHANNEL:THREAD, or agent (everybody it talks
-- with). `number` names it for the search; confidence in thousandths.
CREATE TABLE facts (
    id TEXT PRIMARY KEY,
    number INTEGER NOT NULL UNIQUE,
    agent_id TEXT NOT NULL REFERENCES agents (id),
    scope TEXT NOT NULL,
    category TEXT NOT NULL,
    content TEXT NOT NULL,
    taint TEXT NOT NULL,
    author_id TEXT,
    message_id TEXT,
    execution_id TEXT,
    confidence INTEGER NOT NULL,
    status TEXT NOT NULL,
    superseded_by TEXT,
    accessed_at INTEGER NOT NULL,
    access_count INTEGER NOT NULL,
    expires_at INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX facts_scope ON facts (agent_id, scope, number) WHERE status = 'active';
CREATE INDEX facts_idle ON facts (category, accessed_at, id) WHERE status = 'active';
CREATE INDEX facts_expiry ON facts (expires_at) WHERE status = 'active' AND expires_at IS NOT NULL;
CREATE INDEX facts_deleted ON facts (updated_at, id) WHERE status = 'deleted';

-- What a fact went through, so that it can be told and undone: append-only. `taint` is what it was tainted with before.
CREATE TABLE fact_changes (
    id TEXT PRIMARY KEY,
    number INTEGER NOT NULL UNIQUE,
    fact_id TEXT NOT NULL REFERENCES facts (id),
    agent_id TEXT NOT NULL,
    scope TEXT NOT NULL,
    change TEXT NOT NULL,
    other_id TEXT,
    undoes TEXT,
    taint TEXT NOT NULL,
    by_id TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT;
CREATE INDEX fact_changes_scope ON fact_changes (agent_id, scope, number);
CREATE INDEX fact_changes_fact ON fact_changes (fact_id, number);
CREATE INDEX fact_changes_undone ON fact_changes (undoes) WHERE undoes IS NOT NULL;

-- The words of active facts, cut in Python so that both databases find the same (docs/adr/0018). `rowid` is
-- `facts.number`; `place` stands for agent and scope.
-- only: sqlite
CREATE VIRTUAL TABLE fact_words USING fts5(place, words, tokenize = "unicode61 remove_diacritics 0");
-- only: postgres
CREATE TABLE fact_words (rowid BIGINT PRIMARY KEY, place TEXT NOT NULL, words TEXT NOT NULL);
-- only: postgres
CREATE INDEX fact_words_place ON fact_words (place);
-- only: postgres
CREATE INDEX fact_words_search ON fact_words USING gin (to_tsvector('simple', words));

CREATE TABLE states (
    agent_id TEXT NOT NULL REFERENCES agents (id),
    scope TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    taint TEXT NOT NULL,
    author_id TEXT,
    message_id TEXT,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (agent_id, scope, key)
) STRICT, WITHOUT ROWID;

-- A summary that stands for the turns from `first_turn` to `last_turn` of a conversation.
CREATE TABLE compactions (
    id TEXT PRIMARY KEY,
    conversation_id TEXT NOT NULL REFERENCES conversations (id),
    execution_id TEXT NOT NULL,
    first_turn INTEGER NOT NULL,
    last_turn INTEGER NOT NULL,
    summary TEXT NOT NULL,
    tokens INTEGER NOT NULL,
    taint TEXT NOT NULL,
    messages_before INTEGER NOT NULL,
    messages_after INTEGER NOT NULL,
    tokens_saved INTEGER NOT NULL,
    status TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    ended_at INTEGER
) STRICT;
CREATE INDEX compactions_conversation ON compactions (conversation_id, last_turn);
CREATE INDEX compactions_age ON compactions (created_at) WHERE status = 'active';

-- How a model counts tokens, learnt from what its vendor reported; `most` is its window, where it told us.
CREATE TABLE calibrations (
    model TEXT PRIMARY KEY,
    weights TEXT NOT NULL,
    samples INTEGER NOT NULL,
    most INTEGER,
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Each state that an agent was in, with its bindings, as JSON; the newest is how it is now.
CREATE TABLE agent_versions (
    agent_id TEXT NOT NULL REFERENCES agents (id),
    version INTEGER NOT NULL,
    data TEXT NOT NULL,
    by_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (agent_id, version)
) STRICT;

-- What models wanted to change, and what became of it: append-only.
CREATE TABLE audit (
    id TEXT PRIMARY KEY,
    at INTEGER NOT NULL,
    execution_id TEXT NOT NULL,
    message_id TEXT,
    agent_id TEXT NOT NULL,
    principal_id TEXT,
    ordinal INTEGER NOT NULL,
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    proposal TEXT NOT NULL,
    taint TEXT NOT NULL,
    outcome TEXT NOT NULL,
    reason TEXT,
    report TEXT NOT NULL
) STRICT;
CREATE INDEX audit_execution ON audit (execution_id, ordinal);
CREATE INDEX audit_principal ON audit (principal_id, kind, at);

-- Crons and heartbeats. `connector` is empty until somebody knows which bot is meant; `script` is JSON (behaviour 1.12).
CREATE TABLE schedules (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    agent_id TEXT NOT NULL REFERENCES agents (id),
    name TEXT NOT NULL,
    schedule TEXT NOT NULL,
    timezone TEXT,
    prompt TEXT NOT NULL,
    platform TEXT NOT NULL,
    connector TEXT NOT NULL,
    channel TEXT NOT NULL,
    script TEXT,
    missed TEXT NOT NULL,
    enabled INTEGER NOT NULL,
    principal_id TEXT,
    last_run INTEGER,
    next_run INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX schedules_agent ON schedules (agent_id, kind, id);
CREATE INDEX schedules_due ON schedules (next_run) WHERE enabled = 1;

-- Each state that a schedule or a client was in, as JSON; `null`: it was not there. The newest is how it is now.
CREATE TABLE versions (
    kind TEXT NOT NULL,
    row_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    data TEXT NOT NULL,
    by_id TEXT,
    at INTEGER NOT NULL,
    PRIMARY KEY (kind, row_id, version)
) STRICT;

-- Turns that an agent gave to another one, by the turn at their root. `path` are the ids of the agents from there on.
CREATE TABLE delegations (
    execution_id TEXT PRIMARY KEY,
    root_id TEXT NOT NULL,
    parent_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    depth INTEGER NOT NULL,
    path TEXT NOT NULL,
    kind TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX delegations_root ON delegations (root_id);
CREATE INDEX delegations_parent ON delegations (parent_id);

-- Skills that were brought in from outside; those of the house are files.
CREATE TABLE skills (
    slug TEXT PRIMARY KEY,
    text TEXT NOT NULL,
    source TEXT NOT NULL,
    by_id TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
