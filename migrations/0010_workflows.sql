-- Workflows that people draw, every version of them, what starts them by itself, their runs and what these tell.

-- `version` is the newest, `runnable` the newest that may run (NULL: it was never whole). A removed one keeps its versions: a run
-- that sleeps goes on with the version that it began with.
CREATE TABLE workflows (
    id TEXT PRIMARY KEY,
    slug TEXT NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    enabled INTEGER NOT NULL,
    version INTEGER NOT NULL,
    runnable INTEGER,
    principal_id TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    removed_at INTEGER
) STRICT;
CREATE UNIQUE INDEX workflows_slug ON workflows (slug) WHERE removed_at IS NULL;

-- `document` in the one form that everything reads; `problems` counts what keeps this version from running; `note` says what
-- led to it.
CREATE TABLE workflow_versions (
    workflow_id TEXT NOT NULL REFERENCES workflows (id),
    version INTEGER NOT NULL,
    problems INTEGER NOT NULL,
    note TEXT NOT NULL,
    principal_id TEXT,
    at INTEGER NOT NULL,
    document TEXT NOT NULL,
    PRIMARY KEY (workflow_id, version)
) STRICT, WITHOUT ROWID;

-- Of runnable versions of workflows that are switched on and not removed: what starts them. Empty `platform`, `channel` and
-- `words` stand for all.
CREATE TABLE workflow_triggers (
    workflow_id TEXT NOT NULL REFERENCES workflows (id),
    node_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    platform TEXT NOT NULL,
    channel TEXT NOT NULL,
    words TEXT NOT NULL,
    description TEXT NOT NULL,
    PRIMARY KEY (workflow_id, node_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX workflow_triggers_kind ON workflow_triggers (kind, workflow_id, node_id);

-- `source` is what began it (api, chat, message, schedule:ID, webhook:ID, agent:EXECUTION, workflow:EXECUTION); `entry` the node at
-- which it began, `again_of` the run that it repeats; `entries` counts the lines of its log;
-- `request` is the key of the request that began it, which begins no second one.
CREATE TABLE workflow_runs (
    execution_id TEXT PRIMARY KEY REFERENCES executions (id),
    workflow_id TEXT NOT NULL REFERENCES workflows (id),
    version INTEGER NOT NULL,
    source TEXT NOT NULL,
    entry TEXT NOT NULL,
    again_of TEXT,
    entries INTEGER NOT NULL,
    principal_id TEXT,
    request TEXT,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX workflow_runs_workflow ON workflow_runs (workflow_id, execution_id);
CREATE UNIQUE INDEX workflow_runs_request ON workflow_runs (request) WHERE request IS NOT NULL;
-- What is drawn and not over: a few among all turns.
CREATE INDEX executions_drawn ON executions (graph, id)
WHERE substr(graph, 1, 9) = 'workflow:' AND status IN ('running', 'paused');
CREATE INDEX executions_drawn_newest ON executions (id)
WHERE substr(graph, 1, 9) = 'workflow:' AND status IN ('running', 'paused');

-- What is drawn and over, by its end.
CREATE INDEX executions_drawn_over ON executions (updated_at)
WHERE substr(graph, 1, 9) = 'workflow:' AND status IN ('done', 'failed', 'cancelled');

CREATE TABLE run_log (
    run_id TEXT NOT NULL REFERENCES workflow_runs (execution_id),
    number INTEGER NOT NULL,
    at INTEGER NOT NULL,
    node_id TEXT NOT NULL,
    type TEXT NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (run_id, number)
) STRICT, WITHOUT ROWID;

-- What a schedule or a web hook starts instead of its agent.
ALTER TABLE webhooks ADD COLUMN graph TEXT;
