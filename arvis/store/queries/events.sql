-- Events of chat platforms besides messages, and overheard messages.

-- name: seen_event
SELECT message_id, outcome FROM inbox_events
WHERE platform = :platform AND connector = :connector AND event_id = :event_id;

-- name: keep_event
INSERT INTO inbox_events (platform, connector, event_id, message_id, outcome, at)
VALUES (:platform, :connector, :event_id, :message_id, :outcome, :now)
ON CONFLICT (platform, connector, event_id) DO NOTHING;

-- name: prune_events
DELETE FROM inbox_events WHERE (platform, connector, event_id) IN (
    SELECT platform, connector, event_id FROM inbox_events WHERE at < :before ORDER BY at LIMIT :limit
);

-- name: advance_feed
INSERT INTO read_positions (platform, connector, feed, position) VALUES (:platform, :connector, :feed, :position)
ON CONFLICT (platform, connector, feed) DO UPDATE SET position = excluded.position
WHERE read_positions.position < excluded.position;

-- name: feed_position
SELECT position FROM read_positions WHERE platform = :platform AND connector = :connector AND feed = :feed;

-- name: feeds_of_bot
SELECT feed, position FROM read_positions WHERE platform = :platform AND connector = :connector
ORDER BY position DESC LIMIT :limit;

-- name: add_observed
INSERT INTO overheard_messages (
    id, platform, connector, channel, thread, event_id, platform_ref, user_id, user_name, content, created_at
) VALUES (
    :id, :platform, :connector, :channel, :thread, :event_id, :platform_ref, :user_id, :user_name, :content, :created_at
)
ON CONFLICT (platform, connector, channel, event_id) DO NOTHING;

-- name: drop_observed
-- Deletes all messages of a channel except the newest ones: one more than `keep`.
DELETE FROM overheard_messages
WHERE platform = :platform AND connector = :connector AND channel = :channel AND thread = :thread AND id < (
    SELECT id FROM overheard_messages
    WHERE platform = :platform AND connector = :connector AND channel = :channel AND thread = :thread
    ORDER BY id DESC LIMIT 1 OFFSET :keep
);

-- name: newest_observed
SELECT * FROM overheard_messages
WHERE platform = :platform AND connector = :connector AND channel = :channel AND thread = :thread
    AND created_at >= :since
ORDER BY id DESC LIMIT :limit;

-- name: edit_observed
UPDATE overheard_messages SET content = :content
WHERE platform = :platform AND connector = :connector AND channel = :channel AND platform_ref = :ref;

-- name: forget_observed
DELETE FROM overheard_messages
WHERE platform = :platform AND connector = :connector AND channel = :channel AND platform_ref = :ref;

-- name: prune_observed
DELETE FROM overheard_messages WHERE id IN (SELECT id FROM overheard_messages WHERE created_at < :before ORDER BY created_at LIMIT :limit);

-- name: message_by_ref
SELECT * FROM messages
WHERE platform = :platform AND connector = :connector AND channel = :channel AND platform_ref = :ref AND role = 'user'
ORDER BY id DESC LIMIT 1;

-- name: message_by_album
SELECT * FROM messages
WHERE platform = :platform AND connector = :connector AND channel = :channel AND album = :album AND role = 'user'
ORDER BY id DESC LIMIT 1;

-- name: replace_text
UPDATE messages SET content = :content, tokens = :tokens WHERE id = :id;
