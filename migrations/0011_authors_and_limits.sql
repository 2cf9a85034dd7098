-- Authors of what can start work, what people have used of their limits, and the conversations of programs that speak OpenAI's API.

-- Requests of /v1. The client tells the whole conversation each time; by these rows a request finds the conversation that it goes on
-- with, and the message that it asks for a second time. All hashes are over the key, the agent and the name of the conversation as
-- well (`scope`): `request_hash` of everything asked, `talk_hash` of what was said up to and with the question, without system texts,
-- whose hash is `system_hash`; `answer_hash` of what was sent (NULL: nothing yet). `position` counts the requests of a `thread`.
-- `left_at`: when the client went away without an answer.
CREATE TABLE completion_requests (
    id TEXT PRIMARY KEY,
    scope TEXT NOT NULL,
    request_hash TEXT NOT NULL,
    talk_hash TEXT NOT NULL,
    system_hash TEXT NOT NULL,
    answer_hash TEXT,
    request_key TEXT,
    thread TEXT NOT NULL,
    position INTEGER NOT NULL,
    left_at INTEGER,
    created_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX completion_requests_key ON completion_requests (scope, request_key) WHERE request_key IS NOT NULL;
CREATE INDEX completion_requests_request ON completion_requests (scope, request_hash, created_at, id);
CREATE INDEX completion_requests_talk ON completion_requests (scope, talk_hash, created_at, id);
CREATE INDEX completion_requests_thread ON completion_requests (scope, thread, position);
CREATE INDEX completion_requests_age ON completion_requests (created_at);

-- What each person has used of a limit: `used` since the window began (ms); `told_at`: when they were last told that it is used up.
CREATE TABLE allowances (
    principal_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    since INTEGER NOT NULL,
    used INTEGER NOT NULL,
    told_at INTEGER,
    PRIMARY KEY (principal_id, kind)
) STRICT, WITHOUT ROWID;
CREATE INDEX allowances_age ON allowances (since);

-- The question (a wait) that a notice shows in a chat: a reply to that notice is about this question.
ALTER TABLE messages ADD COLUMN wait_id TEXT;
CREATE INDEX messages_wait ON messages (wait_id) WHERE wait_id IS NOT NULL;
CREATE INDEX messages_questions ON messages (platform, connector, channel, id) WHERE wait_id IS NOT NULL;
-- On PostgreSQL: the number of the last commit of each connection, written with it. A connection that breaks during a commit
-- leaves open whether it happened; the number answers that. Empty on SQLite. `at` in ms.
CREATE TABLE commit_marks (
    id TEXT PRIMARY KEY,
    number INTEGER NOT NULL,
    at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
-- Which jobs joined another one: what joined a turn may have to be answered alone after all.
CREATE INDEX jobs_merged ON jobs (merged_into) WHERE merged_into IS NOT NULL;

-- How far the execution of a job was when its process died last, in steps and finished effects: whoever gets further between two
-- deaths is not what kills.
ALTER TABLE jobs ADD COLUMN progress INTEGER NOT NULL DEFAULT 0;

-- Calls of models that are under way, each with the most that it can use. The commit that keeps the receipts deletes the row; where
-- the process died, the row becomes a receipt in `usage` with the same id.
CREATE TABLE open_calls (
    id TEXT PRIMARY KEY,
    execution_id TEXT NOT NULL,
    visit TEXT NOT NULL,
    turn TEXT NOT NULL,
    job_id TEXT NOT NULL,
    agent_id TEXT,
    principal_id TEXT,
    client_id TEXT,
    account TEXT NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cost_micros INTEGER NOT NULL,
    priced INTEGER NOT NULL,
    started_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX open_calls_job ON open_calls (job_id);
CREATE INDEX open_calls_visit ON open_calls (execution_id, visit);
CREATE INDEX open_calls_age ON open_calls (started_at);

-- The execution for which this one was begun: its caller, the turn that gave the task, or the run that it goes on for. All that one
-- message led to is found by it.
ALTER TABLE executions ADD COLUMN begun_by TEXT;
UPDATE executions SET begun_by = COALESCE(
    (SELECT waits.execution_id FROM waits WHERE waits.id = executions.parent_wait),
    (SELECT delegations.parent_id FROM delegations WHERE delegations.execution_id = executions.id)
);
CREATE INDEX executions_begun_by ON executions (begun_by) WHERE begun_by IS NOT NULL;
-- Who wrote the words that are executed (id of a principal). NULL: the one in principal_id, for whom the row works. A run of it
-- has the rights that both have.
ALTER TABLE schedules ADD COLUMN author_id TEXT;
ALTER TABLE webhooks ADD COLUMN author_id TEXT;
ALTER TABLE projects ADD COLUMN author_id TEXT;
ALTER TABLE workflow_versions ADD COLUMN author_id TEXT;

-- Who confirmed a fact (id of a principal): for people with more rights than its author it counts as this person's word.
ALTER TABLE facts ADD COLUMN vouched_by TEXT;

-- An agent without a list of people is for everybody; an empty list, which was kept for that until now, is for owners alone. Old versions
-- of agents mean the same.
UPDATE agents SET allow_users = 'null' WHERE allow_users = '[]';
UPDATE agent_versions SET data = replace(data, '"allow_users":[]', '"allow_users":null');
