-- name: lock_migrations
-- Several processes may start at the same time. The lock makes the others wait; they then find all migrations applied.
LOCK TABLE migrations IN EXCLUSIVE MODE;
