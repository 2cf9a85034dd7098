-- name: newest_message
-- For a restored database: newer messages are missing from it.
SELECT coalesce(max(created_at), 0) AS at FROM messages;

-- name: messages_after
-- For a database that was set aside: the messages that its replacement lacks.
SELECT count(*) AS number, min(created_at) AS oldest, max(created_at) AS newest FROM messages WHERE created_at > :at;
