"""The foundations of a running daemon: data folder, roles, logs, clock, ids and disk space."""
