-- Facts that were replaced or that faded, by the time of their last change, so that old ones are found and deleted.
CREATE INDEX facts_ended ON facts (updated_at, id) WHERE status IN ('superseded', 'faded');
