-- Data of a conversation, besides its messages, that is stored between turns.

-- name: get_thread
SELECT data FROM handover_threads WHERE conversation_id = :conversation_id AND name = :name;

-- name: put_thread
INSERT INTO handover_threads (conversation_id, name, data, updated_at) VALUES (:conversation_id, :name, :data, :now)
ON CONFLICT (conversation_id, name) DO UPDATE SET data = excluded.data, updated_at = excluded.updated_at;

-- name: thread_names
SELECT name FROM handover_threads WHERE conversation_id = :conversation_id ORDER BY name LIMIT 1000;

-- name: drop_threads
DELETE FROM handover_threads WHERE conversation_id = :conversation_id;

-- name: put_addition
INSERT INTO plugin_additions (message_id, conversation_id, data) VALUES (:message_id, :conversation_id, :data)
ON CONFLICT (message_id) DO UPDATE SET data = excluded.data;

-- name: additions_of
SELECT message_id, data FROM plugin_additions WHERE conversation_id = :conversation_id ORDER BY message_id DESC LIMIT :limit;

-- name: drop_addition
DELETE FROM plugin_additions WHERE message_id = :message_id;

-- name: drop_additions
DELETE FROM plugin_additions WHERE conversation_id = :conversation_id;
