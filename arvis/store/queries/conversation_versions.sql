-- The versions of conversations (docs/adr/0086). An inactive message has no turn, so no prompt and no summary contains it.

-- name: add_conversation_version
INSERT INTO conversation_versions (id, conversation_id, point_id, first_turn, message_id, active, created_at)
VALUES (:id, :conversation_id, :point_id, :first_turn, :message_id, :active, :created_at);

-- name: get_conversation_version
SELECT * FROM conversation_versions WHERE id = :id;

-- name: version_of_message
SELECT * FROM conversation_versions WHERE message_id = :message_id;

-- name: active_version
SELECT * FROM conversation_versions WHERE point_id = :point_id AND active = 1;

-- name: versions_of_conversation
SELECT * FROM conversation_versions WHERE conversation_id = :conversation_id ORDER BY id LIMIT :limit;

-- name: set_version_active
UPDATE conversation_versions SET active = :active, inactive_since = :inactive_since WHERE id = :id;

-- name: outlived_versions
SELECT * FROM conversation_versions WHERE inactive_since < :before ORDER BY inactive_since LIMIT :limit;

-- name: empty_version
UPDATE messages SET content = '', rounds = '', quotations = '' WHERE version_id = :version_id;

-- name: remove_version
-- The version, which begins with one of these messages, and those of the points within it.
DELETE FROM conversation_versions WHERE conversation_id = :conversation_id
    AND message_id IN (SELECT id FROM messages WHERE version_id = :version_id);

-- name: remove_single_versions
-- A point with one version offers no choice.
DELETE FROM conversation_versions
WHERE conversation_id = :conversation_id AND active = 1 AND NOT EXISTS (
    SELECT 1 FROM conversation_versions AS others
    WHERE others.conversation_id = :conversation_id AND others.point_id = conversation_versions.point_id
        AND others.id <> conversation_versions.id
);

-- name: messages_from_turn
SELECT * FROM messages WHERE conversation_id = :conversation_id AND turn IS NOT NULL AND turn >= :first_turn
ORDER BY turn, position LIMIT :limit;

-- name: summaries_from_turn
SELECT * FROM compactions
WHERE conversation_id = :conversation_id AND last_turn >= :first_turn AND status <> 'restored'
ORDER BY last_turn;

-- name: deactivate_turns
-- Summaries of these turns are restored first, so no message here is part of one.
UPDATE messages SET version_id = :version_id, version_turn = turn, turn = NULL, superseded = 2
WHERE conversation_id = :conversation_id AND turn IS NOT NULL AND compaction_id IS NULL AND turn >= :first_turn;

-- name: activate_turns
UPDATE messages SET turn = version_turn, version_turn = NULL, version_id = NULL, superseded = 0
WHERE version_id = :version_id;
