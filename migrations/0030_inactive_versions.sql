-- The time (ms) at which a version became inactive; null: it is active. After `retention.compacted_days` its texts are deleted. The source of truth.
ALTER TABLE conversation_versions ADD COLUMN inactive_since INTEGER;
UPDATE conversation_versions SET inactive_since = (
    SELECT max(messages.created_at) FROM messages WHERE messages.conversation_id = conversation_versions.conversation_id
) WHERE active = 0;
CREATE INDEX conversation_versions_inactive ON conversation_versions (inactive_since) WHERE inactive_since IS NOT NULL;
