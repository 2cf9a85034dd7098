-- Reactions to messages of bots, and feedback on answers.

-- name: add_reaction
INSERT INTO reactions (id, conversation_id, message_id, principal_id, emoji, text, created_at)
VALUES (:id, :conversation_id, :message_id, :principal_id, :emoji, :text, :now)
ON CONFLICT (message_id, principal_id, emoji) DO NOTHING;

-- name: drop_unreported_reactions
-- Deletes all unreported reactions of a conversation except the newest ones: one more than `keep`.
DELETE FROM reactions WHERE conversation_id = :conversation_id AND reported_in IS NULL AND id < (
    SELECT id FROM reactions WHERE conversation_id = :conversation_id AND reported_in IS NULL
    ORDER BY id DESC LIMIT 1 OFFSET :keep
);

-- name: remove_reaction
DELETE FROM reactions WHERE message_id = :message_id AND principal_id = :principal_id AND emoji = :emoji;

-- name: mark_reactions_reported
UPDATE reactions SET reported_in = :execution_id
WHERE conversation_id = :conversation_id AND reported_in IS NULL AND id <= :upto;

-- name: prune_reactions
DELETE FROM reactions WHERE id IN (SELECT id FROM reactions WHERE id < :oldest ORDER BY id LIMIT :limit);

-- name: rate_answer
INSERT INTO feedback (message_id, principal_id, rating, at) VALUES (:message_id, :principal_id, :rating, :now)
ON CONFLICT (message_id, principal_id) DO UPDATE SET rating = excluded.rating, at = excluded.at;

-- name: unrate_answer
DELETE FROM feedback
WHERE message_id = :message_id AND principal_id = :principal_id
    AND (CAST(:rating AS TEXT) IS NULL OR rating = :rating);

-- name: feedback_on
SELECT feedback.message_id, feedback.principal_id, feedback.rating, feedback.at, principals.name, principals.platform,
    principals.user_id
FROM feedback LEFT JOIN principals ON principals.id = feedback.principal_id
WHERE feedback.message_id = :message_id
ORDER BY feedback.at, feedback.principal_id LIMIT 100;

-- name: feedback_of_page
SELECT feedback.message_id, feedback.principal_id, feedback.rating, feedback.at, principals.name, principals.platform,
    principals.user_id
FROM messages
JOIN feedback ON feedback.message_id = messages.id
LEFT JOIN principals ON principals.id = feedback.principal_id
WHERE messages.conversation_id = :conversation_id AND messages.id >= :first AND messages.id <= :last
ORDER BY feedback.at, feedback.principal_id LIMIT 1000;
