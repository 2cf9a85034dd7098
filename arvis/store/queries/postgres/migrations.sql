-- name: lock_migrations
-- Several processes may start at the same time; the second finds all migrations applied.
LOCK TABLE migrations IN EXCLUSIVE MODE;
