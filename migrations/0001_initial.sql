-- The first schema: one text for SQLite and PostgreSQL (the runner swaps a few words of DDL).
-- Ids are sortable text made in Python, times are integer milliseconds, JSON is text, flags are 0 or 1.
-- Tables of small rows that every message writes have no rowid: their primary key is the table, one page less a write.

CREATE TABLE settings (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;

-- People, by the immutable id of their platform. Dashboard users are principals of platform "web".
CREATE TABLE principals (
    id TEXT PRIMARY KEY,
    platform TEXT NOT NULL,
    user_id TEXT NOT NULL,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (platform, user_id)
) STRICT;

CREATE TABLE login_codes (
    code_hash TEXT PRIMARY KEY,
    expires_at INTEGER NOT NULL,
    used_at INTEGER
) STRICT;

CREATE TABLE sessions (
    token_hash TEXT PRIMARY KEY,
    principal_id TEXT NOT NULL REFERENCES principals (id),
    created_at INTEGER NOT NULL,
    seen_at INTEGER NOT NULL
) STRICT;

CREATE TABLE agents (
    id TEXT PRIMARY KEY,
    slug TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    description TEXT NOT NULL,
    prompt TEXT NOT NULL,
    model TEXT,
    fallbacks TEXT NOT NULL,
    tools TEXT NOT NULL,
    graph TEXT NOT NULL,
    completion TEXT NOT NULL,
    context_tokens INTEGER,
    timezone TEXT,
    allow_users TEXT NOT NULL,
    status TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;

CREATE TABLE bindings (
    platform TEXT NOT NULL,
    channel TEXT NOT NULL,
    agent_id TEXT NOT NULL REFERENCES agents (id),
    permission TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (platform, channel)
) STRICT;

-- `turns` is the counter that gives ended turns their order.
CREATE TABLE conversations (
    id TEXT PRIMARY KEY,
    agent_id TEXT NOT NULL REFERENCES agents (id),
    platform TEXT NOT NULL,
    connector TEXT NOT NULL,
    channel TEXT NOT NULL,
    thread TEXT NOT NULL,
    status TEXT NOT NULL,
    turns INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    last_message_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX conversations_place ON conversations (platform, connector, channel, thread, agent_id)
WHERE status = 'active';

-- What people, agents and the daemon said. `event_id` is the platform's own id: with the place it is the inbox
-- key. `turn` is NULL while the turn is open; `position` orders the messages of one turn. `answered_by` links a
-- person's message to its one reply or notice.
CREATE TABLE messages (
    id TEXT PRIMARY KEY,
    conversation_id TEXT REFERENCES conversations (id),
    role TEXT NOT NULL,
    content TEXT NOT NULL,
    tokens INTEGER NOT NULL,
    status TEXT NOT NULL,
    reason TEXT,
    route TEXT,
    platform TEXT NOT NULL,
    connector TEXT NOT NULL,
    channel TEXT NOT NULL,
    thread TEXT NOT NULL,
    event_id TEXT,
    principal_id TEXT,
    user_name TEXT NOT NULL,
    agent_id TEXT,
    execution_id TEXT,
    position INTEGER NOT NULL,
    turn INTEGER,
    reply_to TEXT,
    answered_by TEXT,
    superseded INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX messages_inbox ON messages (platform, connector, channel, event_id) WHERE event_id IS NOT NULL;
CREATE INDEX messages_history ON messages (conversation_id, turn, position) WHERE turn IS NOT NULL;
CREATE INDEX messages_conversation ON messages (conversation_id, id);
CREATE INDEX messages_execution ON messages (execution_id, position) WHERE role = 'user';
-- One reply or notice a turn, whatever the number of attempts (reliability.md §3).
CREATE UNIQUE INDEX messages_reply ON messages (execution_id) WHERE role <> 'user' AND superseded = 0;

-- Bytes lie in the blob folder under their SHA-256.
CREATE TABLE attachments (
    message_id TEXT NOT NULL REFERENCES messages (id),
    ordinal INTEGER NOT NULL,
    filename TEXT NOT NULL,
    content_type TEXT NOT NULL,
    size INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    PRIMARY KEY (message_id, ordinal)
) STRICT;

-- What the other tables do not tell about a message: retries, crashes, cuts.
CREATE TABLE timeline (
    id TEXT PRIMARY KEY,
    message_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    step TEXT NOT NULL,
    data TEXT NOT NULL
) STRICT;
CREATE INDEX timeline_message ON timeline (message_id, id);

-- The mutex and the counters of a lane: `tail` numbers its jobs, `live` counts those that wait or run.
CREATE TABLE lanes (
    lane TEXT PRIMARY KEY,
    tail INTEGER NOT NULL,
    live INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- `ready`: 0 stands behind another job (or has ended), 1 head and claimable, 2 head that waits for run_at,
-- 3 head that runs. Finished rows are in none of the partial indexes.
CREATE TABLE jobs (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    status TEXT NOT NULL,
    pool TEXT NOT NULL,
    priority INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    lane TEXT NOT NULL,
    position INTEGER NOT NULL,
    ready INTEGER NOT NULL,
    run_at INTEGER NOT NULL,
    key TEXT,
    key_live INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    crashes INTEGER NOT NULL,
    owner TEXT,
    node TEXT,
    claim INTEGER NOT NULL,
    lease_until INTEGER,
    agent_id TEXT,
    principal_id TEXT,
    message_id TEXT,
    execution_id TEXT,
    delivery_id TEXT,
    tokens INTEGER NOT NULL,
    payload TEXT NOT NULL,
    error TEXT,
    reason TEXT,
    merged_into TEXT,
    created_at INTEGER NOT NULL,
    started_at INTEGER,
    finished_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX jobs_claim ON jobs (pool, rank, id) WHERE ready = 1;
-- One head a lane: the alarm that two jobs of a lane can never run at once.
CREATE UNIQUE INDEX jobs_head ON jobs (lane) WHERE ready > 0;
CREATE INDEX jobs_followers ON jobs (lane, position) WHERE ready = 0 AND status = 'pending';
CREATE INDEX jobs_due ON jobs (run_at) WHERE ready = 2;
CREATE INDEX jobs_leases ON jobs (lease_until) WHERE ready = 3;
CREATE UNIQUE INDEX jobs_key ON jobs (key) WHERE key IS NOT NULL;
CREATE INDEX jobs_execution ON jobs (execution_id) WHERE execution_id IS NOT NULL;
CREATE INDEX jobs_failed ON jobs (id) WHERE status = 'failed';

CREATE TABLE executions (
    id TEXT PRIMARY KEY,
    graph TEXT NOT NULL,
    version TEXT NOT NULL,
    state TEXT NOT NULL,
    status TEXT NOT NULL,
    result TEXT NOT NULL,
    lane TEXT NOT NULL,
    priority INTEGER NOT NULL,
    principal_id TEXT,
    parent_wait TEXT,
    steps INTEGER NOT NULL,
    error TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX executions_parent ON executions (parent_wait) WHERE parent_wait IS NOT NULL;

CREATE TABLE cursors (
    id TEXT PRIMARY KEY,
    execution_id TEXT NOT NULL REFERENCES executions (id),
    node TEXT NOT NULL,
    value TEXT NOT NULL,
    repeats INTEGER NOT NULL,
    visits INTEGER NOT NULL,
    wait_id TEXT
) STRICT;
CREATE INDEX cursors_execution ON cursors (execution_id);

CREATE TABLE steps (
    execution_id TEXT NOT NULL REFERENCES executions (id),
    number INTEGER NOT NULL,
    node TEXT NOT NULL,
    decision TEXT NOT NULL,
    changes TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (execution_id, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE effects (
    execution_id TEXT NOT NULL REFERENCES executions (id),
    cursor_id TEXT NOT NULL,
    visit INTEGER NOT NULL,
    name TEXT NOT NULL,
    state TEXT NOT NULL,
    result TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (execution_id, cursor_id, visit, name)
) STRICT;

CREATE TABLE waits (
    id TEXT PRIMARY KEY,
    execution_id TEXT NOT NULL REFERENCES executions (id),
    cursor_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    prompt TEXT NOT NULL,
    choices TEXT NOT NULL,
    subject TEXT,
    resumes TEXT,
    lane TEXT NOT NULL,
    asked_at INTEGER NOT NULL,
    expires_at INTEGER,
    answer TEXT,
    answered_by TEXT,
    answered_at INTEGER
) STRICT;
CREATE INDEX waits_execution ON waits (execution_id);
CREATE INDEX waits_open_lane ON waits (lane, id) WHERE answered_at IS NULL;
CREATE INDEX waits_due ON waits (expires_at) WHERE answered_at IS NULL AND expires_at IS NOT NULL;
CREATE INDEX waits_open ON waits (id) WHERE answered_at IS NULL;

-- The sequence of a channel, as its clients count it.
CREATE TABLE channels (
    platform TEXT NOT NULL,
    connector TEXT NOT NULL,
    channel TEXT NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (platform, connector, channel)
) STRICT, WITHOUT ROWID;

CREATE TABLE deliveries (
    id TEXT PRIMARY KEY,
    message_id TEXT NOT NULL REFERENCES messages (id),
    part INTEGER NOT NULL,
    platform TEXT NOT NULL,
    connector TEXT NOT NULL,
    channel TEXT NOT NULL,
    thread TEXT NOT NULL,
    seq INTEGER NOT NULL,
    content TEXT NOT NULL,
    reply_to TEXT,
    answers TEXT NOT NULL,
    agent TEXT,
    state TEXT NOT NULL,
    platform_id TEXT,
    error TEXT,
    created_at INTEGER NOT NULL,
    settled_at INTEGER,
    UNIQUE (message_id, part),
    UNIQUE (platform, connector, channel, seq)
) STRICT;

-- One row a try of a model call.
CREATE TABLE usage (
    id TEXT PRIMARY KEY,
    execution_id TEXT NOT NULL,
    job_id TEXT NOT NULL,
    agent_id TEXT,
    account TEXT NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cost_micros INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    duration_ms INTEGER NOT NULL,
    error TEXT,
    detail TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX usage_execution ON usage (execution_id);
