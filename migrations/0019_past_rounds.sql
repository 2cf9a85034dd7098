-- The rounds of an ended turn (text, tool calls, bounded outputs) as JSON, beside the reply that ended it (docs/adr/0072); empty
-- for all other messages. The source of truth for later prompts: the effects of the execution, which have the whole outputs, are
-- deleted after `retention.timeline_days`.
ALTER TABLE messages ADD COLUMN rounds TEXT NOT NULL DEFAULT '';

-- The references to the results and files of the messages that a summary replaces, one on each line. They are stored when the
-- summary is written, like its text.
ALTER TABLE compactions ADD COLUMN sources TEXT NOT NULL DEFAULT '';
