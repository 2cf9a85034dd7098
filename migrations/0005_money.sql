-- What is spent, one row for each thing and period, so that a check costs a handful of look-ups whatever the history.
-- `scope` is day, agent, principal, client or turn; `period` a day or month of the daemon's zone, empty for a turn, whose
-- `key` is the execution at its root. Costs are millionths of a US dollar. Source of truth: the receipts in `usage`.
CREATE TABLE spending (
    scope TEXT NOT NULL,
    period TEXT NOT NULL,
    key TEXT NOT NULL,
    micros INTEGER NOT NULL,
    calls INTEGER NOT NULL,
    turns INTEGER NOT NULL,
    PRIMARY KEY (scope, period, key)
) STRICT, WITHOUT ROWID;

-- What calls in flight may cost, one row for each limit that a call counts against. A visit has one reservation: when
-- it is made again after a crash, the new one takes the place of the old one.
CREATE TABLE reservations (
    scope TEXT NOT NULL,
    period TEXT NOT NULL,
    key TEXT NOT NULL,
    execution_id TEXT NOT NULL,
    visit TEXT NOT NULL,
    micros INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (scope, period, key, execution_id, visit)
) STRICT, WITHOUT ROWID;
CREATE INDEX reservations_visit ON reservations (execution_id, visit);
CREATE INDEX reservations_expiry ON reservations (expires_at);

-- People who are served for money. `token_factor_milli` is a factor in thousandths; the balance is what was paid less
-- what was charged, moved together with the rows of `charges`.
CREATE TABLE clients (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    plan TEXT NOT NULL,
    status TEXT NOT NULL,
    price_per_task_micros INTEGER NOT NULL,
    monthly_fee_micros INTEGER NOT NULL,
    token_factor_milli INTEGER NOT NULL,
    balance_micros INTEGER NOT NULL,
    monthly_limit_micros INTEGER,
    notes TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;

CREATE TABLE client_channels (
    platform TEXT NOT NULL,
    channel TEXT NOT NULL,
    client_id TEXT NOT NULL REFERENCES clients (id),
    created_at INTEGER NOT NULL,
    PRIMARY KEY (platform, channel)
) STRICT;
CREATE INDEX client_channels_client ON client_channels (client_id, platform, channel);

CREATE TABLE charges (
    id TEXT PRIMARY KEY,
    client_id TEXT NOT NULL REFERENCES clients (id),
    type TEXT NOT NULL,
    status TEXT NOT NULL,
    amount_micros INTEGER NOT NULL,
    description TEXT NOT NULL,
    message_id TEXT,
    execution_id TEXT,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX charges_client ON charges (client_id, id);
-- A turn is charged once.
CREATE UNIQUE INDEX charges_turn ON charges (execution_id) WHERE execution_id IS NOT NULL;

-- For whom a call was made, what it put into the vendor's cache, and whether anybody knew its price. The reports read
-- the primary key, whose ids begin with the time.
ALTER TABLE usage ADD COLUMN principal_id TEXT;
ALTER TABLE usage ADD COLUMN client_id TEXT;
ALTER TABLE usage ADD COLUMN written_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage ADD COLUMN priced INTEGER NOT NULL DEFAULT 0;
