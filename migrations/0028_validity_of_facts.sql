-- The times (ms) from which and until which a fact is true; null: unknown. The sources of truth. A fact that another one has
-- replaced is true until the other one begins. A corrected fact was never true, so its `valid_until` is null.
ALTER TABLE facts ADD COLUMN valid_from INTEGER;
ALTER TABLE facts ADD COLUMN valid_until INTEGER;
CREATE INDEX facts_validity ON facts (valid_until) WHERE status = 'active' AND valid_until IS NOT NULL;
CREATE INDEX facts_past ON facts (agent_id, scope, valid_until)
    WHERE valid_until IS NOT NULL AND status IN ('active', 'superseded', 'ended');
CREATE INDEX facts_successor ON facts (superseded_by) WHERE superseded_by IS NOT NULL;

-- `ended` is the status of a fact that is not true any more and was not replaced.
DROP INDEX facts_ended;
CREATE INDEX facts_ended ON facts (updated_at, id) WHERE status IN ('superseded', 'faded', 'ended');

-- The end of the fact's validity before the change, so that the change can be undone. The source of truth.
ALTER TABLE fact_changes ADD COLUMN valid_until INTEGER;
