-- name: lock_migrations
-- Several processes may start at once; the second finds everything applied.
LOCK TABLE migrations IN EXCLUSIVE MODE;
