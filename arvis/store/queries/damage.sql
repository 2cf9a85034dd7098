-- name: newest_message
-- Runs on a restored database: newer messages are missing from it.
SELECT coalesce(max(created_at), 0) AS at FROM messages;

-- name: messages_after
-- Runs on a replaced database: the messages that the restored database lacks.
SELECT count(*) AS number, min(created_at) AS oldest, max(created_at) AS newest FROM messages WHERE created_at > :at;
