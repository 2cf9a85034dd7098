"""Backups of the database and its blobs: makes, keeps and restores them."""
