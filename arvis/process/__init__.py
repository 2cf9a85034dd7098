"""What makes a running program of Arvis: its data folder, roles, logs, clock, ids and disk space."""
