-- The messages that a message answers, quotes or forwards (docs/adr/0078), as JSON; empty for most messages. The platform is the source of
-- truth, and reports them only once.
ALTER TABLE messages ADD COLUMN quotations TEXT NOT NULL DEFAULT '';

-- Finds the message to which a reply or a reaction refers.
CREATE INDEX delivery_parts_ref ON delivery_parts (platform_id) WHERE platform_id IS NOT NULL;
