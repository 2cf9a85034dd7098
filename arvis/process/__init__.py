"""The foundations of a running daemon: data folder, leases, supervised roles, subprocesses, secrets, logs, clock, ids
and disk space."""
