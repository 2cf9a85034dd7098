-- name: newest_message
-- Of a restored database: what is newer than this is missing from it.
SELECT coalesce(max(created_at), 0) AS at FROM messages;

-- name: messages_after
-- Of a database that was set aside: what the one in its place does not know.
SELECT count(*) AS number, min(created_at) AS oldest, max(created_at) AS newest FROM messages WHERE created_at > :at;
