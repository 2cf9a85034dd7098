-- The rounds of an ended turn (text, tool calls, bounded outputs) as JSON, beside the reply that ended it (docs/adr/0072); empty
-- for all other messages. The source of truth for later prompts: the effects of the execution, which have the whole outputs, are
-- deleted after `retention.history_days`.
ALTER TABLE messages ADD COLUMN rounds TEXT NOT NULL DEFAULT '';
