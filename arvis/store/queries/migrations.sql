-- name: create_migrations
CREATE TABLE IF NOT EXISTS migrations (name TEXT PRIMARY KEY, checksum TEXT NOT NULL, applied_at BIGINT NOT NULL);

-- name: lock_migrations
-- SQLite's writing transaction already excludes all other writers.
SELECT 1 AS locked;

-- name: applied_migrations
SELECT name, checksum FROM migrations ORDER BY name;

-- name: add_migration
INSERT INTO migrations (name, checksum, applied_at) VALUES (:name, :checksum, :now);

-- name: counted_tables
-- All tables except search indexes and the table of migrations.
SELECT name FROM pragma_table_list
WHERE schema = 'main' AND type = 'table' AND name <> 'migrations' AND name NOT LIKE 'sqlite\_%' ESCAPE '\'
ORDER BY name;
