-- Evaluations (docs/adr/0083): suites of recorded turns with expectations, and the results of agents for them.

-- `gate`: 1 if a changed prompt of the agent is stored only after the suite has passed with it. The source of truth.
CREATE TABLE evaluation_suites (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    agent_id TEXT NOT NULL,
    gate INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX evaluation_suites_agent ON evaluation_suites (agent_id);

-- `document`: the case as JSON, the source of truth. `hash`: its hash. `conversation_id`: the conversation of the recorded turn, by which
-- erasures find the case; NULL: it was not recorded here. `person_id`: the person whose messages or facts a retrieval searches.
CREATE TABLE evaluation_cases (
    id TEXT PRIMARY KEY,
    suite_id TEXT NOT NULL,
    name TEXT NOT NULL,
    document TEXT NOT NULL,
    hash TEXT NOT NULL,
    conversation_id TEXT,
    person_id TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (suite_id, name)
) STRICT;
CREATE INDEX evaluation_cases_conversation ON evaluation_cases (conversation_id) WHERE conversation_id IS NOT NULL;

-- One pass through the cases of a suite; the id is that of its execution. `changes`: the changed fields of the agent, as JSON.
-- `agent_hash` and `cases_hash`: what was tested. `count`: the number of its cases. `most_micros`: the cost after which no case begins. `problem`: the reason why it ended early.
CREATE TABLE evaluations (
    id TEXT PRIMARY KEY,
    suite_id TEXT NOT NULL,
    changes TEXT NOT NULL,
    agent_hash TEXT NOT NULL,
    cases_hash TEXT NOT NULL,
    count INTEGER NOT NULL,
    most_micros INTEGER,
    judge TEXT,
    by_id TEXT,
    created_at INTEGER NOT NULL,
    ended_at INTEGER,
    problem TEXT NOT NULL
) STRICT;
CREATE INDEX evaluations_suite ON evaluations (suite_id, id);

-- `result`: the result of a case as JSON, the source of truth. The numbers are columns too, for sums; `recall_5` and `recall_10` in
-- thousandths, NULL for a turn.
CREATE TABLE evaluation_results (
    evaluation_id TEXT NOT NULL,
    case_id TEXT NOT NULL,
    passed INTEGER NOT NULL,
    cost_micros INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    duration_ms INTEGER NOT NULL,
    recall_5 INTEGER,
    recall_10 INTEGER,
    result TEXT NOT NULL,
    PRIMARY KEY (evaluation_id, case_id)
) STRICT;
CREATE INDEX evaluation_results_case ON evaluation_results (case_id);
