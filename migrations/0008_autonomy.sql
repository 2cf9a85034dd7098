-- Agents that work on their own: what schedules did, projects, web hooks, and what stands between the turns of a talk.

-- How an agent takes a message that comes while it works for the same person (NULL: by how it completes), what extends its
-- prompts, and to whom it may hand a talk over.
ALTER TABLE agents ADD COLUMN on_new_message TEXT;
ALTER TABLE agents ADD COLUMN plugins TEXT NOT NULL DEFAULT '[]';
ALTER TABLE agents ADD COLUMN helpers TEXT NOT NULL DEFAULT '[]';

-- What an agent says on the way to its answer has the role `progress`: of answers and notices there is one a turn.
DROP INDEX messages_reply;
CREATE UNIQUE INDEX messages_reply ON messages (execution_id)
WHERE role <> 'user' AND role <> 'progress' AND superseded = 0;
CREATE INDEX messages_progress ON messages (execution_id, position) WHERE role = 'progress';
-- What had an agent say this without being asked: schedule:ID or webhook:ID.
ALTER TABLE messages ADD COLUMN source TEXT NOT NULL DEFAULT '';

-- Where the answers of a schedule go within its channel; who made it (api, tag, tool), which decides whose quota it counts
-- in; which graph runs it (NULL: by its kind and agent) and how many cycles a heartbeat has; for how long (ms) a missed time may be
-- made up for; how often it failed in a row, and until when it is left alone therefore; what its script last found.
ALTER TABLE schedules ADD COLUMN thread TEXT NOT NULL DEFAULT '';
ALTER TABLE schedules ADD COLUMN made_by TEXT NOT NULL DEFAULT 'api';
ALTER TABLE schedules ADD COLUMN graph TEXT;
ALTER TABLE schedules ADD COLUMN max_cycles INTEGER NOT NULL DEFAULT 1;
ALTER TABLE schedules ADD COLUMN grace INTEGER;
ALTER TABLE schedules ADD COLUMN failures INTEGER NOT NULL DEFAULT 0;
ALTER TABLE schedules ADD COLUMN rests_until INTEGER;
ALTER TABLE schedules ADD COLUMN memo TEXT NOT NULL DEFAULT '{}';
CREATE INDEX schedules_person ON schedules (principal_id, id) WHERE made_by = 'tool';

-- Each time of a schedule that was dealt with, named by its instant, so that none comes twice. No reference: the history
-- outlives its schedule.
CREATE TABLE occurrences (
    schedule_id TEXT NOT NULL,
    due INTEGER NOT NULL,
    id TEXT NOT NULL UNIQUE,
    cause TEXT NOT NULL,
    status TEXT NOT NULL,
    execution_id TEXT,
    report TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    ended_at INTEGER,
    PRIMARY KEY (schedule_id, due)
) STRICT;
CREATE INDEX occurrences_schedule ON occurrences (schedule_id, id);
CREATE INDEX occurrences_execution ON occurrences (execution_id) WHERE execution_id IS NOT NULL;
CREATE INDEX occurrences_age ON occurrences (created_at);
-- A schedule with one of these is left alone.
CREATE INDEX occurrences_running ON occurrences (schedule_id, id) WHERE ended_at IS NULL;

-- What is being worked on. `agent_id` NULL: whoever works on their own.
CREATE TABLE projects (
    id TEXT PRIMARY KEY,
    slug TEXT NOT NULL UNIQUE,
    agent_id TEXT REFERENCES agents (id),
    title TEXT NOT NULL,
    goal TEXT NOT NULL,
    status TEXT NOT NULL,
    notes TEXT NOT NULL,
    principal_id TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX projects_active ON projects (updated_at, id) WHERE status = 'active';

-- Addresses that other programs call. `secret` is sealed.
CREATE TABLE webhooks (
    id TEXT PRIMARY KEY,
    path TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    agent_id TEXT NOT NULL REFERENCES agents (id),
    preset TEXT NOT NULL,
    template TEXT NOT NULL,
    platform TEXT NOT NULL,
    connector TEXT NOT NULL,
    channel TEXT NOT NULL,
    thread TEXT NOT NULL,
    secret TEXT NOT NULL,
    secret_end TEXT NOT NULL,
    enabled INTEGER NOT NULL,
    principal_id TEXT,
    last_triggered INTEGER,
    trigger_count INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;

-- Calls that were taken, by the caller's own id of them, so that none is taken twice.
CREATE TABLE webhook_calls (
    webhook_id TEXT NOT NULL,
    call_id TEXT NOT NULL,
    execution_id TEXT,
    at INTEGER NOT NULL,
    PRIMARY KEY (webhook_id, call_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX webhook_calls_age ON webhook_calls (at);

-- What stands between two turns of a conversation, by name: the thread of a helper, what a plugin keeps.
CREATE TABLE threads (
    conversation_id TEXT NOT NULL REFERENCES conversations (id),
    name TEXT NOT NULL,
    data TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (conversation_id, name)
) STRICT, WITHOUT ROWID;

-- What plugins added to a message and the history keeps, part by part with how long (docs/adr/0026).
CREATE TABLE additions (
    message_id TEXT PRIMARY KEY REFERENCES messages (id),
    conversation_id TEXT NOT NULL,
    data TEXT NOT NULL
) STRICT;
CREATE INDEX additions_conversation ON additions (conversation_id, message_id);
