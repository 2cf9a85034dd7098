"""Backups of the database and its blobs: making, keeping and restoring them."""
