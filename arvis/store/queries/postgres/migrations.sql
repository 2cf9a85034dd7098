-- name: lock_migrations
-- Several processes may start at the same time. The lock makes the others wait; they then find all migrations applied.
LOCK TABLE migrations IN EXCLUSIVE MODE;

-- name: counted_tables
SELECT tablename AS name FROM pg_tables
WHERE schemaname = current_schema() AND tablename NOT IN ('migrations', 'message_index', 'knowledge_index')
ORDER BY tablename;
